//! Checks whether a SCIP document was made of a text, and which of its occurrences can be true: the names must be at their places.

use std::collections::HashSet;

use super::document::{Document, Occurrence, Roles};
use super::given::names;
use super::lines::Lines;
use super::range::PositionEncoding;
use super::symbol::Symbol;
use crate::is_in_identifier;

/// The fraction of the compared names that must be at their places: indexers place some definitions elsewhere, such as members that a macro
/// or a decorator makes.
const FITTING: (usize, usize) = (9, 10);
/// The fraction of uses in a document without definitions that must be written like their targets. Renamed imports are not.
const FITTING_USES: (usize, usize) = (1, 2);
/// Words that begin lines which may rename names of other files.
const IMPORTING: [&str; 9] =
    ["import", "from", "export", "use", "using", "require", "include", "typealias", "type"];

impl Document<'_> {
    /// Checks whether the document can have been made of a text. An index contains neither its commit nor hashes of its files; but names
    /// move when a text is edited.
    #[must_use]
    pub fn fits(&self, encoding: PositionEncoding, text: &str) -> bool {
        if !self.text.is_empty() {
            return self.text == text;
        }
        let mut occurrences: Vec<_> = self.occurrences.iter().collect();
        occurrences.sort_by_key(|one| one.range);
        let mut lines = Lines::new(text, encoding);
        let (mut definitions, mut uses, mut covered) = (Count::default(), Count::default(), Count::default());
        for one in occurrences {
            let is_there = lines.place(one.range.start).is_some();
            if !is_there && one.range.start.line > 0 {
                // A file with another number of lines, or with another line.
                return false;
            }
            if Symbol::is_local(one.symbol) {
                continue;
            }
            let Some(name) = names(one.symbol).pop().filter(|name| is_identifier(name)) else { continue };
            let count = if one.roles.contains(Roles::DEFINITION) { &mut definitions } else { &mut uses };
            let is_named = is_there && lines.rest().starts_with(&name);
            count.add(is_named);
            if let Some(units) = units(one).filter(|_| !one.roles.contains(Roles::DEFINITION)) {
                covered.add(is_named || is_there && lines.identifier().is_some_and(|(_, own)| own == units));
            }
        }
        definitions.has(FITTING) && covered.has(FITTING) && (definitions.all > 0 || uses.has(FITTING_USES))
    }
}

/// The identifiers that a text binds by importing something, perhaps under a different name from the original.
pub(super) struct ImportedNames<'t>(HashSet<&'t str>);

impl<'t> ImportedNames<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut names = HashSet::new();
        for line in text.lines() {
            let words = || line.split(|c| !is_in_identifier(c)).filter(|word| !word.is_empty());
            if words().any(|word| IMPORTING.contains(&word)) {
                names.extend(words());
            }
            let after = words().zip(words().skip(1));
            names.extend(after.filter(|(word, _)| *word == "as").map(|(_, name)| name));
        }
        Self(names)
    }

    /// Checks whether an occurrence at the last place of `lines` can be true: there is a name of its symbol, or it covers an identifier
    /// that an import may have given it. Occurrences from an older state of the text mostly fail this.
    pub(super) fn allow(&self, one: &Occurrence<'_>, lines: &Lines<'t>) -> bool {
        let named = names(one.symbol);
        let Some(units) = units(one).filter(|_| named.last().is_some_and(|name| is_identifier(name))) else {
            return true;
        };
        lines.identifier().is_some_and(|(word, own)| {
            named.iter().any(|name| name == word) || own == units && self.0.contains(word)
        })
    }
}

/// Returns the number of units of its line that an occurrence covers; `None` if it does not say that.
fn units(one: &Occurrence<'_>) -> Option<u32> {
    let (start, end) = (one.range.start, one.range.end);
    (start.line == end.line && end.character > start.character).then(|| end.character - start.character)
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(is_in_identifier)
}

/// Counts the names that are at their places.
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
