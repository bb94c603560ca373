//! The instruction catalog in the database: reads of one snapshot, writes in one transaction, and the count of uses.
//!
//! The crate `instructions` defines entries and changes; this module loads and stores them.

mod documents;
mod folder;
mod read;
mod record_source;
mod rows;
mod usage;
mod write;

pub(crate) use documents::checked_documents;
pub(crate) use folder::{FolderContent, read_folder};
pub(crate) use read::{Catalog, Document};
pub(crate) use record_source::{RECORDS, RECORDS_ROOT, entry_id_of_path};
pub(crate) use usage::{UsageCounter, UsesWritten};
pub(crate) use write::{Import, ImportReport, RemoveReport, Writer, prune_refused};
