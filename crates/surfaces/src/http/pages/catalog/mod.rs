//! The pages of the instruction catalog: its entries, their changes and usage, gates, checks, and reviews of texts.
//!
//! Everything comes from the tools of the catalog, so these pages show the same as agents and the command line receive.

pub(super) mod changes;
pub(super) mod checks;
pub(super) mod entries;
pub(super) mod entry;
pub(super) mod gates;
pub(super) mod remove;
pub(super) mod review;
pub(super) mod usage;

mod answers;
mod entry_address;
mod frame;
