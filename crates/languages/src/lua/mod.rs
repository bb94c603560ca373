//! Lua: how its files are recognised, its grammar and its queries.

use crate::grammar::Grammar;
use crate::language::Language;

/// Its entry in the registry of languages.
pub(super) static LANGUAGE: Language = Language {
    id: "lua",
    title: "Lua",
    aliases: &["luau"],
    extensions: &["lua", "rockspec"],
    file_names: &[],
    interpreters: &["lua", "luajit"],
    separator: ".",
    grammar: Some(Grammar::new(
        || tree_sitter_lua::LANGUAGE.into(),
        include_str!("definitions.scm"),
        include_str!("facts.scm"),
    )),
};
