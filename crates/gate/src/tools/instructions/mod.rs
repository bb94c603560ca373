//! Tools of the instruction catalog. Each is also a JSON-RPC method with slashes.

pub(super) mod checksums;
pub(super) mod diff;
pub(super) mod diff_stream;
pub(super) mod export;
pub(super) mod flush;
pub(super) mod gates;
pub(super) mod get;
pub(super) mod hotset;
pub(super) mod import;
pub(super) mod list;
pub(super) mod meta_tools;
pub(super) mod metrics;
pub(super) mod reload;
pub(super) mod remove;
pub(super) mod repair;
pub(super) mod review;
pub(super) mod search;
pub(super) mod track;
pub(super) mod track_batch;
pub(super) mod verify;

mod duplicates;
mod listing;
mod open;
mod project_input;
mod refresh;
mod spec;
mod stale;
mod table;
