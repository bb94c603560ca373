//! The tables of the instruction catalog, which are created on its first use in a project.

pub mod changes;
pub mod documents;
pub mod entries;
pub mod state;
pub mod usage;

pub use changes::{Change, Since};
pub use documents::DocumentRow;
pub use entries::{EntryHashes, EntryRow, EntrySummaryRow, EntryWrite};
pub use state::CatalogState;
pub use usage::{UsageDelta, UsageRow};
