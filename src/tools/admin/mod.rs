//! Tools that keep an installation: how large, how set up, and what may go.

pub(super) mod bootstrap;
pub(super) mod cache_gc;
pub(super) mod clean_artifacts;
pub(super) mod config_status;
pub(super) mod report_artifacts;

mod reclaim;
mod redact;
