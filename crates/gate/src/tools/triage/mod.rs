//! Tools for security findings: ingest scanner reports, record decisions, collect context; and the operations
//! behind the pages of findings.

pub(super) mod context_pack;
pub(super) mod decision;
pub(super) mod findings;
pub(super) mod ingest;

mod pack_file;
mod refresh;
mod scanner_report;
