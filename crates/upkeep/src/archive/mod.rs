//! A project as one file: a zip with a manifest and an entry a table, in Postgres' binary form.
//!
//! [`export()`] writes it, as one moment saw the project; [`import()`] makes a new project of it, or nothing.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod export;
mod format;
mod import;

pub use export::{Exported, export};
pub use import::{Imported, Settings, import};
