//! Installs SQLite extensions into a folder: the built-in one from its manifest, others from a URL that serves a
//! library or an archive with one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::catalog::ExtensionEntry;
use super::library_suffix;
use crate::install::catalog::DownloadCatalog;
use crate::install::download_folder::{DownloadOptions, OnProgress, Validators, io_fault, replace_file};
use crate::install::optional::OptionalAsset;
use crate::install::sources::Source;
use crate::install::unpack::ArchiveLimits;
use crate::install::unpack_untrusted::{FileType, file_type, unpack_untrusted};
use contract::{ErrorCode, Fault};
use platform::outbound::DownloadOutcome;
use platform::sha256;
use platform::task::blocking;

/// The name of the built-in extension.
pub const BUILT_IN: &str = "sqlite-vec";

/// The result of installing the requested libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledExtensions {
    /// Names of libraries that are new or changed.
    pub downloaded: Vec<String>,
    /// Libraries that were not replaced: name, and `present` or `not-modified`.
    pub skipped: Vec<(String, &'static str)>,
    /// Path of the last of the requested libraries.
    pub file: PathBuf,
    /// All libraries of the folder.
    pub entries: Vec<ExtensionEntry>,
}

/// A library that was downloaded and verified, but not yet installed.
struct FetchedLibrary {
    name: String,
    url: String,
    file: PathBuf,
    source_sha256: String,
    verified: bool,
    validators: Validators,
}

/// Installs the libraries of `sources` for `platform`, or the built-in one if `sources` is empty.
///
/// # Errors
/// Faults of downloads; `ARCHIVE_UNSAFE`, `ARCHIVE_TOO_LARGE`; `DOWNLOAD_VERIFY_FAILED` for a file or archive without a
/// library. Libraries that were installed before the failure stay.
pub async fn install_extensions(
    options: &DownloadOptions<'_>,
    platform: &str,
    sources: &[Source],
    on_progress: OnProgress<'_>,
) -> Result<InstalledExtensions, Fault> {
    let _lock = options.lock().await?;
    fs::create_dir_all(options.folder.join(platform)).map_err(io_fault)?;
    let (mut downloaded, mut skipped) = (Vec::new(), Vec::new());
    let mut record = |name: &str, is_new: bool| match is_new {
        true => downloaded.push(name.to_owned()),
        false => skipped.push((name.to_owned(), options.skip_reason())),
    };
    if sources.is_empty() {
        on_progress(BUILT_IN, 0, None);
        record(BUILT_IN, install_built_in(options, platform).await?);
    }
    for source in sources {
        record(&source.name, install_source(options, platform, source, on_progress).await?);
    }
    let last = sources.last().map_or(BUILT_IN, |source| &source.name);
    let file = options.folder.join(relative_path(last, platform));
    Ok(InstalledExtensions {
        downloaded,
        skipped,
        file,
        entries: DownloadCatalog::read(&options.folder).entries,
    })
}

/// Returns the path of a library below the folder. SQLite derives the entry point of the built-in library from the file name `vec0`.
fn relative_path(name: &str, platform: &str) -> String {
    let stem = if name == BUILT_IN { "vec0" } else { name };
    format!("{platform}/{stem}.{}", library_suffix(platform))
}

/// Installs the built-in library; returns false if it is installed already.
async fn install_built_in(options: &DownloadOptions<'_>, platform: &str) -> Result<bool, Fault> {
    let packaged = options.install_packaged(OptionalAsset::SqliteVec, Some(platform)).await?;
    let url = format!("package:{}", packaged.package);
    let intact: Option<ExtensionEntry> = options.intact(BUILT_IN, platform).await?;
    let is_current = intact.is_some_and(|entry| entry.url == url && entry.source_sha256 == packaged.sha256);
    if is_current && !options.force {
        return Ok(false);
    }
    let library = FetchedLibrary {
        name: BUILT_IN.to_owned(),
        url,
        file: packaged.file,
        source_sha256: packaged.sha256,
        verified: true,
        validators: Validators::default(),
    };
    keep(options, platform, library).await?;
    Ok(true)
}

/// Installs a library from its URL; returns false if it is installed already.
async fn install_source(
    options: &DownloadOptions<'_>,
    platform: &str,
    source: &Source,
    on_progress: OnProgress<'_>,
) -> Result<bool, Fault> {
    if source.name == BUILT_IN || source.name == "vec0" {
        let message = format!("`{}` is the name of the product's own extension.", source.name);
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint("Give yours another name."));
    }
    let intact: Option<ExtensionEntry> = options.intact(&source.name, platform).await?;
    let intact = intact.filter(|entry| entry.url == source.url.as_str());
    // A library that was installed before the operator pinned another hash is downloaded again.
    let intact = intact.filter(|entry| source.verify(&entry.source_sha256).is_ok());
    if intact.is_some() && !options.update && !options.force {
        return Ok(false);
    }
    let known = intact.filter(|_| !options.force).map_or_else(Validators::default, |entry| Validators {
        etag: entry.etag,
        last_modified: entry.last_modified,
    });
    let archive = options.incoming().join(format!("{}-{platform}", source.name));
    let DownloadOutcome::New { sha256, etag, last_modified, .. } =
        options.fetch(source, known, &archive, on_progress).await?
    else {
        return Ok(false);
    };
    let validators = Validators { etag, last_modified };
    let kept = keep_from_archive(options, platform, source, &archive, sha256, validators).await;
    // The download is no longer needed, even if it was refused; the next one overwrites leftovers.
    let _ = fs::remove_file(&archive);
    let _ = fs::remove_dir_all(unpacked_folder(&archive));
    kept.map(|()| true)
}

