//! A tree-sitter grammar with the queries of its language.

use std::sync::OnceLock;

use super::facts::{self, FactQuery};
use super::query::Compiled;
use super::symbols::Extract;

/// A tree-sitter grammar with the queries of the language's folder.
pub(super) struct Grammar {
    /// Creates the grammar's handle.
    pub(super) language: fn() -> tree_sitter::Language,
    /// Text of `definitions.scm`.
    pub(super) definitions: &'static str,
    /// The query of `facts.scm`.
    pub(super) facts: FactQuery,
    /// Recognises texts that would crash the grammar's scanner.
    pub(super) crash_check: Option<fn(&str) -> bool>,
    /// Hides text that the parser cannot read; places stay as they are. `None` if there is nothing to hide.
    pub(super) mask: Option<fn(&str) -> Option<String>>,
    /// Extracts the symbols of a file.
    pub(super) symbols: Option<Extract>,
    /// The query of definitions, parsed on first use. An error is a defect of the query file, which the tests find.
    compiled: OnceLock<Result<Compiled, String>>,
}

impl Grammar {
    /// A grammar with its two queries.
    pub(super) const fn new(
        language: fn() -> tree_sitter::Language,
        definitions: &'static str,
        facts: &'static str,
    ) -> Self {
        Self {
            language,
            definitions,
            facts: FactQuery::new(facts),
            crash_check: None,
            mask: None,
            symbols: None,
            compiled: OnceLock::new(),
        }
    }

    /// A grammar whose scanner crashes on some texts, which `crash_check` recognises.
    pub(super) const fn with_crash_check(
        language: fn() -> tree_sitter::Language,
        definitions: &'static str,
        facts: &'static str,
        crash_check: fn(&str) -> bool,
    ) -> Self {
        let facts = FactQuery::new(facts);
        Self {
            language,
            definitions,
            facts,
            crash_check: Some(crash_check),
            mask: None,
            symbols: None,
            compiled: OnceLock::new(),
        }
    }

    /// The same grammar, which does not see what `mask` hides.
    pub(super) const fn with_mask(mut self, mask: fn(&str) -> Option<String>) -> Self {
        self.mask = Some(mask);
        self
    }

    /// The same grammar with an extractor of symbols.
    pub(super) const fn with_symbols(mut self, extract: Extract) -> Self {
        self.symbols = Some(extract);
        self
    }
}

impl Grammar {
    /// The query of definitions, compiled once.
    pub(super) fn definitions(&self) -> Result<&Compiled, &str> {
        let compile = || Compiled::new(&(self.language)(), self.definitions);
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    /// The query of facts, compiled once.
    pub(super) fn facts(&self) -> Result<&facts::Compiled, &str> {
        self.facts.compiled(self.language)
    }
}
