//! Brings libraries into a folder: the product's own from its manifest, others as they are or out of archives.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::catalog::{Catalog, Entry};
use super::suffix;
use crate::assets::{self, Kind, Limits, Single, install_single, kind, unpack_foreign};
use crate::dictionaries::{blocking, disk, lock, sha256};
use crate::sources::Source;
use contract::clock::Clock;
use contract::config::{Config, Layout};
use contract::{ErrorCode, Fault};
use platform::outbound::{Download, Fetched, download};
use platform::room::Room;

/// The name of the product's own library.
pub const BUILT_IN: &str = "sqlite-vec";
/// Downloads and what is unpacked.
const INCOMING: &str = ".incoming";

/// Where libraries come to, from where, and how.
pub struct Workshop<'a> {
    /// Where files live.
    pub layout: &'a Layout,
    /// Settings.
    pub config: &'a Config,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The folder of the libraries; made if need be.
    pub folder: PathBuf,
    /// A folder with the wheels of the manifest; nothing is then fetched from elsewhere.
    pub from: Option<PathBuf>,
    /// What they are to run on.
    pub platform: String,
    /// Ask again for what is there, and take it only if it changed.
    pub update: bool,
    /// Bring everything anew.
    pub force: bool,
}

/// What became of what was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// New or changed.
    pub downloaded: Vec<String>,
    /// Left as they were: name, and `present` or `not-modified`.
    pub skipped: Vec<(String, &'static str)>,
    /// The library that came last, in the folder.
    pub file: PathBuf,
    /// All libraries of the folder.
    pub catalog: Catalog,
}

/// A library and what is known of where it came from.
struct Incoming {
    name: String,
    url: String,
    file: PathBuf,
    source_sha256: String,
    verified: bool,
    etag: Option<String>,
    last_modified: Option<String>,
}

/// Brings the libraries of `sources`, or the product's own where there are none.
///
/// # Errors
/// Those of downloads; `ARCHIVE_UNSAFE`, `ARCHIVE_TOO_LARGE`; `DOWNLOAD_VERIFY_FAILED` for what holds no library. What came
/// before the failure stays.
pub async fn bring(
    workshop: &Workshop<'_>,
    sources: &[Source],
    on_progress: &(dyn Fn(&str, u64, Option<u64>) + Sync),
) -> Result<Brought, Fault> {
    fs::create_dir_all(workshop.folder.join(INCOMING)).map_err(disk)?;
    fs::create_dir_all(workshop.folder.join(&workshop.platform)).map_err(disk)?;
    let _lock = lock(&workshop.folder).await?;
    let (mut downloaded, mut skipped) = (Vec::new(), Vec::new());
    let mut name = BUILT_IN.to_owned();
    if sources.is_empty() {
        on_progress(&name, 0, None);
        match workshop.built_in().await? {
            true => downloaded.push(name.clone()),
            false => skipped.push((name.clone(), workshop.reason())),
        }
    }
    for source in sources {
        name.clone_from(&source.name);
        match workshop.own(source, on_progress).await? {
            true => downloaded.push(name.clone()),
            false => skipped.push((name.clone(), workshop.reason())),
        }
    }
    let catalog = Catalog::read(&workshop.folder);
    let file = workshop.folder.join(workshop.file(&name));
    Ok(Brought { downloaded, skipped, file, catalog })
}

