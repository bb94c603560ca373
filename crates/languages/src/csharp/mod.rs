//! C#: how its files are recognised, its grammar and its queries.

mod symbols;

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "csharp",
    title: "C#",
    aliases: &["c#", "cs", "dotnet"],
    extensions: &["cs", "csx"],
    file_names: &[],
    interpreters: &["dotnet-script"],
    separator: ".",
    grammar: Some(
        Grammar::new(
            || tree_sitter_c_sharp::LANGUAGE.into(),
            include_str!("definitions.scm"),
            include_str!("facts.scm"),
        )
        .with_symbols(symbols::extract),
    ),
};
