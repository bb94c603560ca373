//! Verification: compares installed assets with their receipts.

use schemars::JsonSchema;
use serde::Serialize;

use super::installer::Installer;
use super::manifest::{Manifest, ONNXRUNTIME, POSTGRES};
use super::progress::AssetReporter;
use super::receipt::{self, ReceiptCheck};
use super::target::Target;
use super::wheels;
use super::{custom_paths, faults};
use contract::Fault;
use contract::config::{Assets, Layout};

/// One asset as it is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssetReport {
    /// Id of the asset.
    pub asset: String,
    /// What it is, for people.
    pub title: String,
    /// How it is found.
    pub state: AssetState,
    /// Size on disk in bytes, 0 if absent or the operator's own.
    pub bytes: u64,
    /// Files that are missing or altered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<String>,
    /// What to do, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How an asset is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AssetState {
    /// Installed, every byte as installed.
    #[serde(rename = "sound")]
    Intact,
    /// The operator's own copy is used.
    #[serde(rename = "own")]
    Custom,
    /// Not installed.
    Absent,
    /// Installed by another version of this program.
    Outdated,
    /// Files are missing or altered.
    Damaged,
    /// There is none for this platform, or the configuration names none.
    Unavailable,
}

/// Compares the contents of every asset with its receipt; takes about 0.1 s and changes nothing.
#[must_use]
pub fn verify_assets(layout: &Layout, settings: &Assets) -> Vec<AssetReport> {
    // An invalid manifest of custom models is reported when a model is loaded.
    let Ok(manifest) = Manifest::load(settings).or_else(|_| Manifest::builtin()) else { return Vec::new() };
    let installer = Installer::read_only(&manifest, layout, settings);
    let custom_library =
        custom_paths::configured_library(settings.ort_dylib_path.as_deref()).map(|path| path.is_some());
    let custom_model =
        custom_paths::configured_model_folder(settings.model_dir.as_deref()).map(|files| files.is_some());
    let assets = [(POSTGRES, Ok(false)), (ONNXRUNTIME, custom_library), (&settings.model, custom_model)];
    assets.into_iter().map(|(id, is_custom)| report_asset(&installer, id, is_custom)).collect()
}

/// Removes assets with missing or altered files, so that the next [`super::install_assets`] installs them again;
/// returns their ids.
///
/// # Errors
/// `INTERNAL` if a file cannot be removed.
pub(super) fn remove_damaged(layout: &Layout, settings: &Assets) -> Result<Vec<String>, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer::read_only(&manifest, layout, settings);
    let mut removed = Vec::new();
    for id in [POSTGRES, ONNXRUNTIME, &settings.model] {
        let Ok(target) = installer.target(id) else { continue };
        let damaged =
            || matches!(receipt::check_receipt(&target.dir, &target.origin, true), ReceiptCheck::Damaged(_));
        if damaged() && remove_if_damaged(&installer, &target)? {
            removed.push(id.to_owned());
        }
    }
    Ok(removed)
}

/// Removes the target if it is still damaged after the lock was acquired; another process may have repaired it
/// meanwhile.
pub(super) fn remove_if_damaged(installer: &Installer<'_>, target: &Target<'_>) -> Result<bool, Fault> {
    let quiet = AssetReporter { asset: target.id, on_event: &|_| (), cancelled: installer.cancelled };
    let _lock = installer.lock(quiet)?;
    let damaged =
        matches!(receipt::check_receipt(&target.dir, &target.origin, true), ReceiptCheck::Damaged(_));
    if damaged {
        wheels::remove_folder(&target.dir).map_err(|e| faults::io("remove a damaged file", e))?;
    }
    Ok(damaged)
}

fn report_asset(installer: &Installer<'_>, id: &str, is_custom: Result<bool, Fault>) -> AssetReport {
    let target = match is_custom {
        Err(fault) => Err(fault),
        Ok(is_custom) => installer.target(id).map(|target| (target, is_custom)),
    };
    let (target, is_custom) = match target {
        Ok(found) => found,
        Err(fault) => return unavailable(id, fault),
    };
    let (state, bytes, damaged) = match receipt::check_receipt(&target.dir, &target.origin, true) {
        _ if is_custom => (AssetState::Custom, 0, Vec::new()),
        ReceiptCheck::Intact(receipt) => (AssetState::Intact, receipt.bytes(), Vec::new()),
        ReceiptCheck::Absent => (AssetState::Absent, 0, Vec::new()),
        ReceiptCheck::Outdated => (AssetState::Outdated, 0, Vec::new()),
        ReceiptCheck::Damaged(files) => (AssetState::Damaged, 0, files),
    };
    let remedy = match state {
        AssetState::Intact | AssetState::Custom => None,
        _ => Some(
            "Run `pairofcleats doctor --repair`, or `pairofcleats bootstrap --from DIR` without a network."
                .into(),
        ),
    };
    AssetReport { asset: id.to_owned(), title: target.title.to_owned(), state, bytes, damaged, remedy }
}

fn unavailable(id: &str, fault: Fault) -> AssetReport {
    AssetReport {
        asset: id.to_owned(),
        title: fault.message,
        state: AssetState::Unavailable,
        bytes: 0,
        damaged: Vec::new(),
        remedy: fault.hint,
    }
}
