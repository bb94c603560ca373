//! A project as one file: a zip with a manifest and one entry for each table, in Postgres' binary COPY format.
//!
//! [`export_project`] writes it from one snapshot; [`import_project`] creates a project from it in one transaction.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod format;

mod export;
mod import;

pub use export::{ExportReport, export_project};
pub use import::{ImportReport, ImportSettings, import_project};
