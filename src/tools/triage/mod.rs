//! Tools for security findings: ingest scanner reports, record decisions, collect context.

pub(super) mod context_pack;
pub(super) mod decision;
pub(super) mod ingest;

mod pack_file;
mod refresh;
mod scanner_report;
