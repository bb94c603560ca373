//! What is installed and whether it is whole, for people and for repair.

use schemars::JsonSchema;
use serde::Serialize;

use super::fetch;
use super::install::Installer;
use super::manifest::{Manifest, ONNXRUNTIME, POSTGRES};
use super::progress::Reporter;
use super::receipt::{self, Check};
use super::target::Target;
use super::{faults, own_copies};
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
    Sound,
    /// The operator's own copy is used.
    Own,
    /// Not installed.
    Absent,
    /// Installed by another version of this program.
    Outdated,
    /// Files are missing or altered.
    Damaged,
    /// There is none for this platform, or the configuration names none.
    Unavailable,
}

/// Looks at every byte of every asset; about 0.1 s. Changes nothing.
#[must_use]
pub fn survey(layout: &Layout, settings: &Assets) -> Vec<AssetReport> {
    // What is wrong with the operator's own models is told where a model is asked for.
    let Ok(manifest) = Manifest::load(settings).or_else(|_| Manifest::builtin()) else { return Vec::new() };
    let installer = Installer::looking(&manifest, layout, settings);
    let own_library = own_copies::library(settings.ort_dylib_path.as_deref()).map(|own| own.is_some());
    let own_model = own_copies::model(settings.model_dir.as_deref()).map(|own| own.is_some());
    let assets = [(POSTGRES, Ok(false)), (ONNXRUNTIME, own_library), (&settings.model, own_model)];
    assets.into_iter().map(|(id, own)| report(&installer, id, own)).collect()
}

/// Removes installed assets whose contents differ from what was installed, and names them.
///
/// The next `install` brings them again: this is the difference between `bootstrap` and a start,
/// which compares sizes only.
///
/// # Errors
/// `INTERNAL` if the disk refuses.
pub fn discard_damaged(layout: &Layout, settings: &Assets) -> Result<Vec<String>, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer::looking(&manifest, layout, settings);
    let mut discarded = Vec::new();
    for id in [POSTGRES, ONNXRUNTIME, &settings.model] {
        let Ok(target) = installer.target(id) else { continue };
        let damaged = || matches!(receipt::check(&target.dir, &target.origin, true), Check::Damaged(_));
        if damaged() && discard(&installer, &target)? {
            discarded.push(id.to_owned());
        }
    }
    Ok(discarded)
}

/// Removes the target if it still is damaged; whoever held the lock before may have mended it.
pub(super) fn discard(installer: &Installer<'_>, target: &Target<'_>) -> Result<bool, Fault> {
    let quiet = Reporter { asset: target.id, on_event: &|_| (), cancelled: installer.cancelled };
    let _lock = installer.lock(quiet)?;
    let damaged = matches!(receipt::check(&target.dir, &target.origin, true), Check::Damaged(_));
    if damaged {
        fetch::remove_folder(&target.dir).map_err(|e| faults::io("remove a damaged file", e))?;
    }
    Ok(damaged)
}

fn report(installer: &Installer<'_>, id: &str, own: Result<bool, Fault>) -> AssetReport {
    let target = match own {
        Err(fault) => Err(fault),
        Ok(own) => installer.target(id).map(|target| (target, own)),
    };
    let (target, own) = match target {
        Ok(found) => found,
        Err(fault) => return unavailable(id, fault),
    };
    let (state, bytes, damaged) = match receipt::check(&target.dir, &target.origin, true) {
        _ if own => (AssetState::Own, 0, Vec::new()),
        Check::Sound(receipt) => (AssetState::Sound, receipt.bytes(), Vec::new()),
        Check::Absent => (AssetState::Absent, 0, Vec::new()),
        Check::Outdated => (AssetState::Outdated, 0, Vec::new()),
        Check::Damaged(files) => (AssetState::Damaged, 0, files),
    };
    let remedy = match state {
        AssetState::Sound | AssetState::Own => None,
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
