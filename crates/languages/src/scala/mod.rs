//! Scala: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "scala",
    title: "Scala",
    aliases: &[],
    extensions: &["scala", "sc", "sbt"],
    file_names: &[],
    interpreters: &["scala", "amm", "scala-cli"],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_scala::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
