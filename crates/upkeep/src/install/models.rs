//! Lists the models and installs one.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::custom_paths;
use super::installer::{EmbeddingAssets, Installer};
use super::manifest::Manifest;
use super::progress::AssetEvent;
use super::receipt::{self, ReceiptCheck};
use super::target::{ModelFacts, Target};
use super::verify::remove_if_damaged;
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
    /// It was downloaded again, because it was damaged or outdated.
    Repaired,
}

impl ModelState {
    /// Returns the name that users see.
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

/// Source, destination and callbacks of the installation of a model.
#[derive(Clone, Copy)]
pub struct ModelInstallOptions<'a> {
    /// A folder with the files of the manifest; nothing is then downloaded. The files are compared with the manifest
    /// even if the model is installed already.
    pub from: Option<&'a Path>,
    /// The folder to install into; by default the models folder of the home folder.
    pub into: Option<&'a Path>,
    /// Returns true to cancel the installation.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Called with each step and its progress.
    pub on_event: &'a (dyn Fn(AssetEvent) + Sync),
}

/// Lists all models of the manifests in all variants. `compare_contents` compares the contents of installed files, not
/// only sizes.
///
/// # Errors
/// `CAPABILITY_MISSING` if the manifest of custom models is invalid.
pub fn list_models(
    layout: &Layout,
    settings: &Assets,
    compare_contents: bool,
) -> Result<Vec<ModelReport>, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer::read_only(&manifest, layout, settings);
    let mut reports = Vec::new();
    for id in manifest.model_ids() {
        for precision in [Precision::Int8, Precision::Fp32] {
            let name = ModelName { id: id.to_owned(), precision: Some(precision) };
            // Not every model has both variants.
            let Ok(target) = installer.model_target(&name) else { continue };
            reports.extend(report_model(&target, compare_contents));
        }
    }
    Ok(reports)
}

/// Returns the files of an installed model and the library that runs it. Takes milliseconds.
///
/// # Errors
/// `CAPABILITY_MISSING` if one is missing or damaged, with the command that installs it.
pub fn installed_model(
    layout: &Layout,
    settings: &Assets,
    name: &ModelName,
) -> Result<EmbeddingAssets, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer::read_only(&manifest, layout, settings);
    let model = installer.model(name)?;
    Ok(EmbeddingAssets { ort_dylib: installer.library()?, model })
}

/// Installs a model and the library that runs it, unless both are installed and intact. Blocks; must be called on a
/// thread of the tokio runtime. A second call resumes the downloads of an interrupted one.
///
/// # Errors
/// See [`super::install_assets`]; also `CANCELLED`.
pub fn install_model(
    layout: &Layout,
    settings: &Assets,
    name: &ModelName,
    options: ModelInstallOptions<'_>,
) -> Result<ModelReport, Fault> {
    let manifest = Manifest::load(settings)?;
    let installer = Installer {
        from: options.from,
        models: options.into,
        may_install: true,
        cancelled: options.cancelled,
        on_event: options.on_event,
        ..Installer::read_only(&manifest, layout, settings)
    };
    let target = installer.model_target(name)?;
    let compared = match options.from {
        Some(folder) => target.verify_in_folder(folder, installer.reporter(&target))?,
        None => Vec::new(),
    };
    let before = receipt::check_receipt(&target.dir, &target.origin, true);
    if matches!(before, ReceiptCheck::Damaged(_)) {
        remove_if_damaged(&installer, &target)?;
    }
    installer.ensure(&target)?;
    // A model in another folder is meant for another machine, so it needs no library here.
    if options.into.is_none() {
        installer.library()?;
    }
    let state = match before {
        ReceiptCheck::Intact(_) => ModelState::Present,
        ReceiptCheck::Absent => ModelState::Installed,
        ReceiptCheck::Damaged(_) | ReceiptCheck::Outdated => ModelState::Repaired,
    };
    let report = report_model(&target, false)
        .ok_or_else(|| Fault::internal("A model has no facts.", name.id.clone()))?;
    Ok(ModelReport { state, compared, ..report })
}

/// Returns id and variant of the configured model, which projects use by default.
///
/// # Errors
/// `CAPABILITY_MISSING` if the configuration names an unknown model.
pub fn configured_model(layout: &Layout, settings: &Assets) -> Result<(String, String), Fault> {
    if let Some(custom) = custom_paths::configured_model_folder(settings.model_dir.as_deref())? {
        return Ok((custom.id, custom.variant));
    }
    let manifest = Manifest::load(settings)?;
    let name = ModelName { id: settings.model.clone(), precision: None };
    let target = Installer::read_only(&manifest, layout, settings).model_target(&name)?;
    let variant = target.precision().map(Precision::as_str).unwrap_or_default();
    Ok((name.id, variant.to_owned()))
}

fn report_model(target: &Target<'_>, compare_contents: bool) -> Option<ModelReport> {
    let ModelFacts { licence, dimensions, tokens_max, graph_bytes, .. } = target.model_facts()?;
    let (state, bytes) = match receipt::check_receipt(&target.dir, &target.origin, compare_contents) {
        ReceiptCheck::Intact(receipt) => (ModelState::Present, receipt.bytes()),
        ReceiptCheck::Absent => (ModelState::Absent, graph_bytes),
        ReceiptCheck::Outdated | ReceiptCheck::Damaged(_) => (ModelState::Damaged, graph_bytes),
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
