//! Java: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "java",
    title: "Java",
    aliases: &[],
    extensions: &["java"],
    file_names: &[],
    interpreters: &[],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_java::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
