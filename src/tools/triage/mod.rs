//! Tools for security findings: read what scanners report, decide, gather what is known.

pub(super) mod context_pack;
pub(super) mod decision;
pub(super) mod ingest;

mod pack_file;
mod report;
mod texts;
