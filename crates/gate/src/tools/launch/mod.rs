//! Tools of launch runs: they start runs, have jobs advance them, and show them. [`launch::legality`] decides which tools are legal in
//! which state; [`crate::app::launch`] does the work.

pub(super) mod artifact_bytes;
pub(super) mod cancel;
pub(super) mod event_stream;
pub(super) mod fix_next;
pub(super) mod get_artifact;
pub(super) mod get_status;
pub(super) mod list_runs;
pub(super) mod open_pr;
pub(super) mod recent_events;
mod report;
pub(super) mod resume;
mod run_call;
mod run_status;
mod spec;
pub(super) mod start_from_github;
pub(super) mod start_from_product;
pub(super) mod start_run;
mod starting;
pub(super) mod validate;
