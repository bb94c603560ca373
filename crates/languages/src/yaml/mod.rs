//! YAML: how its files are recognised, its grammar and its queries.

use crate::crash_check;
use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "yaml",
    title: "YAML",
    aliases: &["yml"],
    extensions: &["yaml", "yml"],
    file_names: &[".clang-format", ".clang-tidy", ".gemrc", "pubspec.lock", "pnpm-lock.yaml", "yarn.lock"],
    interpreters: &[],
    separator: ".",
    grammar: Some(Grammar::with_crash_check(
        || tree_sitter_yaml::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
        crash_check::yaml,
    )),
};
