//! What a file says: which language it is in, its chunks along the syntax, the terms of its text.
//!
//! One folder a language holds its entry and its tree-sitter queries as data; adding a language is
//! that folder and its word in the list below.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod language;
mod plain;
mod registry;

pub mod facts;
pub mod risk;

mod hazard;
mod innermost;
mod lines;
mod query;
mod stop;
mod syntax;
mod tree_query;
mod word;

mod merge;
mod name;
mod split;

mod chunk;
mod defined;

mod dictionary;
mod paths;
pub mod terms;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;

pub use chunk::{
    CHUNKER_VERSION, Chunk, ChunkLimits, Chunked, How, MISSING_FACTS, PARSED_BYTES_MAX, by_lines, chunk,
    chunk_while,
};
pub use defined::{Defined, container, name_forms};
pub use dictionary::Dictionary;
pub use facts::Facts;
pub use language::Language;
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
