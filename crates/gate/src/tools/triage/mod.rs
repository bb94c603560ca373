//! Tools for security findings: ingest scanner reports, record decisions, collect context; and the operations
//! behind the pages of findings.

pub(crate) mod context_pack;
pub(crate) mod decision;
pub(crate) mod findings;
pub(crate) mod ingest;

mod pack_file;
mod refresh;
mod scanner_report;

use crate::tools::Toolset;

/// The toolset of findings and decisions.
pub(crate) const TOOLSET: Toolset = Toolset::listed("triage");
