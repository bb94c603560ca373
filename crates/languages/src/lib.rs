//! Reading of source files: detects the language, cuts the text into chunks along the syntax, extracts terms, facts and risks.
//!
//! Each language has a folder with its entry and its tree-sitter queries. To add a language, add that folder and its name in
//! the list below.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod grammar;
mod language;
mod limits;
mod plain;
mod registry;

pub mod facts;
pub mod risk;

pub mod symbols;

mod identifier;

mod attributes;
mod cells;
mod crash_check;
mod innermost;
mod lines;
mod outline;
mod query;
mod stop;
mod syntax;
mod tree_query;
mod word;

mod merge;
mod name;
mod split;

mod chunk;
mod chunking;
mod defined;
mod sections;

pub mod highlight;

mod dictionary;
mod folders;
mod paths;
pub mod terms;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod members;
#[cfg(test)]
mod names;
#[cfg(test)]
mod one_line;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;

pub use chunk::{Chunk, Chunked, ChunkingMethod, MISSING_FACTS};
pub use chunking::{CHUNKER_VERSION, PARSED_BYTES_MAX, by_lines, chunk, chunk_while};
pub use defined::{ChunkDefinition, container, name_forms};
pub use dictionary::Dictionary;
pub use facts::Facts;
pub use folders::{TOOL_FOLDERS, VENDORED_FOLDERS};
pub use identifier::{
    Closeness, IdentifierAt, Mapped, QuestionName, bare, closeness, fold, identifier_at, near_spellings, nfc,
    spelled, spellings_of_name, split_name,
};
pub use language::Language;
pub use limits::ChunkLimits;
pub use registry::{all, by_name, detect, nearest};

// The languages with a grammar, one folder each.
mod bash;
mod c;
mod cpp;
mod csharp;
mod css;
mod elixir;
mod go;
mod haskell;
mod html;
mod java;
mod javascript;
mod json;
mod kotlin;
mod lua;
mod markdown;
mod php;
mod python;
mod ruby;
mod rust;
mod scala;
mod sql;
mod swift;
mod toml;
mod tsx;
mod typescript;
mod yaml;
mod zig;

/// The languages with a grammar.
static PARSED: &[&Language] = &[
    &bash::LANGUAGE,
    &c::LANGUAGE,
    &cpp::LANGUAGE,
    &csharp::LANGUAGE,
    &css::LANGUAGE,
    &elixir::LANGUAGE,
    &go::LANGUAGE,
    &haskell::LANGUAGE,
    &html::LANGUAGE,
    &java::LANGUAGE,
    &javascript::LANGUAGE,
    &json::LANGUAGE,
    &kotlin::LANGUAGE,
    &lua::LANGUAGE,
    &markdown::LANGUAGE,
    &php::LANGUAGE,
    &python::LANGUAGE,
    &ruby::LANGUAGE,
    &rust::LANGUAGE,
    &scala::LANGUAGE,
    &sql::LANGUAGE,
    &swift::LANGUAGE,
    &toml::LANGUAGE,
    &tsx::LANGUAGE,
    &typescript::LANGUAGE,
    &yaml::LANGUAGE,
    &zig::LANGUAGE,
];
