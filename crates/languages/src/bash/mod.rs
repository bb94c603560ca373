//! Bash: how its files are recognised, its grammar and its queries.

use crate::crash_check;
use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "bash",
    title: "Bash",
    aliases: &["sh", "shell", "zsh"],
    extensions: &["sh", "bash", "zsh", "ksh", "bats", "ebuild"],
    file_names: &[".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zprofile", "pkgbuild"],
    interpreters: &["sh", "bash", "dash", "zsh", "ksh"],
    separator: ".",
    grammar: Some(Grammar::with_crash_check(
        || tree_sitter_bash::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
        crash_check::bash,
    )),
};
