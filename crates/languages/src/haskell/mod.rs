//! Haskell: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "haskell",
    title: "Haskell",
    aliases: &["hs"],
    extensions: &["hs", "hs-boot"],
    file_names: &[],
    interpreters: &["runhaskell", "stack", "cabal"],
    separator: ".",
    grammar: Some(Grammar::new(
        || tree_sitter_haskell::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
