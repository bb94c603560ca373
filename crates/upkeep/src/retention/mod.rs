//! What a project keeps and what is removed: cleaning artifacts, collecting garbage, deleting a project.
//!
//! [`CleanRequest`] and [`GarbageRequest`] share one [`plan`]: each can list what it would remove (a dry run) or remove it, and
//! answers with the same [`RemovalReport`].

mod plan;
mod project_files;

mod clean_artifacts;
mod collect_garbage;
mod delete_project;

pub use clean_artifacts::CleanRequest;
pub use collect_garbage::{GarbageRequest, RetentionLimits};
pub use delete_project::{DeletedProject, delete_project};
pub use plan::{ProjectUpkeep, Removal, RemovalFailure, RemovalReason, RemovalReport, RemovedKind};
pub use project_files::{ProjectFile, folder_bytes, list_project_files, remove_if_unchanged};
