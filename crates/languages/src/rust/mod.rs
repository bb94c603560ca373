//! Rust: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "rust",
    title: "Rust",
    aliases: &["rs"],
    extensions: &["rs"],
    file_names: &[],
    interpreters: &["rust-script"],
    separator: "::",
    grammar: Some(
        Grammar::new(
            || tree_sitter_rust::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
