//! Tools for security findings: read what scanners report, decide, gather what is known.

pub(super) mod ingest;

mod report;
mod texts;
