//! JSON: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
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
