//! CSS: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "css",
    title: "CSS",
    aliases: &[],
    extensions: &["css"],
    file_names: &[],
    interpreters: &[],
    separator: " > ",
    grammar: Some(Grammar::new(
        || tree_sitter_css::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
