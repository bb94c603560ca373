//! Tools that set up, inspect and clean an installation.

pub mod audit_log;
pub(super) mod bootstrap;
pub(super) mod cache_gc;
pub(super) mod clean_artifacts;
pub(super) mod config_status;
pub mod keys;
pub(super) mod report_artifacts;

mod redact;
mod removal;
