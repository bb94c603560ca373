//! The control schema `pairofcleats`: what is kept once a database.

pub mod api_keys;
pub mod audit;
pub mod jobs;
mod lost_jobs;
pub mod mcp_sessions;
pub mod modules;
pub mod projects;
mod queued_jobs;
