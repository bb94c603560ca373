//! One asset that nothing needs to run: brought when somebody asks for it.

use std::path::{Path, PathBuf};

use super::faults;
use super::fetch;
use super::install::Installer;
use super::manifest::{Manifest, SQLITE_VEC, WORDS_EN, platform};
use super::progress::{AssetEvent, Reporter};
use super::receipt::{self, Check};
use contract::Fault;
use contract::config::{Assets, Layout};

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Single {
    /// English words with how often they are written.
    WordsEn,
    /// The SQLite extension for vectors.
    SqliteVec,
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledAsset {
    /// The file that it is about.
    pub file: PathBuf,
    /// What it came from, for people: `wordsegment==1.3.1`.
    pub package: String,
    /// sha256 of the wheel, which was checked.
    pub sha256: String,
    /// Whether it was there already.
    pub cached: bool,
}

impl Single {
    fn id(self) -> &'static str {
        match self {
            Self::WordsEn => WORDS_EN,
            Self::SqliteVec => SQLITE_VEC,
        }
    }
}

/// Brings one asset for `target_platform` (none: this machine). With `anew`, what is installed and downloaded is thrown
/// away first. Blocks, until `cancelled` says to stop.
///
/// # Errors
/// As [`super::install()`].
pub fn install_single(
    (layout, settings): (&Layout, &Assets),
    single: Single,
    target_platform: Option<&str>,
    from: Option<&Path>,
    anew: bool,
    cancelled: &(dyn Fn() -> bool + Sync),
    on_event: &(dyn Fn(AssetEvent) + Sync),
) -> Result<InstalledAsset, Fault> {
    let own = platform();
    let manifest = Manifest::builtin()?;
    let named = target_platform.unwrap_or(&own);
    let platform = named.to_owned();
    let asset = manifest
        .known(single.id())
        .ok_or_else(|| Fault::internal("The manifest lacks an asset.", single.id()))?;
    let wheel = asset.wheel(named)?;
    let looking = Installer::looking(&manifest, layout, settings);
    let installer = Installer { platform, from, may_fetch: true, cancelled, on_event, ..looking };
    let mut target = installer.target(single.id())?;
    if wheel.platform != "any" && named != own {
        // Beside this machine's own.
        target.dir = layout.runtime().join(format!("{}-{}-{named}", single.id(), asset.version));
    }
    // Looked at also when nothing is to be brought, so that a wrong folder is told.
    if let Some(folder) = from {
        target.compare_given(folder, installer.reporter(&target))?;
    }
    if anew {
        let _lock =
            installer.lock(Reporter { asset: single.id(), on_event, cancelled: installer.cancelled })?;
        fetch::remove_folder(&target.dir).map_err(|e| faults::io("remove an installed file", e))?;
        if from.is_none() {
            // That it was never downloaded is fine; what cannot be removed is checked like any other.
            let _ = std::fs::remove_file(layout.downloads().join(&wheel.file));
        }
    }
    let cached = matches!(receipt::check(&target.dir, &target.origin, false), Check::Sound(_));
    installer.ensure(&target)?;
    let inside = wheel.library.as_deref().or(asset.required.first().map(String::as_str));
    Ok(InstalledAsset {
        file: target.dir.join(inside.unwrap_or_default()),
        package: format!("{}=={}", asset.package, asset.version),
        sha256: wheel.sha256.clone(),
        cached,
    })
}
