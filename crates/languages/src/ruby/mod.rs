//! Ruby: how its files are known, its grammar and its queries.

use crate::hazard;
use crate::grammar::Grammar;
use crate::language::Language;

/// The registry's entry.
pub(super) static LANGUAGE: Language = Language {
    id: "ruby",
    title: "Ruby",
    aliases: &["rb"],
    extensions: &["rb", "rake", "gemspec", "ru", "podspec", "jbuilder"],
    file_names: &["gemfile", "rakefile", "vagrantfile", "podfile", "brewfile", "capfile", "guardfile", "fastfile"],
    interpreters: &["ruby", "jruby", "rake"],
    separator: "::",
    grammar: Some(Grammar::with_hazard(|| tree_sitter_ruby::LANGUAGE.into(), include_str!("definitions.scm"), include_str!("facts.scm"), hazard::ruby)),
};
