//! Gives front matter the fields that were planned.

use super::{FixInput, Repair, by_patch};
use crate::patch::Patch;

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
