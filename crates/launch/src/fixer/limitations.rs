//! Adds the known limitations to a page that must mention them.

use super::{FixInput, Repair, by_adding};
use crate::claim::ClaimKind;
use crate::config::Section;
use crate::forms::{PlanBlock, PlanItem};
use crate::render;

/// Maximum number of limitations that are added.
const LIMITATIONS_MAX: usize = 10;

/// Adds a heading with limitations to the first page of the section that has none.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let section = [Section::Docs, Section::Reference]
        .into_iter()
        .find(|section| input.issue.message.contains(&format!("`{}`", section.as_str())))?;
    let page = input
        .plan
        .pages
        .iter()
        .filter(|page| page.section == section)
        .find_map(|page| input.pages.page(&page.output_path))?;
    let known = input.facts.claims.iter();
    let known = known.filter(|claim| claim.kind == ClaimKind::Limitation && claim.replaced_by.is_none());
    let items: Vec<PlanItem> = known
        .take(LIMITATIONS_MAX)
        .map(|claim| PlanItem::Entry { claim_id: claim.claim_id.clone() })
        .collect();
    let block = PlanBlock { level: 2, heading: "Limitations".to_owned(), is_code: false, items };
    let written = render::block(&block, &page.path, input.sources).ok()?;
    Some(by_adding(page, None, written, "the page has a heading about limitations"))
}
