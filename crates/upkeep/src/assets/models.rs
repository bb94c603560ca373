//! Models side by side: which there are, which are installed, and bringing one.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::install::{EmbeddingAssets, Installer};
use super::manifest::Manifest;
use super::own_copies;
use super::progress::AssetEvent;
use super::receipt::{self, Check};
use super::survey::discard;
use super::target::{Facts, Target};
use contract::Fault;
use contract::config::{Assets, Layout};
use embedding::{ModelName, Precision};

/// One model in one variant, as it is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelReport {
    /// Id in its manifest.
    pub id: String,
    /// int8 or fp32.
    pub variant: String,
    /// What it is, for people.
    pub title: String,
    /// Its licence.
    pub licence: String,
    /// Length of a vector.
    pub dimensions: usize,
    /// Longer texts are cut.
    pub tokens_max: usize,
    /// Size on disk in bytes; of one that is not installed, the size of its graph.
    pub bytes: u64,
    /// How it is found, or what was done.
    pub state: ModelState,
    /// Files of the given folder that were found to be those of the manifest, also when the model was there already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<String>,
}

/// How a model is found, or what was done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModelState {
    /// It was there, whole.
    Present,
    /// It is not installed.
    Absent,
    /// Files are missing or altered, or another version of this program installed it.
    Damaged,
    /// It was installed just now.
    Installed,
    /// It was brought again, because it was damaged or outdated.
    Repaired,
}

impl ModelState {
    /// As it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Damaged => "damaged",
            Self::Installed => "installed",
            Self::Repaired => "repaired",
        }
    }
}

/// How models are installed.
#[derive(Clone, Copy)]
pub struct Installing<'a> {
    /// A folder with the files of the manifest; nothing is then fetched from elsewhere. They are compared with the manifest, also
    /// when the model is installed.
    pub from: Option<&'a Path>,
    /// Where to, if not below the home folder.
    pub into: Option<&'a Path>,
    /// Says when to stop.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Hears what is being done.
    pub on_event: &'a (dyn Fn(AssetEvent) + Sync),
}

/// All models of the manifests in all variants; with `contents` every byte of the installed ones is looked at.
///
/// # Errors
/// `CAPABILITY_MISSING` when the operator's own manifest cannot be used.
pub fn models(layout: &Layout, settings: &Assets, contents: bool) -> Result<Vec<ModelReport>, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer::looking(&manifest, layout, settings);
    let mut found = Vec::new();
    for id in manifest.model_ids() {
        for precision in [Precision::Int8, Precision::Fp32] {
            let name = ModelName { id: id.to_owned(), precision: Some(precision) };
            // Not every model has both.
            let Ok(target) = installer.model_target(&name) else { continue };
            found.extend(report(&target, contents));
        }
    }
    Ok(found)
}

/// The files of an installed model, and the library that runs it. Takes milliseconds.
///
/// # Errors
/// `CAPABILITY_MISSING` with the command that installs what is missing.
pub fn installed_model(
    layout: &Layout,
    settings: &Assets,
    name: &ModelName,
) -> Result<EmbeddingAssets, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer::looking(&manifest, layout, settings);
    let model = installer.model(name)?;
    Ok(EmbeddingAssets { ort_dylib: installer.library()?, model })
}

/// Installs a model, and the library that runs it, unless they are there, whole to the last byte. Blocks, on a thread
/// of the program's runtime; a second call goes on where a killed one stopped.
///
/// # Errors
/// As [`super::install()`]; `CANCELLED`.
pub fn install_model(
    layout: &Layout,
    settings: &Assets,
    name: &ModelName,
    how: Installing<'_>,
) -> Result<ModelReport, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer {
        from: how.from,
        models: how.into,
        may_fetch: true,
        cancelled: how.cancelled,
        on_event: how.on_event,
        ..Installer::looking(&manifest, layout, settings)
    };
    let target = installer.model_target(name)?;
    let compared = match how.from {
        Some(folder) => target.compare_given(folder, installer.reporter(&target))?,
        None => Vec::new(),
    };
    let before = receipt::check(&target.dir, &target.origin, true);
    if matches!(before, Check::Damaged(_)) {
        discard(&installer, &target)?;
    }
    installer.ensure(&target)?;
    // A folder that is made for elsewhere needs no library here.
    if how.into.is_none() {
        installer.library()?;
    }
    let state = match before {
        Check::Sound(_) => ModelState::Present,
        Check::Absent => ModelState::Installed,
        Check::Damaged(_) | Check::Outdated => ModelState::Repaired,
    };
    let found =
        report(&target, false).ok_or_else(|| Fault::internal("A model has no facts.", name.id.clone()))?;
    Ok(ModelReport { state, compared, ..found })
}

/// The model that is used when nobody names one: id and variant; the operator's own folder has no variant to choose.
///
/// # Errors
/// `CAPABILITY_MISSING` when the configuration names a model that there is not.
pub fn configured_model(layout: &Layout, settings: &Assets) -> Result<(String, String), Fault> {
    if let Some(own) = own_copies::model(settings.model_dir.as_deref())? {
        return Ok((own.id, own.variant));
    }
    let manifest = Manifest::load(settings)?;
    let name = ModelName { id: settings.model.clone(), precision: None };
    let target = Installer::looking(&manifest, layout, settings).model_target(&name)?;
    let variant = target.precision().map(Precision::as_str).unwrap_or_default();
    Ok((name.id, variant.to_owned()))
}

fn report(target: &Target<'_>, contents: bool) -> Option<ModelReport> {
    let Facts { licence, dimensions, tokens_max, graph_bytes, .. } = target.facts()?;
    let (state, bytes) = match receipt::check(&target.dir, &target.origin, contents) {
        Check::Sound(receipt) => (ModelState::Present, receipt.bytes()),
        Check::Absent => (ModelState::Absent, graph_bytes),
        Check::Outdated | Check::Damaged(_) => (ModelState::Damaged, graph_bytes),
    };
    Some(ModelReport {
        id: target.id.to_owned(),
        variant: target.precision()?.as_str().to_owned(),
        title: target.title.to_owned(),
        licence: licence.to_owned(),
        dimensions,
        tokens_max,
        bytes,
        state,
        compared: Vec::new(),
    })
}
