//! Go: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "go",
    title: "Go",
    aliases: &["golang"],
    extensions: &["go"],
    file_names: &[],
    interpreters: &[],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_go::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
