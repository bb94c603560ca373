//! PHP: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "php",
    title: "PHP",
    aliases: &[],
    extensions: &["php", "phtml", "php3", "php4", "php5", "php7", "inc"],
    file_names: &[],
    interpreters: &["php"],
    separator: "::",
    grammar: Some(
        Grammar::new(
            || tree_sitter_php::LANGUAGE_PHP.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
