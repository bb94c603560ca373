//! Tools that install models, dictionaries and extensions for all projects, and tools for portable index files.

pub(super) mod build_sqlite_index;
pub(super) mod compact_sqlite_index;
pub(super) mod download_dictionaries;
pub(super) mod download_extensions;
pub(super) mod download_models;
pub(super) mod project_file;
pub(super) mod verify_extensions;

mod arguments;
