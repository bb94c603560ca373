//! Zig: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "zig",
    title: "Zig",
    aliases: &[],
    extensions: &["zig", "zon"],
    file_names: &[],
    interpreters: &["zig"],
    separator: ".",
    grammar: Some(Grammar::new(
        || tree_sitter_zig::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
