//! Kotlin: how its files are recognised, its grammar and its queries.

mod mask;
mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "kotlin",
    title: "Kotlin",
    aliases: &["kt", "kts"],
    extensions: &["kt", "kts"],
    file_names: &[],
    interpreters: &["kotlin"],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_kotlin_ng::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_mask(mask::masked)
        .with_symbols(symbols::extract),
    ),
};
