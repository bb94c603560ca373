//! The request of a navigation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question about a symbol.
#[derive(Debug, Clone)]
pub struct NavigationRequest {
    /// The symbol, or a place where it occurs.
    pub subject: Subject,
    /// The requested relation.
    pub relation: Relation,
    /// Roots of the repositories in which the symbol is looked up; empty: all.
    pub repository_roots: Vec<String>,
    /// Maximum number of steps of `impact` and `hierarchy`.
    pub depth: u32,
    /// Maximum number of places of the answer.
    pub limit: usize,
    /// Places to skip.
    pub offset: usize,
    /// The weakest certainty that is shown.
    pub certainty: Certainty,
    /// Only uses of this kind.
    pub kind: Option<UsedAs>,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A name as a person writes it; with a file, the symbol of that name in the file, and with a line, the one there.
    Name {
        /// The name.
        symbol: String,
        /// Path of a file, or the end of it.
        file: Option<String>,
        /// Line of the symbol's name.
        line: Option<u32>,
    },
    /// The symbol that is defined or used at a place.
    Place {
        /// Path of the file.
        file: String,
        /// Line, 1-based.
        line: u32,
        /// Column in characters, 1-based.
        column: Option<u32>,
    },
}

/// What is asked about a symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Where it is defined.
    Definition,
    /// Where it is used.
    #[default]
    References,
    /// Where it is called.
    Callers,
    /// What it calls.
    Callees,
    /// Types that derive from it or implement it, methods that override it.
    Implementations,
    /// Its bases and what derives from it.
    Hierarchy,
    /// What uses it, what uses that, and so on.
    Impact,
}

/// How it is known that a use is one of the symbol; the best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// An index file of a compiler or language server says so.
    Scip,
    /// Scopes, imports and types lead to it.
    #[default]
    Resolved,
    /// Only the name fits.
    Name,
}

impl Certainty {
    /// All, the best first.
    pub const ALL: [Self; 3] = [Self::Scip, Self::Resolved, Self::Name];

    /// Returns the name of the certainty in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scip => "scip",
            Self::Resolved => "resolved",
            Self::Name => "name",
        }
    }
}

/// What a use does with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UsedAs {
    /// Calls or instantiates it.
    Call,
    /// Reads it.
    Read,
    /// Assigns it.
    Write,
    /// Imports it.
    Import,
    /// Names it as a type.
    Type,
    /// Derives from it or implements it.
    Inherit,
}

impl UsedAs {
    /// Returns the name of the kind of use in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Read => "read",
            Self::Write => "write",
            Self::Import => "import",
            Self::Type => "type",
            Self::Inherit => "inherit",
        }
    }
}
