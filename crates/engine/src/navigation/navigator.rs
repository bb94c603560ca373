//! The reads of a navigation, and its result before it is fitted into an answer.

use std::collections::BTreeMap;

use super::answer::{Place, StepCount, Stopped, SymbolInfo};
use super::grouping::Target;
use super::request::{Certainty, NavigationRequest, Relation};
use crate::search::shorten;
use contract::Warning;
use contract::clock::Clock;
use store::navigation::DefinitionAt;
use store::uses::Certainty as StoredCertainty;
use store::{ProjectTx, RepositoryRow};

/// Longest text of a place, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 200;

/// The result of a navigation, before it is fitted into an answer.
#[derive(Debug, Clone)]
pub struct Navigation {
    /// The requested relation.
    pub(super) relation: Relation,
    /// The symbol.
    pub(super) symbol: Option<SymbolInfo>,
    /// The symbols that an ambiguous name may mean.
    pub(super) candidates: Vec<SymbolInfo>,
    /// The places of the page.
    pub(super) places: Vec<Located>,
    /// Number of all places, or candidates.
    pub(super) total: usize,
    /// `true` if there may be more.
    pub(super) total_is_least: bool,
    /// Places before the page.
    pub(super) offset: usize,
    /// Uses by certainty.
    pub(super) by_certainty: BTreeMap<String, usize>,
    /// Uses by kind.
    pub(super) by_kind: BTreeMap<String, usize>,
    /// Definitions by distance.
    pub(super) steps: Vec<StepCount>,
    /// Uses of the name whose meaning is not known.
    pub(super) unresolved: Option<NameUses>,
    /// The reason why a walk stopped.
    pub(super) stopped: Option<Stopped>,
    /// Warnings for the caller about gaps.
    pub warnings: Vec<Warning>,
}

/// Unresolved uses of a name.
#[derive(Debug, Clone, Default)]
pub(super) struct NameUses {
    pub(super) total: usize,
    pub(super) is_least: bool,
    /// Number of definitions that have the name.
    pub(super) candidates: Option<usize>,
    /// `true` if more definitions may have it.
    pub(super) candidates_is_least: bool,
    /// Places of the page.
    pub(super) places: Vec<Located>,
    /// `true` if pages continue with them after the known places.
    pub(super) is_listed: bool,
}

/// A place with its file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Located {
    /// Repository, if another than that of the symbol.
    pub(super) repo: Option<String>,
    pub(super) file: String,
    pub(super) place: Place,
}

impl Navigation {
    /// Returns the name of the symbol, if there is one.
    #[must_use]
    pub fn symbol_name(&self) -> Option<&str> {
        self.symbol.as_ref().map(|symbol| symbol.name.as_str())
    }

    /// Returns the number of places, or of candidates.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns whether the answer is the definition that was asked for, so that nothing can be missing.
    #[must_use]
    pub fn is_definition(&self) -> bool {
        self.relation == Relation::Definition && self.total > 0
    }

    pub(super) fn new(request: &NavigationRequest) -> Self {
        Self {
            relation: request.relation,
            symbol: None,
            candidates: Vec::new(),
            places: Vec::new(),
            total: 0,
            total_is_least: false,
            offset: request.offset,
            by_certainty: BTreeMap::new(),
            by_kind: BTreeMap::new(),
            steps: Vec::new(),
            unresolved: None,
            stopped: None,
            warnings: Vec::new(),
        }
    }
}

/// The reads of one navigation.
pub(super) struct Navigator<'a> {
    pub(super) tx: &'a mut ProjectTx,
    pub(super) repositories: &'a [RepositoryRow],
    pub(super) request: &'a NavigationRequest,
    pub(super) clock: &'a dyn Clock,
}

impl Navigator<'_> {
    /// Returns a page of a list that was read completely.
    pub(super) fn page<T>(&self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.request.offset).take(self.request.limit).collect()
    }

    /// Returns the name of a repository.
    pub(super) fn repository(&self, id: i64) -> String {
        let found = self.repositories.iter().find(|row| row.id == id);
        found.map(|row| row.name.clone()).unwrap_or_default()
    }

    pub(super) fn info(&self, definition: &DefinitionAt) -> SymbolInfo {
        SymbolInfo {
            name: shorten(&definition.name, TEXT_BYTES_MAX),
            qualified: shorten(&definition.qualified, TEXT_BYTES_MAX),
            kind: definition.kind.clone(),
            signature: definition.signature.as_deref().map(|text| shorten(text, TEXT_BYTES_MAX)),
            repo: self.repository(definition.repository_id),
            file: definition.path.clone(),
            line: line(definition.line),
            column: line(definition.column),
            uses: None,
        }
    }

    /// Returns the repository of a place, if it is not that of the symbol.
    pub(super) fn other_repository(&self, id: i64, of: Option<&Target>) -> Option<String> {
        let own = of.and_then(Target::first).map(|first| first.repository_id);
        (own != Some(id) && (own.is_some() || self.repositories.len() > 1)).then(|| self.repository(id))
    }

    /// Returns a definition as a place.
    pub(super) fn defined(&self, definition: &DefinitionAt, of: Option<&Target>) -> Located {
        Located {
            repo: of.and_then(|_| self.other_repository(definition.repository_id, of)),
            file: definition.path.clone(),
            place: Place {
                line: line(definition.line),
                column: line(definition.column),
                kind: definition.kind.clone(),
                name: Some(shorten(&definition.qualified, TEXT_BYTES_MAX)),
                text: definition.signature.as_deref().map(|text| shorten(text, TEXT_BYTES_MAX)),
                ..Place::default()
            },
        }
    }

    /// Returns the weakest certainty of known edges that the request admits.
    pub(super) fn certainty(&self) -> StoredCertainty {
        match self.request.certainty {
            Certainty::Scip => StoredCertainty::Scip,
            Certainty::Resolved | Certainty::Name => StoredCertainty::Resolved,
        }
    }
}

/// Converts a line or column from the database, which is never negative.
pub(super) fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
