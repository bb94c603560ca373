//! JSON: how its files are known, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// The registry's entry.
pub(super) static LANGUAGE: Language = Language {
    id: "json",
    title: "JSON",
    aliases: &["jsonc", "json5"],
    extensions: &["json", "jsonc", "json5", "geojson", "webmanifest", "code-workspace"],
    file_names: &[".babelrc", ".eslintrc", ".prettierrc", "composer.lock", "pipfile.lock", "flake.lock"],
    interpreters: &[],
    separator: ".",
    grammar: Some(Grammar::new(
        || tree_sitter_json::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
