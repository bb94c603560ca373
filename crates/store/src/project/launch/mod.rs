//! The tables of launch runs, which are created on the first use of the subsystem in a project.
//!
//! Rows are written by [`write()`] alone: events, and the rows that follow from them, in one transaction. [`removal`] removes all rows of a
//! run. The checks of published pages are not part of a run's log: [`watches`] writes them.

pub mod artifacts;
pub mod events;
pub mod issues;
pub mod items;
pub mod removal;
pub mod runs;
pub mod watches;
mod write;

pub use artifacts::{ArtifactContent, ArtifactRow, ArtifactWrite};
pub use events::EventRow;
pub use issues::IssueRow;
pub use items::ItemRow;
pub use runs::{RunFilter, RunRow};
pub use watches::WatchRow;
pub use write::{RunWrite, write};

use crate::postgres::Row;
use contract::Fault;

/// A column of 32 bytes.
fn hash(row: &Row, column: &str) -> Result<[u8; 32], Fault> {
    let bytes: Vec<u8> = row.try_get(column)?;
    bytes.try_into().map_err(|bytes: Vec<u8>| {
        Fault::internal(
            "A hash of a launch run is malformed.",
            format!("{column} has {} bytes instead of 32", bytes.len()),
        )
    })
}
