//! TypeScript: how its files are recognised, its grammar and its queries.

pub(crate) mod mask;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "typescript",
    title: "TypeScript",
    aliases: &["ts"],
    extensions: &["ts", "mts", "cts"],
    file_names: &[],
    interpreters: &["deno", "ts-node", "tsx"],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            include_str!("definitions.scm"),
            concat!(include_str!("../javascript/ecmascript.scm"), "\n", include_str!("facts.scm")),
        )
        .with_mask(mask::masked)
        .with_symbols(crate::javascript::symbols::extract),
    ),
};
