//! C++: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "cpp",
    title: "C++",
    aliases: &["c++", "cxx", "cplusplus"],
    extensions: &["cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl", "tpp", "ixx", "cppm"],
    file_names: &[],
    interpreters: &[],
    separator: "::",
    grammar: Some(
        Grammar::new(
            || tree_sitter_cpp::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_mask(crate::c::mask::masked)
        .with_symbols(crate::c::symbols::extract),
    ),
};
