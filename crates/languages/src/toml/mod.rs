//! TOML: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "toml",
    title: "TOML",
    aliases: &[],
    extensions: &["toml"],
    file_names: &["cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pipfile"],
    interpreters: &[],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_toml_ng::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
