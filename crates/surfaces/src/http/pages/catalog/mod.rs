//! The pages of the instruction catalog: its entries, what changed, how they are used, gates, checks, and reviews of texts.
//!
//! Everything comes from the tools of the catalog, so that these pages show what agents and the command line are told.

pub(super) mod changes;
pub(super) mod checks;
pub(super) mod entries;
pub(super) mod entry;
pub(super) mod gates;
pub(super) mod remove;
pub(super) mod review;
pub(super) mod usage;

mod answers;
mod frame;
