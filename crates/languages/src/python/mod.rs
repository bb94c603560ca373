//! Python: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::crash_check;
use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "python",
    title: "Python",
    aliases: &["py", "python3"],
    extensions: &["py", "pyi", "pyw", "pyx", "pxd"],
    file_names: &["sconstruct", "sconscript", "wscript"],
    interpreters: &["python", "pypy", "uv", "ipython"],
    separator: ".",
    grammar: Some(
        Grammar::with_crash_check(
            || tree_sitter_python::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
            crash_check::python,
        )
        .with_symbols(symbols::extract),
    ),
};
