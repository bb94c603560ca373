//! Word lists that split names without marks: brought, checked, recorded, and read into one [`Dictionary`].
//!
//! A list is `<name>.txt` in one folder, with `dictionaries.json` beside it as the record of where each came from.
//! What is not recorded, or is not what was recorded, is not used.
//!
//! [`Dictionary`]: languages::Dictionary

mod bring;
mod catalog;
mod list;
mod load;

pub use bring::{Brought, Outcome, Skipped, Workshop, bring};
pub(super) use bring::{blocking, disk, lock};
pub use catalog::{CATALOG, Catalog, Entry};
pub use load::load;
pub(super) use load::sha256;

use std::path::PathBuf;

use contract::config::{Dictionaries, Layout};

/// Where the lists of an installation are.
#[must_use]
pub fn folder(layout: &Layout, settings: &Dictionaries) -> PathBuf {
    settings.dir.clone().unwrap_or_else(|| layout.dictionaries())
}
