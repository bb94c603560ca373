//! The control schema `pairofcleats`: tables that all projects of a database share.

pub mod api_keys;
pub mod audit;
mod claimed_jobs;
mod job;
pub mod jobs;
pub(crate) mod locks;
mod lost_jobs;
pub mod mcp_sessions;
pub mod modules;
pub mod projects;
mod queued_jobs;
pub mod source_repositories;
pub mod sources;
pub mod writers;