/// Verifies a download, which is a library or an archive with one, and installs the library.
async fn keep_from_archive(
    options: &DownloadOptions<'_>,
    platform: &str,
    source: &Source,
    archive: &Path,
    source_sha256: String,
    validators: Validators,
) -> Result<(), Fault> {
    let verified = source.verify(&source_sha256)?;
    let settings = &options.config.downloads;
    let limits = ArchiveLimits {
        bytes_max: settings.unpacked_bytes_max,
        entry_bytes_max: settings.entry_bytes_max,
        entries_max: settings.entries_max,
    };
    let (archive, name, suffix) = (archive.to_owned(), source.name.clone(), library_suffix(platform));
    let file = blocking(move || find_library(&archive, &name, suffix, limits)).await?;
    let (name, url) = (source.name.clone(), source.url.to_string());
    keep(options, platform, FetchedLibrary { name, url, file, source_sha256, verified, validators }).await
}

/// Copies a library into the folder and records it in the catalog.
async fn keep(options: &DownloadOptions<'_>, platform: &str, library: FetchedLibrary) -> Result<(), Fault> {
    let (folder, platform) = (options.folder.clone(), platform.to_owned());
    let downloaded_at = contract::clock::iso_millis(options.clock.now());
    blocking(move || {
        let bytes = fs::read(&library.file).map_err(io_fault)?;
        let file = relative_path(&library.name, &platform);
        replace_file(&folder.join(&file), &bytes)?;
        let mut catalog = DownloadCatalog::read(&folder);
        catalog.insert(ExtensionEntry {
            name: library.name,
            platform,
            url: library.url,
            file,
            sha256: sha256::digest_hex(&bytes),
            source_sha256: library.source_sha256,
            verified: library.verified,
            etag: library.validators.etag,
            last_modified: library.validators.last_modified,
            downloaded_at,
            bytes: bytes.len() as u64,
        });
        catalog.write(&folder).map_err(io_fault)
    })
    .await
}

impl InstalledExtensions {
    /// Copies the library to `out`, atomically.
    ///
    /// # Errors
    /// `INTERNAL` if a file cannot be read or written; `STORAGE_UNAVAILABLE` on a full disk.
    pub async fn copy_to(&self, out: &Path) -> Result<(), Fault> {
        let (from, out) = (self.file.clone(), out.to_owned());
        blocking(move || replace_file(&out, &fs::read(from).map_err(io_fault)?)).await
    }
}

fn unpacked_folder(archive: &Path) -> PathBuf {
    archive.with_extension("unpacked")
}

/// Returns `archive` if it is a library, else the only library in the archive; of several libraries, the one called
/// `name`.
fn find_library(archive: &Path, name: &str, suffix: &str, limits: ArchiveLimits) -> Result<PathBuf, Fault> {
    let archive_type = file_type(archive).map_err(io_fault)?;
    if archive_type == FileType::Library {
        return Ok(archive.to_owned());
    }
    let into = unpacked_folder(archive);
    if into.exists() {
        fs::remove_dir_all(&into).map_err(io_fault)?;
    }
    fs::create_dir(&into).map_err(io_fault)?;
    unpack_untrusted(archive, archive_type, limits, &into)?;
    let mut libraries = Vec::new();
    collect_files(&into, suffix, &mut libraries).map_err(io_fault)?;
    libraries.retain(|file| matches!(file_type(file), Ok(FileType::Library)));
    if libraries.len() > 1 {
        libraries.retain(|file| file.file_stem() == Some(OsStr::new(name)));
    }
    match libraries.pop() {
        Some(file) if libraries.is_empty() => Ok(file),
        _ => Err(Fault::new(
            ErrorCode::DownloadVerifyFailed,
            format!("The download `{name}` contains no library `{name}.{suffix}`, or several."),
        )
        .with_hint("Use an archive of this platform with one shared library, or with one of that name.")),
    }
}

fn collect_files(folder: &Path, suffix: &str, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), suffix, files)?;
        } else if entry.path().extension() == Some(OsStr::new(suffix)) {
            files.push(entry.path());
        }
    }
    Ok(())
}
