//! Makes lines say what their claims say, and takes away those that no claim says.

use super::{FixInput, Repair, by_patch, marks, replace_line};
use crate::claim::{Claim, normalised, statement};
use crate::render::claim_line;

/// Writes the line as its claim says it; if no claim does, removes it.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, line) = input.line()?;
    let known = marks(page, number).into_iter().find_map(|id| claim(input, id));
    let claim = known.or_else(|| said(input, line)).filter(|claim| claim.replaced_by.is_none());
    let Some(claim) = claim else {
        return Some(by_patch(
            replace_line(page, number, None),
            "the line was taken away, because no claim says it",
        ));
    };
    let is_item = line.trim_start().starts_with("- ");
    let name = input.sources.product_name;
    let written = format!("{}{}", if is_item { "- " } else { "" }, claim_line(claim, name));
    Some(by_patch(replace_line(page, number, Some(&written)), "the line says what its claim says"))
}

fn claim<'a>(input: &FixInput<'a>, id: &str) -> Option<&'a Claim> {
    input.facts.claims.iter().find(|claim| claim.claim_id == id)
}

/// The claim that says what a line says.
fn said<'a>(input: &FixInput<'a>, line: &str) -> Option<&'a Claim> {
    let name = Some(input.sources.product_name);
    let says = normalised(&statement(line), name);
    input.facts.claims.iter().find(|claim| normalised(&statement(&claim.text), name) == says)
}
