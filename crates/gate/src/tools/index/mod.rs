//! Tools that build indexes and show their status.

pub(crate) mod build_index;
pub(crate) mod index_repository;
pub(crate) mod index_status;

pub(crate) mod index_run;
