//! Repair: removes damaged assets and installs the missing ones.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::installer::{AssetSelection, install_assets};
use super::progress::AssetEvent;
use super::verify::remove_damaged;
use contract::Fault;
use contract::config::{Assets, Layout};

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairedAssets {
    /// Ids of assets that were damaged.
    pub damaged: Vec<String>,
    /// Ids of assets that were installed, including the damaged ones.
    pub installed: Vec<String>,
}

/// Compares the contents of installed assets, removes damaged ones, and installs missing ones of `selection`. Blocks.
///
/// # Errors
/// See [`install_assets`]; also `INTERNAL` if a damaged file cannot be removed.
pub fn repair_assets(
    layout: &Layout,
    settings: &Assets,
    selection: AssetSelection,
    from: Option<&Path>,
    cancelled: &(dyn Fn() -> bool + Sync),
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<RepairedAssets, Fault> {
    let damaged = remove_damaged(layout, settings)?;
    let installed = Mutex::new(Vec::new());
    install_assets(layout, settings, selection, from, cancelled, &|event| {
        if let AssetEvent::Done { asset, cached: false } = &event {
            installed.lock().unwrap_or_else(PoisonError::into_inner).push(asset.clone());
        }
        on_event(event);
    })?;
    Ok(RepairedAssets { damaged, installed: installed.into_inner().unwrap_or_else(PoisonError::into_inner) })
}
