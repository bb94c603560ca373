//! What is known of one language: its names, how its files are told, and its grammar where it has one.

use std::fmt;
use std::sync::OnceLock;

use super::facts::{self, CountKind, FactQuery, Syntax};
use super::plain;
use super::query::Compiled;

/// One language of the registry. Two are the same when their `id` is.
pub struct Language {
    /// Lower-case identifier, stored with every file: `rust`, `cpp`.
    pub id: &'static str,
    /// Name for people: `Rust`, `C++`.
    pub title: &'static str,
    /// Other names a filter accepts, lower case: `rs`, `c++`.
    pub aliases: &'static [&'static str],
    /// File extensions without the leading dot, lower case; may hold dots (`blade.php`).
    pub extensions: &'static [&'static str],
    /// Whole file names, lower case: `makefile`.
    pub file_names: &'static [&'static str],
    /// Programs of a `#!` line, without version: `python`, `bash`.
    pub interpreters: &'static [&'static str],
    /// What stands between the parts of a qualified name: `::` or `.`.
    pub separator: &'static str,
    /// The grammar and its queries; none: chunked by lines.
    pub(super) grammar: Option<Grammar>,
}

/// A tree-sitter grammar with the queries of the language's folder.
pub(super) struct Grammar {
    /// Makes the grammar's handle.
    pub(super) language: fn() -> tree_sitter::Language,
    /// Text of `definitions.scm`.
    pub(super) definitions: &'static str,
    /// The query of `facts.scm`.
    pub(super) facts: FactQuery,
    /// Tells texts that the grammar's scanner cannot take.
    pub(super) hazard: Option<fn(&str) -> bool>,
    /// The query of definitions, read on first use; an error is a defect of the data and tested against.
    pub(super) compiled: OnceLock<Result<Compiled, String>>,
}

impl Grammar {
    /// A grammar with its two queries.
    pub(super) const fn new(
        language: fn() -> tree_sitter::Language,
        definitions: &'static str,
        facts: &'static str,
    ) -> Self {
        Self { language, definitions, facts: FactQuery::new(facts), hazard: None, compiled: OnceLock::new() }
    }

    /// A grammar whose scanner cannot take some texts.
    pub(super) const fn unless(
        language: fn() -> tree_sitter::Language,
        definitions: &'static str,
        facts: &'static str,
        hazard: fn(&str) -> bool,
    ) -> Self {
        let facts = FactQuery::new(facts);
        Self { language, definitions, facts, hazard: Some(hazard), compiled: OnceLock::new() }
    }
}

impl Grammar {
    /// The query of facts, read once.
    pub(super) fn facts(&self) -> Result<&facts::Compiled, &str> {
        self.facts.compiled(self.language)
    }
}

impl Language {
    /// Whether a grammar reads its texts.
    #[must_use]
    pub fn is_parsed(&self) -> bool {
        self.grammar.is_some()
    }

    /// Whether files of this language are documents.
    #[must_use]
    pub fn is_prose(&self) -> bool {
        matches!(self.id, "markdown" | "rst" | "asciidoc" | "text" | "latex")
    }

    /// Whether the facts of this language's code say something of the kind. Nothing is compiled for it.
    #[must_use]
    pub fn tells(&self, syntax: Syntax) -> bool {
        self.grammar.as_ref().is_some_and(|grammar| grammar.facts.told().can_tell(syntax))
    }

    /// Whether it is written to be run: neither documents nor data nor markup, of which nobody expects calls or types.
    #[must_use]
    pub fn is_code(&self) -> bool {
        match &self.grammar {
            Some(grammar) => grammar.facts.told().can_tell(Syntax::Counts(CountKind::Branches)),
            None => !plain::NO_CODE.contains(&self.id),
        }
    }

    /// Whether files of this language are chunked along their syntax.
    #[must_use]
    pub fn has_grammar(&self) -> bool {
        self.grammar.is_some()
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Language {}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Language").field(&self.id).finish()
    }
}
