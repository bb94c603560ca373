//! Tools that set up, inspect and clean an installation.

pub mod audit_log;
pub(crate) mod bootstrap;
pub(crate) mod cache_gc;
pub(crate) mod clean_artifacts;
pub(crate) mod config_status;
pub mod keys;
pub(crate) mod report_artifacts;

mod redact;
mod removal;
