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

pub use documents::checked_documents;
pub use folder::{FolderContent, read_folder};
pub use read::{Catalog, Document};
pub use record_source::{RECORDS, RECORDS_ROOT, entry_id_of_path};
pub use usage::{UsageCounter, UsesWritten};
pub use write::prune_refused;
pub use write::{CatalogChange, Import, ImportReport, RemoveReport, Writer};
