//! Tools for files beside the database: what is brought from outside, and what is written to be taken elsewhere.

pub(super) mod build_sqlite_index;
pub(super) mod compact_sqlite_index;
pub(super) mod place;

pub(super) mod download_dictionaries;
pub(super) mod download_extensions;
pub(super) mod verify_extensions;

mod given;
