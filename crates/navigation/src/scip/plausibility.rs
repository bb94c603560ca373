//! Whether a SCIP document was made of a text: the names that it defines must stand where it says.

use super::document::{Document, Roles};
use super::given::names;
use super::lines::Lines;
use super::range::PositionEncoding;
use super::symbol::Symbol;

/// How many of the names that are compared must be there, as a fraction: indexers place some definitions elsewhere, such as
/// members that a macro or a decorator makes.
const FITTING: (usize, usize) = (9, 10);
/// The same of documents that define nothing. Imports under another name are not written like what they refer to.
const FITTING_USES: (usize, usize) = (1, 2);

impl Document<'_> {
    /// Whether the document can have been made of a text. An index says neither its commit nor hashes of its files; but names
    /// move when a text is edited.
    #[must_use]
    pub fn fits(&self, encoding: PositionEncoding, text: &str) -> bool {
        if !self.text.is_empty() {
            return self.text == text;
        }
        let mut occurrences: Vec<_> = self.occurrences.iter().collect();
        occurrences.sort_by_key(|one| one.range);
        let mut lines = Lines::new(text, encoding);
        let (mut definitions, mut uses) = (Count::default(), Count::default());
        for one in occurrences {
            let is_there = lines.place(one.range.start).is_some();
            if !is_there && one.range.start.line > 0 {
                // A file of another number of lines, or with another line.
                return false;
            }
            if Symbol::is_local(one.symbol) {
                continue;
            }
            let Some(name) = names(one.symbol).pop().filter(|name| is_identifier(name)) else { continue };
            let count = if one.roles.contains(Roles::DEFINITION) { &mut definitions } else { &mut uses };
            count.add(is_there && lines.rest().starts_with(&name));
        }
        definitions.has(FITTING) && (definitions.all > 0 || uses.has(FITTING_USES))
    }
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(|character| character.is_alphanumeric() || character == '_')
}

/// How many names are where they should be.
#[derive(Default)]
struct Count {
    fitting: usize,
    all: usize,
}

impl Count {
    const fn add(&mut self, fits: bool) {
        self.all += 1;
        self.fitting += fits as usize;
    }

    const fn has(&self, (part, whole): (usize, usize)) -> bool {
        self.fitting * whole >= self.all * part
    }
}
