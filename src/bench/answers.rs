//! Answers as their readers get them.

use super::score::Found;
use engine::search::{Hit, Output, SearchAnswer, present};

/// The places of the hits, best first.
pub(super) fn found(answer: &SearchAnswer) -> Vec<Found> {
    let place = |hit: &Hit| Found { path: hit.path.clone(), lines: (hit.start_line, hit.end_line) };
    answer.hits.iter().map(place).collect()
}

/// A hit as its place and its whole text.
pub(super) fn whole(hit: &Hit) -> String {
    format!("{}:{}-{}\n{}\n", hit.path, hit.start_line, hit.end_line, hit.content)
}

/// Each hit as the tool answers it.
pub(super) fn shown(answer: &SearchAnswer, output: Output) -> Vec<String> {
    let payload = present(answer, output, false, usize::MAX);
    payload.hits.iter().map(|hit| serde_json::to_string(hit).unwrap_or_default()).collect()
}
