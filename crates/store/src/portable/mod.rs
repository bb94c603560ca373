//! One SQLite file that answers as a project's schema does, on any machine: written whole from rows of Postgres, read as what
//! it is: a file that anybody may have made.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod fault;
mod schema;

mod one_definition;
mod open;

pub(super) mod rows;
mod update;
mod writer;

mod definitions;
mod filter;
mod names;
mod reader;
mod vectors;
mod words;

pub use open::{Limits, Meta, is_portable};
pub use reader::{Reader, WordsBy};
pub use rows::{Small, VectorOut};
pub use schema::FORMAT;
pub use update::Stamp;
pub use writer::{Held, Shrunk, Writer};
