//! A language: its names, how its files are recognised, and its grammar, if any.

use std::fmt;

use super::facts::{CountKind, FactKind};
use super::grammar::Grammar;

/// Languages without a grammar that are not programming languages: documents, data, markup, configuration, templates.
const NO_CODE: &[&str] = &[
    "asciidoc", "bazel", "cmake", "csv", "diff", "dockerfile", "docx", "gettext", "gherkin", "graphql",
    "handlebars", "hcl", "ini", "jinja", "jupyter", "just", "latex", "liquid", "makefile", "meson", "nix",
    "odp", "ods", "odt", "pdf", "pptx", "prisma", "proto", "pug", "puppet", "rst", "sass", "scss", "text",
    "thrift", "twig", "xlsx", "xml",
];

/// One language of the registry. Two are the same when their `id` is.
pub struct Language {
    /// Lower-case identifier, stored with every file: `rust`, `cpp`.
    pub id: &'static str,
    /// Display name: `Rust`, `C++`.
    pub title: &'static str,
    /// Other names a filter accepts, lower case: `rs`, `c++`.
    pub aliases: &'static [&'static str],
    /// File extensions without the leading dot, lower case; may hold dots (`blade.php`).
    pub extensions: &'static [&'static str],
    /// Whole file names, lower case: `makefile`.
    pub file_names: &'static [&'static str],
    /// Programs of a `#!` line, without version: `python`, `bash`.
    pub interpreters: &'static [&'static str],
    /// Separator of the parts of a qualified name: `::` or `.`.
    pub separator: &'static str,
    /// The grammar and its queries; `None`: files are chunked along their headings or by lines.
    pub(super) grammar: Option<Grammar>,
}

impl Language {
    /// Returns `true` if files of this language are documents.
    #[must_use]
    pub fn is_prose(&self) -> bool {
        matches!(self.id, "markdown" | "rst" | "asciidoc" | "text" | "latex") || self.is_extracted()
    }

    /// Returns `true` if files of this language are documents whose text is extracted from them, such as PDF.
    #[must_use]
    pub fn is_extracted(&self) -> bool {
        matches!(self.id, "pdf" | "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp")
    }

    /// Checks whether this language's query can extract facts of this kind. Does not compile the query.
    #[must_use]
    pub fn extracts(&self, kind: FactKind) -> bool {
        self.grammar.as_ref().is_some_and(|grammar| grammar.facts.features().supports(kind))
    }

    /// Returns `true` if it is a programming language: documents, data and markup have no calls and types.
    #[must_use]
    pub fn is_code(&self) -> bool {
        match &self.grammar {
            Some(grammar) => grammar.facts.features().supports(FactKind::Counts(CountKind::Branches)),
            None => !NO_CODE.contains(&self.id),
        }
    }

    /// Returns `true` if files of this language are chunked along their syntax.
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
