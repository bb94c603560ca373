//! Facts of a single definition, as opposed to those of its chunk.

use std::collections::HashSet;

use super::field::Field;
use crate::outline::Definition;

/// Maximum number of values of one field of a chunk, or of a definition.
const VALUES_MAX: usize = 256;

/// The facts of one definition.
#[derive(Debug, Default)]
pub(crate) struct DefinitionFacts {
    /// Facts of its own lines, sorted, without duplicates.
    pub(crate) values: Vec<(Field, String)>,
    /// `true` if other files can use it.
    pub(crate) exported: Option<bool>,
}

/// A list of facts with bounded memory: duplicates and excess values are dropped from time to time.
#[derive(Debug, Default)]
pub(super) struct BoundedFacts {
    values: Vec<(Field, String)>,
    /// Length at which duplicates and excess values are dropped next.
    full_at: usize,
}

impl BoundedFacts {
    /// First such length; most chunks have fewer facts.
    const FULL_MIN: usize = 256;

    pub(super) fn push(&mut self, field: Field, value: String) {
        self.values.push((field, value));
        if self.values.len() >= self.full_at.max(Self::FULL_MIN) {
            bound(&mut self.values);
            self.full_at = 2 * self.values.len();
        }
    }

    /// The facts, sorted and without duplicates, with the first [`VALUES_MAX`] values of each field.
    pub(super) fn bounded(mut self) -> Vec<(Field, String)> {
        bound(&mut self.values);
        self.values
    }
}

fn bound(values: &mut Vec<(Field, String)>) {
    values.sort();
    values.dedup();
    let mut last = (None, 0);
    values.retain(|(field, _)| {
        last = if last.0 == Some(*field) { (last.0, last.1 + 1) } else { (Some(*field), 1) };
        last.1 <= VALUES_MAX
    });
}

/// Returns whether other files can use a definition, by the `exports` of its file or by its visibility. If a file has exports, its other
/// top-level definitions are private. `None` if it is unknown.
pub(super) fn exported(
    definition: &Definition,
    values: &[(Field, String)],
    exports: &HashSet<String>,
) -> Option<bool> {
    // An `impl` is not used by its name.
    if definition.kind == "impl" {
        return None;
    }
    if definition.parent.is_none() && !exports.is_empty() {
        return Some(exports.contains(&definition.name));
    }
    let visibility = values.iter().find(|(field, _)| *field == Field::Visibility);
    visibility.map(|(_, value)| !value.contains("private"))
}
