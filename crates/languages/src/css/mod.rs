//! CSS: how its files are known, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// The registry's entry.
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
