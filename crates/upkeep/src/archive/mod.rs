//! Archives of projects: a zip file with a manifest and one entry per table, in Postgres' binary COPY format.
//!
//! [`export_project`] writes an archive from one snapshot; [`import_project`] creates a project from one in one
//! transaction.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod format;

mod export;
mod import;

pub use export::{ExportReport, export_project};
pub use import::{ImportReport, ImportSettings, import_project};
