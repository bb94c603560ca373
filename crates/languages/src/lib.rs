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
pub use language::Language;
pub use limits::ChunkLimits;
pub use registry::{all, by_name, detect, nearest};

/// The languages with a grammar, one folder each.
macro_rules! languages {
    ($($folder:ident)*) => {
        $(mod $folder;)*
        static PARSED: &[&Language] = &[$(&$folder::LANGUAGE),*];
    };
}

languages! {
    bash c cpp csharp css elixir go haskell html java javascript json kotlin lua markdown php python ruby rust
    scala sql swift toml tsx typescript yaml zig
}
