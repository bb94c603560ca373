//! Ruby: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::crash_check;
use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "ruby",
    title: "Ruby",
    aliases: &["rb"],
    extensions: &["rb", "rake", "gemspec", "ru", "podspec", "jbuilder"],
    file_names: &[
        "gemfile", "rakefile", "vagrantfile", "podfile", "brewfile", "capfile", "guardfile", "fastfile",
    ],
    interpreters: &["ruby", "jruby", "rake"],
    separator: "::",
    grammar: Some(
        Grammar::with_crash_check(
            || tree_sitter_ruby::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
            crash_check::ruby,
        )
        .with_symbols(symbols::extract),
    ),
};
