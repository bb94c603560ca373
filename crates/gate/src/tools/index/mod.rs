//! Tools that build indexes and show their status.

pub(super) mod build_index;
pub(super) mod index_repository;
pub(super) mod index_status;

pub(super) mod index_run;
