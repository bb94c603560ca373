//! Portable indexes: one SQLite file that search reads like a project's schema, on any machine. It is written completely from rows of
//! Postgres, and read as untrusted input, because anyone may have made it.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod fault;
mod schema;
mod several;

mod one_definition;
mod open;

pub(super) mod rows;
mod update;
mod writer;

mod copies;
mod definitions;
mod exact;
mod filter;
mod lexical;
mod names;
mod reader;
mod vectors;

pub use open::{ArtifactCommit, Limits, Meta, Summary, checksum_path, is_portable, no_such_file, summarize};
pub use reader::{LexicalBackend, Reader};
pub use rows::{RewrittenRows, VectorOut};
pub use schema::FORMAT;
pub use update::FileStamp;
pub use writer::{Compacted, RowCounts, Writer};
