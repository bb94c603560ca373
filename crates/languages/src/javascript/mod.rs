//! JavaScript: how its files are recognised, its grammar and its queries.

pub(crate) mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "javascript",
    title: "JavaScript",
    aliases: &["js", "jsx", "node", "ecmascript"],
    extensions: &["js", "mjs", "cjs", "jsx", "es6"],
    file_names: &["jakefile"],
    interpreters: &["node", "nodejs", "bun", "qjs"],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_javascript::LANGUAGE.into(),
            include_str!("definitions.scm"),
            concat!(include_str!("ecmascript.scm"), "\n", include_str!("facts.scm")),
        )
        .with_symbols(symbols::extract),
    ),
};
