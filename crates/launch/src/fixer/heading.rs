//! Adds planned headings that are missing, with what was planned below them.

use super::{FixInput, Repair, by_adding};
use crate::render;

/// Adds the first planned block whose heading the page does not have.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, planned) = (input.page()?, input.planned()?);
    let has = |heading: &str| page.headings.iter().any(|one| one.text.eq_ignore_ascii_case(heading));
    let (at, missing) =
        planned.blocks.iter().enumerate().find(|(_, block)| {
            !block.is_code && !has(&block.heading) && is_of_issue(input, &block.heading)
        })?;
    let written = render::block(missing, &planned.output_path, input.sources).ok()?;
    // It belongs after the block that was planned before it, if the page has that block.
    let before = planned.blocks.iter().take(at).rev().find(|block| !block.is_code && has(&block.heading));
    let anchor = before.map(|block| block.heading.clone());
    Some(by_adding(page, anchor, written, "the planned heading was added"))
}

/// Returns `true` if the issue is about a heading; its message quotes it.
fn is_of_issue(input: &FixInput<'_>, heading: &str) -> bool {
    input.issue.message.contains(&crate::issue::quote(heading))
}
