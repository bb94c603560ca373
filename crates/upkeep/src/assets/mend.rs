//! Everything a machine needs, whole: what is damaged goes, what is missing comes.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::install::{Wanted, install};
use super::progress::AssetEvent;
use super::survey::discard_damaged;
use contract::Fault;
use contract::config::{Assets, Layout};

/// What was put right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mended {
    /// Assets that were damaged.
    pub damaged: Vec<String>,
    /// Assets that were brought, those among them.
    pub brought: Vec<String>,
}

/// Looks at every byte of what is installed, takes away what differs, and installs what is wanted. Blocks.
///
/// # Errors
/// As [`install`] and [`discard_damaged`].
pub fn mend(
    layout: &Layout,
    settings: &Assets,
    wanted: Wanted,
    from: Option<&Path>,
    cancelled: &(dyn Fn() -> bool + Sync),
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<Mended, Fault> {
    let damaged = discard_damaged(layout, settings)?;
    let brought = Mutex::new(Vec::new());
    install(layout, settings, wanted, from, cancelled, &|event| {
        if let AssetEvent::Done { asset, cached: false } = &event {
            brought.lock().unwrap_or_else(PoisonError::into_inner).push(asset.clone());
        }
        on_event(event);
    })?;
    Ok(Mended { damaged, brought: brought.into_inner().unwrap_or_else(PoisonError::into_inner) })
}
