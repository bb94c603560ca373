//! Tools that set up, inspect and clean an installation.

pub(super) mod bootstrap;
pub(super) mod cache_gc;
pub(super) mod clean_artifacts;
pub(super) mod config_status;
pub(super) mod report_artifacts;

mod redact;
mod removal;
