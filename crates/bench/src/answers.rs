//! Search answers as lists of locations and as the texts that a model reads.

use super::score::HitLocation;
use engine::search::{Hit, Output, SearchAnswer, present};

/// The locations of the hits, best first. Hits outside the repository `own` are strangers; `None`: there is only one.
pub(super) fn hit_locations(answer: &SearchAnswer, own: Option<&str>) -> Vec<HitLocation> {
    let stranger = |hit: &Hit| own.filter(|own| hit.repository != *own).map(|_| hit.repository.clone());
    let location = |hit: &Hit| HitLocation {
        stranger: stranger(hit),
        path: hit.path.clone(),
        lines: (hit.start_line, hit.end_line),
    };
    answer.hits.iter().map(location).collect()
}

/// A hit as its location and its complete text.
pub(super) fn full_text(hit: &Hit) -> String {
    format!("{}:{}-{}\n{}\n", hit.path, hit.start_line, hit.end_line, hit.content)
}

/// Each hit as the tool returns it.
pub(super) fn tool_hits(answer: &SearchAnswer, output: Output) -> Vec<String> {
    let payload = present(answer, output, false, usize::MAX);
    payload.hits.iter().map(|hit| serde_json::to_string(hit).unwrap_or_default()).collect()
}
