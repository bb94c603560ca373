//! Zig: how its files are known, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// The registry's entry.
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
