//! Security findings: what scanners report becomes records, people decide about them, and search finds both.
//!
//! In one direction: [`split()`] (a file to items, each of which can be broken by itself), a mapping for each source
//! (an item to a record), the table, and one text a record in the pseudo repository [`ROOT`], which the index job keeps up to date.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod split;

mod clean;
mod look;
mod normalise;
mod record;
mod source;

mod render;
mod shelf;

mod ingest;

mod decision;

mod evidence;
mod pack;

pub use decision::{NewDecision, Verdict, decide};
pub use evidence::{Asked, Evidence, EvidenceHit, EvidenceOptions, PackWarning};
pub use ingest::{Ingested, Ingestion, ItemError, ingest};
pub use pack::{ContextPack, context_pack};
pub use record::{ParsedMeta, Record, StoredRecord, is_record_id, record_path};
pub use shelf::{ROOT, Shelf, finding, has_records, prepare, text_of};
pub use source::Source;
pub use split::{Item, Shape, split};
