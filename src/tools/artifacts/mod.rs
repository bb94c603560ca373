//! Tools that make and keep files beside the database.

pub(super) mod build_sqlite_index;
pub(super) mod compact_sqlite_index;
pub(super) mod place;
