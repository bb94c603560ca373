//! Writes names and addresses as the run knows them.

use super::{FixInput, Repair, by_patch, replace_line};
use crate::gate::{ADDRESS, misspelt};
use crate::patch::Patch;
use crate::site::LineKind;

/// Writes the name of the product on the line as pages write it.
pub(super) fn fix_product(input: &FixInput<'_>) -> Option<Repair> {
    let page = input.page()?;
    let name = input.sources.product_name;
    let mut text = page.text.clone();
    // Code is replaced by spaces in the masked text, so offsets are the same.
    let ranges = misspelt(&page.masked, name);
    for range in ranges.into_iter().rev() {
        if page.kind_of(page.line_at(range.start)) != LineKind::FrontMatter {
            text.replace_range(range, name);
        }
    }
    let patch = Patch::between(&page.path, &page.text, &text)?;
    Some(by_patch(patch, "the product is written as on all pages"))
}

/// Replaces addresses of repositories of the same name by that of the repository.
pub(super) fn fix_address(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, line) = input.line()?;
    let own = input.facts.repository_url.as_deref()?.trim_end_matches(".git");
    let name = own.rsplit('/').next()?.to_lowercase();
    let corrected = ADDRESS.replace_all(line, |found: &regex::Captures<'_>| {
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        let is_same = part(3).trim_end_matches(".git").to_lowercase() == name;
        if is_same { own.to_owned() } else { part(0).to_owned() }
    });
    (corrected != line).then(|| {
        by_patch(replace_line(page, number, Some(&corrected)), "the address is that of the repository")
    })
}
