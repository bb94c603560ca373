//! What is known of one definition, as distinct from its chunk.

use std::collections::HashSet;

use super::field::Field;
use crate::syntax::Definition;

/// Most values of one field of a chunk, or of a definition.
const VALUES_MAX: usize = 256;

/// What is known of one definition.
#[derive(Debug, Default)]
pub(crate) struct OfDefinition {
    /// Facts of its own lines, sorted, each once.
    pub(crate) values: Vec<(Field, String)>,
    /// Whether other files can use it.
    pub(crate) exported: Option<bool>,
}

/// Facts as they come, of which no more is kept than can be handed on.
#[derive(Debug, Default)]
pub(super) struct Kept {
    values: Vec<(Field, String)>,
    /// At this many it is time to leave out what is there twice, and what is too much.
    full_at: usize,
}

impl Kept {
    /// Few enough that most chunks never get there.
    const FULL_MIN: usize = 256;

    pub(super) fn push(&mut self, field: Field, value: String) {
        self.values.push((field, value));
        if self.values.len() >= self.full_at.max(Self::FULL_MIN) {
            bound(&mut self.values);
            self.full_at = 2 * self.values.len();
        }
    }

    /// Sorted, each once, at most [`VALUES_MAX`] of a field: the first ones in their order.
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

/// Whether other files can use a definition: it is among the `exports` of its file, or its visibility says so. In a file
/// that lists what it exports, the rest of what stands at its top is its own. None where nothing tells.
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
    visibility.map(|(_, said)| !said.contains("private"))
}
