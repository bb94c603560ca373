//! Lets pages name the licence of the repository, and no other one.

use super::{FixInput, Repair, by_adding, by_patch, replace_line};
use crate::forms::{PlanBlock, PlanItem};
use crate::render;

/// Adds the claim about the licence to the first planned page that is there.
pub(super) fn fix_missing(input: &FixInput<'_>) -> Option<Repair> {
    let claim_id = input.facts.licence_claim.clone()?;
    let page = input.plan.pages.iter().find_map(|page| input.pages.page(&page.output_path))?;
    let heading = page.headings.iter().find(|heading| heading.text.eq_ignore_ascii_case("licence"));
    let item = PlanItem::Paragraph { claim_id };
    let block = PlanBlock { level: 2, heading: "Licence".to_owned(), is_code: false, items: vec![item] };
    let mut written = render::block(&block, &page.path, input.sources).ok()?;
    // The heading may still be there without the text below it.
    if heading.is_some() {
        written.text = written.text.lines().skip(2).collect::<Vec<_>>().join("\n");
    }
    let anchor = heading.map(|heading| heading.text.clone());
    Some(by_adding(page, anchor, written, "the page names the licence"))
}

/// Removes the line that names another licence.
pub(super) fn fix_other(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, _) = input.line()?;
    Some(by_patch(replace_line(page, number, None), "the line about another licence was taken away"))
}
