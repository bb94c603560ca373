//! Tools for what is brought from outside and shared by all projects, and for portable index files.

pub(super) mod build_sqlite_index;
pub(super) mod compact_sqlite_index;
pub(super) mod download_dictionaries;
pub(super) mod download_extensions;
pub(super) mod download_models;
pub(super) mod place;
pub(super) mod verify_extensions;

mod given;
