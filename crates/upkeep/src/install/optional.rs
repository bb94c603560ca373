//! Optional assets, which are installed only when a tool needs them.

use std::path::{Path, PathBuf};

use super::faults;
use super::installer::Installer;
use super::manifest::{Manifest, SQLITE_VEC, WORDS_EN, platform};
use super::progress::{AssetEvent, AssetReporter};
use super::receipt::{self, ReceiptCheck};
use super::wheels;
use contract::Fault;
use contract::config::{Assets, Layout};

/// An optional asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionalAsset {
    /// English words with their frequencies.
    WordsEn,
    /// The SQLite extension for vectors.
    SqliteVec,
}

/// An optional asset that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstalledOptional {
    /// The word list or library.
    pub(super) file: PathBuf,
    /// The package with its version, for example `wordsegment==1.3.1`.
    pub(super) package: String,
    /// sha256 of the wheel, hexadecimal.
    pub(super) sha256: String,
    /// `true` if it was already installed.
    pub(super) cached: bool,
}

impl OptionalAsset {
    fn id(self) -> &'static str {
        match self {
            Self::WordsEn => WORDS_EN,
            Self::SqliteVec => SQLITE_VEC,
        }
    }
}

/// Installs an optional asset for `target_platform` (`None`: this machine). `force` first removes the installed files
/// and the download. Blocks until the asset is installed or `cancelled` returns true.
///
/// # Errors
/// See [`super::install_assets`].
pub(super) fn install_optional(
    (layout, settings): (&Layout, &Assets),
    asset: OptionalAsset,
    target_platform: Option<&str>,
    from: Option<&Path>,
    force: bool,
    cancelled: &(dyn Fn() -> bool + Sync),
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<InstalledOptional, Fault> {
    let (id, this_platform) = (asset.id(), platform());
    let manifest = Manifest::builtin()?;
    let named = target_platform.unwrap_or(&this_platform);
    let platform = named.to_owned();
    let asset = manifest.find(id).ok_or_else(|| Fault::internal("The manifest lacks an asset.", id))?;
    let wheel = asset.wheel(named)?;
    let read_only = Installer::read_only(&manifest, layout, settings);
    let installer = Installer { platform, from, may_install: true, cancelled, on_event, ..read_only };
    let mut target = installer.target(id)?;
    if wheel.platform != "any" && named != this_platform {
        // The assets of several platforms are installed side by side.
        target.dir = layout.runtime().join(format!("{}-{}-{named}", id, asset.version));
    }
    // Verified even if the asset is installed already, so that a wrong folder is reported.
    if let Some(folder) = from {
        target.verify_in_folder(folder, installer.reporter(&target))?;
    }
    if force {
        let _lock = installer.lock(AssetReporter { asset: id, on_event, cancelled: installer.cancelled })?;
        wheels::remove_folder(&target.dir).map_err(|e| faults::io("remove an installed file", e))?;
        if from.is_none() {
            // Fails if it was never downloaded. A file that cannot be removed is verified like any kept download.
            let _ = std::fs::remove_file(layout.downloads().join(&wheel.file));
        }
    }
    let cached =
        matches!(receipt::check_receipt(&target.dir, &target.origin, false), ReceiptCheck::Intact(_));
    installer.ensure(&target)?;
    let inside = wheel.library.as_deref().or(asset.required.first().map(String::as_str));
    Ok(InstalledOptional {
        file: target.dir.join(inside.unwrap_or_default()),
        package: format!("{}=={}", asset.package, asset.version),
        sha256: wheel.sha256.clone(),
        cached,
    })
}
