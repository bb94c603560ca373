//! Security findings: reports of scanners become records, people record decisions about them, and search finds both.
//!
//! A report is processed in steps: [`Report::read`] refuses files of a different format from the one that the caller named, and files with
//! more than one report; [`split_items()`] splits the report into items, so that a broken item does not affect the others; a mapping for
//! each report format converts an item to a record; the record is stored in a table; the index job indexes one text per record under the
//! root [`RECORDS_ROOT`].

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod encoding;
mod split;

mod clean;
mod format;
mod json_path;
mod normalise;
mod record;
mod report;
mod scanners;
mod source;

mod record_source;
mod render;

mod identity;
mod ingest;
mod known_records;
mod matching;

mod decision;

mod evidence;
mod pack;

mod board;

pub use board::{
    Count, FindingDetail, FindingList, FindingSummary, PastDecision, STATUSES, finding_detail, list_findings,
};
pub use decision::{NewDecision, Verdict, decide};
pub use evidence::{Evidence, EvidenceHit, EvidenceOptions, EvidenceQuery, PackWarning};
pub use ingest::{IngestReport, IngestRequest, ItemError, Split, ingest};
pub use pack::{ContextPack, context_pack};
pub use record::{ParsedMeta, Record, StoredRecord, is_record_id, record_path};
pub use record_source::{RECORDS, RECORDS_ROOT, has_records, load_finding, provision_tables};
pub use report::Report;
pub use source::FindingSource;
pub use split::{ItemSpan, ReportShape, split_items};
