//! Markdown: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "markdown",
    title: "Markdown",
    aliases: &["md", "mdx"],
    extensions: &["md", "markdown", "mdx", "mkd"],
    file_names: &[],
    interpreters: &[],
    separator: " > ",
    grammar: Some(Grammar::new(
        || tree_sitter_md::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
