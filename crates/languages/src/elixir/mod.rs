//! Elixir: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "elixir",
    title: "Elixir",
    aliases: &["ex", "exs"],
    extensions: &["ex", "exs"],
    file_names: &["mix.lock"],
    interpreters: &["elixir"],
    separator: ".",
    grammar: Some(Grammar::new(
        || tree_sitter_elixir::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
