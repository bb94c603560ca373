//! Tools that build indexes and say how far they are.

pub(super) mod build_index;
pub(super) mod index_repository;
pub(super) mod index_status;

pub(super) mod job;
