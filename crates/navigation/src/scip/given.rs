//! The content of a SCIP document in the form in which it is stored: places in characters, and definitions by place.

use std::collections::HashMap;

use languages::symbols::Place;
use serde::{Deserialize, Serialize};

use super::definitions::Definitions;
use super::document::{Document, Roles};
use super::lines::Lines;
use super::plausibility::ImportedNames;
use super::range::PositionEncoding;
use super::symbol::{Descriptor, DescriptorKind, Symbol};

/// The stored content of a SCIP document. It holds for the text that the document was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenDocument {
    paths: Vec<String>,
    symbols: Vec<GivenSymbol>,
    /// Sorted by place; each line is that many lines below the one before.
    occurrences: Vec<(u32, u32, u32, u32)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct GivenSymbol {
    names: Vec<String>,
    /// Path, line and column; line 0 if the place is not known.
    definitions: Vec<(u32, u32, u32)>,
    implements: Vec<u32>,
}

/// An occurrence of one name in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenOccurrence<'d> {
    /// The place of the name.
    pub place: Place,
    /// The roles of the symbol here.
    pub roles: Roles,
    /// The target; `None` if it is a local name or outside of the index.
    pub symbol: Option<GivenTarget<'d>>,
}

/// A symbol that a document refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenTarget<'d> {
    document: &'d GivenDocument,
    number: usize,
    symbol: &'d GivenSymbol,
}

/// The number of every symbol that is local or outside of the index.
const ELSEWHERE: u32 = 0;

impl GivenDocument {
    /// Converts a document for a file with this text. Occurrences at places that the text does not have, or that have something else there,
    /// are omitted.
    #[must_use]
    pub fn new(
        document: &Document<'_>,
        encoding: PositionEncoding,
        text: &str,
        definitions: &Definitions,
    ) -> Self {
        let mut builder =
            Builder { definitions, given: Self::default(), symbols: HashMap::new(), paths: HashMap::new() };
        let mut occurrences: Vec<_> = document.occurrences.iter().collect();
        occurrences.sort_by_key(|one| one.range);
        let (mut lines, imported) = (Lines::new(text, encoding), ImportedNames::new(text));
        let mut line = 0;
        for one in occurrences {
            let Some(place) = lines.place(one.range.start) else { continue };
            if !one.roles.contains(Roles::DEFINITION) && !imported.allow(one, &lines) {
                continue;
            }
            let symbol = builder.symbol(one.symbol);
            builder.given.occurrences.push((place.line - line, place.column, one.roles.0, symbol));
            line = place.line;
        }
        for information in &document.symbols {
            let implemented: Vec<&str> = information
                .relationships
                .iter()
                .filter(|one| one.is_implementation)
                .map(|one| one.symbol)
                .collect();
            if implemented.is_empty() {
                continue;
            }
            let implements: Vec<u32> = implemented
                .into_iter()
                .map(|one| builder.symbol(one))
                .filter(|one| *one != ELSEWHERE)
                .collect();
            let own = builder.symbol(information.symbol);
            if let Some(own) = (own as usize).checked_sub(1).and_then(|at| builder.given.symbols.get_mut(at))
            {
                own.implements = implements;
            }
        }
        builder.given
    }

    /// Encodes it to bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Reads the bytes that [`encode`](Self::encode) wrote. Other bytes may decode as well, to other content.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    fn target(&self, symbol: u32) -> Option<GivenTarget<'_>> {
        let number = (symbol as usize).checked_sub(1)?;
        self.symbols.get(number).map(|symbol| GivenTarget { document: self, number, symbol })
    }

    /// Iterates over its occurrences, sorted by place. Several symbols may be at one place.
    pub fn occurrences(&self) -> impl Iterator<Item = GivenOccurrence<'_>> {
        let mut line = 0u32;
        self.occurrences.iter().map(move |(down, column, roles, symbol)| {
            line = line.saturating_add(*down);
            let symbol = self.target(*symbol);
            GivenOccurrence { place: Place { line, column: *column }, roles: Roles(*roles), symbol }
        })
    }
}

impl<'d> GivenTarget<'d> {
    /// Returns its number in the document.
    #[must_use]
    pub const fn number(self) -> usize {
        self.number
    }

    /// Returns the places of its definitions: the paths of documents, each with the place of the name if that is known.
    pub fn definitions(self) -> impl Iterator<Item = (&'d str, Option<Place>)> {
        self.symbol.definitions.iter().filter_map(move |(path, line, column)| {
            let path = self.document.paths.get(*path as usize)?;
            Some((path.as_str(), (*line > 0).then_some(Place { line: *line, column: *column })))
        })
    }

    /// Returns its names without those of packages and modules, the outermost first; empty for a package or a module.
    #[must_use]
    pub fn names(self) -> &'d [String] {
        &self.symbol.names
    }

    /// Returns the symbols that it implements or overrides.
    pub fn implements(self) -> impl Iterator<Item = Self> {
        let document = self.document;
        self.symbol.implements.iter().filter_map(move |number| document.target(*number))
    }
}

struct Builder<'a> {
    definitions: &'a Definitions,
    given: GivenDocument,
    /// Numbers of symbols and of paths.
    symbols: HashMap<&'a str, u32>,
    paths: HashMap<&'a str, u32>,
}

impl<'a> Builder<'a> {
    /// Returns the number of a symbol that the index defines; `ELSEWHERE` for all others.
    fn symbol(&mut self, symbol: &'a str) -> u32 {
        if Symbol::is_local(symbol) {
            return ELSEWHERE;
        }
        if let Some(number) = self.symbols.get(symbol) {
            return *number;
        }
        let mut own = GivenSymbol::default();
        for definition in self.definitions.of(symbol) {
            let next = self.given.paths.len() as u32;
            let path = *self.paths.entry(definition.path).or_insert(next);
            if path == next {
                self.given.paths.push(definition.path.to_owned());
            }
            let Place { line, column } = definition.place.unwrap_or_default();
            own.definitions.push((path, line, column));
        }
        let number = if own.definitions.is_empty() {
            ELSEWHERE
        } else {
            own.names = names(symbol);
            self.given.symbols.push(own);
            self.given.symbols.len() as u32
        };
        self.symbols.insert(symbol, number);
        number
    }
}

/// Returns the names of a symbol without those of packages and modules, the outermost first.
pub(super) fn names(symbol: &str) -> Vec<String> {
    let Ok(Symbol::Global { descriptors, .. }) = Symbol::parse(symbol) else { return Vec::new() };
    // scip-python and scip-typescript describe modules by meta descriptors.
    let is_module = |one: &Descriptor| matches!(one.kind, DescriptorKind::Namespace | DescriptorKind::Meta);
    if descriptors.last().is_none_or(is_module) {
        return Vec::new();
    }
    let named = descriptors.into_iter().filter(|one| one.kind != DescriptorKind::Namespace);
    named.map(|one| one.name).collect()
}
