//! Removal of data: cleaning artifacts, collecting garbage, deleting a project.
//!
//! [`CleanRequest`] and [`GarbageRequest`] each have a dry run and an execution; both return a [`RemovalReport`]
//! ([`plan`]).

mod plan;
mod project_files;

mod clean_artifacts;
mod collect_garbage;
mod delete_project;
mod launch_runs;

pub use clean_artifacts::CleanRequest;
pub use collect_garbage::{GarbageRequest, RetentionLimits};
pub use delete_project::{DeletedProject, delete_project};
pub use plan::{ProjectUpkeep, Removal, RemovalFailure, RemovalReason, RemovalReport, RemovedKind};
pub use project_files::{ProjectFile, folder_bytes, list_project_files, remove_if_unchanged};
