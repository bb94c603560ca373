//! TSX: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "tsx",
    title: "TSX",
    aliases: &["typescriptreact"],
    extensions: &["tsx"],
    file_names: &[],
    interpreters: &[],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_typescript::LANGUAGE_TSX.into(),
            include_str!("../typescript/definitions.scm"),
            concat!(
                include_str!("../javascript/ecmascript.scm"),
                "\n",
                include_str!("../typescript/facts.scm")
            ),
        )
        .with_mask(crate::typescript::mask::masked)
        .with_symbols(crate::javascript::symbols::extract),
    ),
};
