//! Rewrites lines to match their claims, and removes lines without a claim.

use super::{FixInput, Repair, by_patch, marks, replace_line};
use crate::claim::{Claim, marked_statement, normalised, statement};
use crate::render::claim_line;

/// Rewrites the line as its claim says it; if there is no such claim, removes the line.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, line) = input.line()?;
    let ids = marks(page, number);
    let known = ids.iter().find_map(|id| claim(input, id));
    let claim = known
        .or_else(|| said(input, &marked_statement(line, &ids)))
        .filter(|claim| claim.replaced_by.is_none());
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

/// Removes a line that nothing proves.
pub(super) fn take_away(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, _) = input.line()?;
    Some(by_patch(replace_line(page, number, None), "the line was taken away, because nothing proves it"))
}

/// Returns the claim that makes the statement of a line.
fn said<'a>(input: &FixInput<'a>, statement_of_line: &str) -> Option<&'a Claim> {
    let name = Some(input.sources.product_name);
    let says = normalised(statement_of_line, name);
    input.facts.claims.iter().find(|claim| normalised(&statement(&claim.text), name) == says)
}
