//! Gives front matter the fields that were planned.

use super::{FixInput, Repair, by_patch};
use crate::claim::marked_id;
use crate::patch::Patch;
use crate::prose::{DESCRIPTION_KEYS, description};
use crate::render::spelt;

/// Sets all planned fields of the page.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let planned = input.planned()?;
    let patch = Patch::UpdateFrontmatterKeys {
        path: planned.output_path.clone(),
        format: planned.format?,
        values: planned.front_matter.clone(),
    };
    (!planned.front_matter.is_empty()).then(|| by_patch(patch, "the front matter has the planned fields"))
}

/// Describes the page by the first claim that it makes and that can be a description.
pub(super) fn fix_description(input: &FixInput<'_>) -> Option<Repair> {
    let (page, planned) = (input.page()?, input.planned()?);
    let claims = page.comments.iter().filter_map(|comment| {
        let claim = input.sources.claims.get(marked_id(&comment.text)?)?;
        claim.replaced_by.is_none().then_some(claim)
    });
    let mut texts = claims.map(|claim| spelt(&claim.text, input.sources.product_name));
    let text = texts.find_map(|text| description(&text))?;
    let keys = DESCRIPTION_KEYS.iter().filter(|key| page.front_matter.text(key).is_some());
    let patch = Patch::UpdateFrontmatterKeys {
        path: planned.output_path.clone(),
        format: planned.format?,
        values: keys.map(|key| ((*key).to_owned(), text.clone().into())).collect(),
    };
    Some(by_patch(patch, "the page is described by a claim that it makes"))
}
