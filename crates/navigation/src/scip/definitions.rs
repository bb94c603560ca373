//! Places at which the symbols of a SCIP file are defined.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use languages::symbols::Place;

use super::document::{Document, Roles};
use super::lines::Lines;
use super::range::PositionEncoding;
use super::symbol::Symbol;

/// Maximum number of places of one symbol; a namespace that many files share has no place of its own.
const PLACES_MAX: usize = 8;
/// The end of a list.
const END: u32 = u32::MAX;

/// The definitions of a SCIP file that other documents can see. A definition takes 36 bytes, and symbols' texts are not kept.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Hashes of symbols under a key of this process, with their first rows.
    first: HashMap<u64, u32>,
    rows: Vec<DefinitionRow>,
    paths: Vec<String>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct DefinitionRow {
    path: u32,
    place: Option<Place>,
    next: u32,
}

/// A definition of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition<'d> {
    /// The path of its document.
    pub path: &'d str,
    /// The place of its name; `None` if the text that the document was made of is not known.
    pub place: Option<Place>,
}

/// A SCIP file has more definitions than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyDefinitions;

impl Definitions {
    /// Adds those of a document, which is known here by `path`. `text` is what the document was made of, if that is known.
    ///
    /// # Errors
    /// If there are more than `max` in all.
    pub fn add(
        &mut self,
        document: &Document<'_>,
        path: &str,
        encoding: PositionEncoding,
        text: Option<&str>,
        max: usize,
    ) -> Result<(), TooManyDefinitions> {
        let defined = document.occurrences.iter().filter(|one| one.roles.contains(Roles::DEFINITION));
        let mut defined: Vec<_> = defined.filter(|one| !Symbol::is_local(one.symbol)).collect();
        if defined.is_empty() {
            return Ok(());
        }
        if self.rows.len() + defined.len() > max {
            return Err(TooManyDefinitions);
        }
        // Sorting lets one walk over the text convert all places.
        defined.sort_by_key(|one| one.range);
        let number = u32::try_from(self.paths.len()).map_err(|_| TooManyDefinitions)?;
        self.paths.push(path.to_owned());
        let mut lines = text.map(|text| Lines::new(text, encoding));
        for one in defined {
            let place = lines.as_mut().and_then(|lines| lines.place(one.range.start));
            self.push(one.symbol, number, place);
        }
        Ok(())
    }

    fn push(&mut self, symbol: &str, path: u32, place: Option<Place>) {
        let Ok(new) = u32::try_from(self.rows.len()) else { return };
        let first = *self.first.entry(self.hasher.hash_one(symbol)).or_insert(new);
        if first != new {
            let (last, length) = self.list(first).zip(1..).last().unwrap_or_default();
            match self.rows.get_mut(last as usize) {
                Some(last) if length < PLACES_MAX => last.next = new,
                _ => return,
            }
        }
        self.rows.push(DefinitionRow { path, place, next: END });
    }

    /// Iterates over the rows of a list, from its first one on.
    fn list(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(first), |row| {
            self.rows.get(*row as usize).map(|row| row.next).filter(|next| *next != END)
        })
    }

    /// Returns the definitions of a symbol, in the order of the documents; the first ones if there are many.
    pub fn of(&self, symbol: &str) -> impl Iterator<Item = Definition<'_>> {
        let first = self.first.get(&self.hasher.hash_one(symbol)).copied();
        first.into_iter().flat_map(|first| self.list(first)).filter_map(|row| {
            let row = self.rows.get(row as usize)?;
            Some(Definition { path: self.paths.get(row.path as usize)?, place: row.place })
        })
    }
}
