//! Tools for security findings: ingest scanner reports, record decisions, collect context; and the operations
//! behind the pages of findings.

mod context_pack;
mod decision;
mod findings;
mod ingest;

mod pack_file;
mod refresh;
mod scanner_report;

use crate::findings::RECORDS;
use gate::module::{Module, Records};
use gate::tools::{ToolSpec, Toolset};

/// The toolset of findings and decisions.
const TOOLSET: Toolset = Toolset::listed("triage");

/// Findings, filtered and counted; answers [`FindingList`](crate::findings::FindingList).
pub(crate) const LIST_FINDINGS: &ToolSpec = &findings::LIST;
/// One finding with its decisions; answers [`FindingDetail`](crate::findings::FindingDetail).
pub(crate) const READ_FINDING: &ToolSpec = &findings::READ;

/// The part of the module in the gate.
pub(crate) static MODULE: Module = Module {
    name: "triage",
    toolsets: &[TOOLSET],
    tools: &[&ingest::TOOL, &decision::TOOL, &context_pack::TOOL],
    operations: &[LIST_FINDINGS, READ_FINDING],
    records: &[Records { source: &RECORDS, is_hidden: |_, _| false }],
    ..Module::EMPTY
};
