//! Removes examples that do not work, are unknown, or are dangerous.

use super::{FixInput, Repair, by_patch, replace_line};
use crate::patch::Patch;
use crate::site::{CodeBlock, LineKind, Page};

/// Removes the code block at the line of the issue, or only the line if it is not code.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, _) = input.line()?;
    let Some(block) = page.code_blocks.iter().find(|block| lines(page, block).contains(&number)) else {
        return Some(by_patch(replace_line(page, number, None), "the line was taken away"));
    };
    let range = lines(page, block);
    let patch = Patch::of_range(&page.path, &page.text, (*range.start(), *range.end()), String::new());
    Some(by_patch(patch, "the example was taken away"))
}

/// The lines of a code block with its fences.
fn lines(page: &Page, block: &CodeBlock) -> std::ops::RangeInclusive<u32> {
    let code = u32::try_from(block.code.lines().count()).unwrap_or(u32::MAX);
    let end = block.line.saturating_add(code);
    let is_fenced = block.info.is_some();
    let closing = end.saturating_add(u32::from(is_fenced && block.is_closed));
    let last = if is_fenced { closing } else { end.saturating_sub(1) };
    // Stay within the block, even if the count was wrong.
    let last = (block.line..=last).take_while(|line| page.kind_of(*line) == LineKind::Code).last();
    block.line..=last.unwrap_or(block.line)
}
