//! Updates citations of lines that moved within their file.

use super::{FixInput, Repair, by_patch, marks, replace_line};
use crate::claim::{Citation, span_sha256};
use crate::evidence::Evidence;

/// Cites the lines at their new position; if they are gone, removes the line of the page that is based on them.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, _) = input.line()?;
    let ids = marks(page, number);
    let mut facts = input.facts.clone();
    let mut has_moved = false;
    for claim in facts.claims.iter_mut().filter(|claim| ids.contains(&claim.claim_id.as_str())) {
        for citation in &mut claim.citations {
            if is_current(citation, input.evidence) {
                continue;
            }
            let Some((start_line, end_line)) = found(citation, input.evidence) else {
                let patch = replace_line(page, number, None);
                return Some(by_patch(
                    patch,
                    "the line was taken away, because the repository does not say it any more",
                ));
            };
            (citation.start_line, citation.end_line) = (start_line, end_line);
            has_moved = true;
        }
    }
    has_moved.then_some(Repair {
        facts: Some(facts),
        done: "the claim cites the lines where they are now",
        ..Repair::default()
    })
}

fn is_current(citation: &Citation, evidence: &dyn Evidence) -> bool {
    let lines = evidence.lines(&citation.path, citation.start_line, citation.end_line);
    lines.is_some_and(|lines| span_sha256(&lines) == citation.sha256)
}

/// Finds the cited lines in a file; the nearest match if there are several.
fn found(citation: &Citation, evidence: &dyn Evidence) -> Option<(u32, u32)> {
    let lines: Vec<&str> = evidence.text(&citation.path)?.lines().collect();
    let count = usize::try_from(citation.end_line.checked_sub(citation.start_line)?).ok()? + 1;
    let places = lines.windows(count).zip(1_u32..);
    let same = places.filter(|(window, _)| span_sha256(&window.join("\n")) == citation.sha256);
    let nearest =
        same.map(|(_, line)| line).min_by_key(|line| (line.abs_diff(citation.start_line), *line))?;
    Some((nearest, nearest + (citation.end_line - citation.start_line)))
}