impl Workshop<'_> {
    fn reason(&self) -> &'static str {
        if self.update { "not-modified" } else { "present" }
    }

    /// Relative to the folder. The product's own has the name that SQLite derives its entry point from.
    fn file(&self, name: &str) -> String {
        let stem = if name == BUILT_IN { "vec0" } else { name };
        format!("{}/{stem}.{}", self.platform, suffix(&self.platform))
    }

    /// Whether it was brought; it is there otherwise.
    async fn built_in(&self) -> Result<bool, Fault> {
        let (layout, settings) = (self.layout.clone(), self.config.assets.clone());
        let (from, anew, platform) = (self.from.clone(), self.force, self.platform.clone());
        // Whoever drops this future wants nothing more of it, and of the pip that runs in it.
        let stop = CancellationToken::new();
        let _stop_if_dropped = stop.clone().drop_guard();
        let asset = blocking(move || {
            install_single(
                (&layout, &settings),
                Single::SqliteVec,
                Some(&platform),
                from.as_deref(),
                anew,
                &|| stop.is_cancelled(),
                &|_| (),
            )
        })
        .await?;
        let url = format!("package:{}", asset.package);
        let whole = self.whole(BUILT_IN).await?;
        if !self.force && whole.is_some_and(|entry| entry.url == url && entry.source_sha256 == asset.sha256) {
            return Ok(false);
        }
        let (name, file) = (BUILT_IN.to_owned(), asset.file);
        let (source_sha256, verified) = (asset.sha256, true);
        self.keep(Incoming { name, url, file, source_sha256, verified, etag: None, last_modified: None })
            .await?;
        Ok(true)
    }

    async fn own(
        &self,
        source: &Source,
        on_progress: &(dyn Fn(&str, u64, Option<u64>) + Sync),
    ) -> Result<bool, Fault> {
        if source.name == BUILT_IN || source.name == "vec0" {
            let message = format!("`{}` is the name of the product's own extension.", source.name);
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint("Give yours another name."));
        }
        let here = self.whole(&source.name).await?.filter(|entry| entry.url == source.url.as_str());
        let here = here.filter(|entry| source.verify(&entry.source_sha256).is_ok());
        if here.is_some() && !self.update && !self.force {
            return Ok(false);
        }
        let known = here.as_ref().filter(|_| !self.force);
        let wanted = Download {
            etag: known.and_then(|entry| entry.etag.clone()),
            last_modified: known.and_then(|entry| entry.last_modified.clone()),
            room: Room::of_home(self.layout),
            ..source.download(&self.config.downloads, !self.force)
        };
        let archive = self.folder.join(INCOMING).join(format!("{}-{}", source.name, self.platform));
        let told = |done, total| on_progress(&source.name, done, total);
        let Fetched::New { sha256: source_sha256, etag, last_modified, .. } =
            download(&wanted, &archive, &told).await?
        else {
            return Ok(false);
        };
        let kept = self.take_out(source, &archive, (source_sha256, etag, last_modified)).await;
        // Kept or refused, it is not needed any more; a leftover is written over.
        let _ = fs::remove_file(&archive);
        let _ = fs::remove_dir_all(unpacked(&archive));
        kept.map(|()| true)
    }

    /// Checks what was fetched and takes the library out of it.
    async fn take_out(
        &self,
        source: &Source,
        archive: &Path,
        (source_sha256, etag, last_modified): (String, Option<String>, Option<String>),
    ) -> Result<(), Fault> {
        let verified = source.verify(&source_sha256)?;
        let settings = &self.config.downloads;
        let limits = Limits {
            bytes_max: settings.unpacked_bytes_max,
            entry_bytes_max: settings.entry_bytes_max,
            entries_max: settings.entries_max,
        };
        let (archive, name, wanted) = (archive.to_owned(), source.name.clone(), suffix(&self.platform));
        let file = blocking(move || library(&archive, &name, wanted, limits)).await?;
        let (name, url) = (source.name.clone(), source.url.to_string());
        self.keep(Incoming { name, url, file, source_sha256, verified, etag, last_modified }).await
    }

    /// The record of a library whose file is what was recorded.
    async fn whole(&self, name: &str) -> Result<Option<Entry>, Fault> {
        let (folder, name, platform) = (self.folder.clone(), name.to_owned(), self.platform.clone());
        blocking(move || {
            let entry = Catalog::read(&folder).entry(&name, &platform).cloned();
            Ok(entry.filter(|entry| {
                fs::read(folder.join(&entry.file)).is_ok_and(|bytes| sha256(&bytes) == entry.sha256)
            }))
        })
        .await
    }

    /// Puts a library in its place and records it.
    async fn keep(&self, incoming: Incoming) -> Result<(), Fault> {
        let (folder, platform) = (self.folder.clone(), self.platform.clone());
        let file = self.file(&incoming.name);
        let downloaded_at = contract::clock::iso_millis(self.clock.now());
        blocking(move || {
            let bytes = fs::read(&incoming.file).map_err(disk)?;
            put(&bytes, &folder.join(&file))?;
            let mut catalog = Catalog::read(&folder);
            let Incoming { name, url, source_sha256, verified, etag, last_modified, .. } = incoming;
            let (sha256, bytes) = (sha256(&bytes), bytes.len() as u64);
            catalog.put(Entry {
                name,
                platform,
                url,
                file,
                sha256,
                source_sha256,
                verified,
                etag,
                last_modified,
                downloaded_at,
                bytes,
            });
            catalog.write(&folder).map_err(disk)
        })
        .await
    }
}

/// Writes a file aside and renames it into its place, so that who has the old one open keeps it.
fn put(bytes: &[u8], file: &Path) -> Result<(), Fault> {
    let aside = file.with_extension("new");
    fs::write(&aside, bytes).map_err(disk)?;
    fs::rename(aside, file).map_err(disk)
}

impl Brought {
    /// Puts a copy of the library at `out`.
    ///
    /// # Errors
    /// `INTERNAL` if the disk refuses.
    pub async fn copy_to(&self, out: &Path) -> Result<(), Fault> {
        let (from, out) = (self.file.clone(), out.to_owned());
        blocking(move || put(&fs::read(from).map_err(disk)?, &out)).await
    }
}

fn unpacked(archive: &Path) -> PathBuf {
    archive.with_extension("unpacked")
}

/// The library that `archive` is, or the one that it holds.
fn library(archive: &Path, name: &str, suffix: &str, limits: Limits) -> Result<PathBuf, Fault> {
    let kind = kind(archive).map_err(disk)?;
    if kind == Kind::Library {
        return Ok(archive.to_owned());
    }
    let into = unpacked(archive);
    if into.exists() {
        fs::remove_dir_all(&into).map_err(disk)?;
    }
    fs::create_dir(&into).map_err(disk)?;
    unpack_foreign(archive, kind, limits, &into)?;
    let mut found = Vec::new();
    collect(&into, suffix, &mut found).map_err(disk)?;
    let is_library = |file: &PathBuf| matches!(assets::kind(file), Ok(Kind::Library));
    found.retain(is_library);
    // Of several, the one of that name.
    if found.len() > 1 {
        found.retain(|file| file.file_stem() == Some(OsStr::new(name)));
    }
    match found.pop() {
        Some(file) if found.is_empty() => Ok(file),
        _ => Err(Fault::new(
            ErrorCode::DownloadVerifyFailed,
            format!("What was fetched as `{name}` holds no library `{name}.{suffix}`, or several."),
        )
        .with_hint("Use an archive of this platform with one shared library, or with one of that name.")),
    }
}

fn collect(folder: &Path, suffix: &str, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), suffix, found)?;
        } else if entry.path().extension() == Some(OsStr::new(suffix)) {
            found.push(entry.path());
        }
    }
    Ok(())
}
