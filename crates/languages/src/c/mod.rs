//! C: how its files are recognised, its grammar and its queries.

pub(crate) mod mask;
pub(crate) mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "c",
    title: "C",
    aliases: &[],
    extensions: &["c", "h"],
    file_names: &[],
    interpreters: &["tcc"],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_c::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_mask(mask::masked)
        .with_symbols(symbols::extract),
    ),
};
