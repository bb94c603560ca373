//! Tools that install models, dictionaries and extensions for all projects, and tools for portable index files.

pub(crate) mod build_sqlite_index;
pub(crate) mod compact_sqlite_index;
pub(crate) mod download_dictionaries;
pub(crate) mod download_extensions;
pub(crate) mod download_models;
pub(crate) mod project_file;
pub(crate) mod verify_extensions;

mod arguments;
