//! Installs dictionaries one after the other, and records each in the catalog as soon as its file is complete.

use std::fs;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::catalog::DictionaryEntry;
use super::validate::count_words;
use crate::install::catalog::DownloadCatalog;
use crate::install::download_folder::{DownloadOptions, OnProgress, Validators, io_fault, replace_file};
use crate::install::optional::OptionalAsset;
use crate::install::sources::Source;
use contract::{ErrorCode, Fault};
use platform::outbound::DownloadOutcome;
use platform::sha256;
use platform::task::blocking;

/// Word lists of the built-in manifest, by name.
const BUILT_IN: &[(&str, OptionalAsset)] = &[("en", OptionalAsset::WordsEn)];

/// The result of installing the requested lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledDictionaries {
    /// Lists that are new or changed.
    pub downloaded: Vec<InstalledDictionary>,
    /// Lists that were not replaced.
    pub skipped: Vec<SkippedDictionary>,
    /// All lists of the folder.
    pub entries: Vec<DictionaryEntry>,
}

/// A list that was brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledDictionary {
    /// Its name.
    pub name: String,
    /// Words in it.
    pub words: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Whether the sha256 was known before, and fits.
    pub verified: bool,
}

/// A list that was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedDictionary {
    /// Its name.
    pub name: String,
    /// present: it is there, and neither update nor force was said; not-modified: its source has no other one.
    pub reason: &'static str,
}

/// Installs the built-in lists `languages` and the lists of `sources` into `to`.
///
/// # Errors
/// `INVALID_REQUEST` for a language that is not built in, or a source with the name of a built-in one; faults of
/// downloads; `DOWNLOAD_VERIFY_FAILED` for a file that is not a word list. Lists that were installed before the failure
/// stay.
pub async fn install_dictionaries(
    options: &DownloadOptions<'_>,
    languages: &[String],
    sources: &[Source],
    on_progress: OnProgress<'_>,
) -> Result<InstalledDictionaries, Fault> {
    let built_in = languages.iter().map(|name| find_built_in(name)).collect::<Result<Vec<_>, _>>()?;
    if let Some(taken) = sources.iter().find(|source| find_built_in(&source.name).is_ok()) {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("`{}` is the name of a built-in list.", taken.name),
        )
        .with_hint("Give your list another name."));
    }
    let _lock = options.lock().await?;
    let (mut downloaded, mut skipped) = (Vec::new(), Vec::new());
    let mut record = |name: &str, installed: Option<InstalledDictionary>| match installed {
        Some(installed) => downloaded.push(installed),
        None => skipped.push(SkippedDictionary { name: name.to_owned(), reason: options.skip_reason() }),
    };
    for (name, asset) in built_in {
        on_progress(name, 0, None);
        record(name, install_built_in(options, name, asset).await?);
    }
    for source in sources {
        record(&source.name, install_source(options, source, on_progress).await?);
    }
    Ok(InstalledDictionaries { downloaded, skipped, entries: DownloadCatalog::read(&options.folder).entries })
}

fn find_built_in(name: &str) -> Result<(&'static str, OptionalAsset), Fault> {
    BUILT_IN.iter().find(|(known, _)| *known == name).copied().ok_or_else(|| {
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Fault::new(ErrorCode::InvalidRequest, format!("There is no built-in list `{}`.", name.escape_debug()))
            .with_hint(format!(
                "Built in: {}. Install another list with `url`: name=https://…",
                known.join(", ")
            ))
    })
}

/// Installs a list of the built-in manifest; `None` if it is installed already.
async fn install_built_in(
    options: &DownloadOptions<'_>,
    name: &str,
    asset: OptionalAsset,
) -> Result<Option<InstalledDictionary>, Fault> {
    let packaged = options.install_packaged(asset, None).await?;
    let url = format!("package:{}", packaged.package);
    let intact: Option<DictionaryEntry> = options.intact(name, "").await?;
    if !options.force && intact.is_some_and(|entry| entry.url == url) {
        return Ok(None);
    }
    let bytes = blocking(move || fs::read(packaged.file).map_err(io_fault)).await?;
    keep(options, name, url, bytes, true, Validators::default()).await.map(Some)
}

/// Installs a list from its URL, or from the given folder; `None` if it is installed already.
async fn install_source(
    options: &DownloadOptions<'_>,
    source: &Source,
    on_progress: OnProgress<'_>,
) -> Result<Option<InstalledDictionary>, Fault> {
    let name = &source.name;
    let intact: Option<DictionaryEntry> = options.intact(name, "").await?;
    let intact = intact.filter(|entry| entry.url == source.url.as_str());
    // A list that was installed before the operator pinned another hash is downloaded again.
    let intact = intact.filter(|entry| source.verify(&entry.sha256).is_ok());
    if intact.is_some() && !options.update && !options.force {
        return Ok(None);
    }
    let (file, validators) = match &options.from {
        Some(folder) => (folder.join(format!("{name}.txt")), Validators::default()),
        None => {
            let known =
                intact.as_ref().filter(|_| !options.force).map_or_else(Validators::default, |entry| {
                    Validators { etag: entry.etag.clone(), last_modified: entry.last_modified.clone() }
                });
            let target = options.incoming().join(format!("{name}.txt"));
            match options.fetch(source, known, &target, on_progress).await? {
                DownloadOutcome::NotModified => return Ok(None),
                DownloadOutcome::New { etag, last_modified, .. } => {
                    (target, Validators { etag, last_modified })
                }
            }
        }
    };
    let bytes_max = options.config.downloads.bytes_max;
    let is_download = options.from.is_none();
    let list_name = name.clone();
    let bytes = blocking(move || {
        let bytes = read_bounded(&file, &list_name, bytes_max)?;
        if is_download {
            // The content is in memory; the file is not needed even if the list is refused.
            fs::remove_file(&file).map_err(io_fault)?;
        }
        Ok(bytes)
    })
    .await?;
    let hash = sha256::digest_hex(&bytes);
    let verified = source.verify(&hash)?;
    if !options.force && intact.is_some_and(|entry| entry.sha256 == hash) {
        return Ok(None);
    }
    keep(options, name, source.url.to_string(), bytes, verified, validators).await.map(Some)
}

/// Validates a list, writes its file and records it in the catalog.
async fn keep(
    options: &DownloadOptions<'_>,
    name: &str,
    url: String,
    bytes: Vec<u8>,
    verified: bool,
    validators: Validators,
) -> Result<InstalledDictionary, Fault> {
    let (folder, settings) = (options.folder.clone(), options.config.dictionaries.clone());
    let downloaded_at = contract::clock::iso_millis(options.clock.now());
    let name = name.to_owned();
    blocking(move || {
        let words = count_words(&name, &bytes, &settings)?;
        let file = format!("{name}.txt");
        replace_file(&folder.join(&file), &bytes)?;
        let mut catalog = DownloadCatalog::read(&folder);
        let length = bytes.len() as u64;
        catalog.insert(DictionaryEntry {
            name: name.clone(),
            url,
            file,
            sha256: sha256::digest_hex(&bytes),
            verified,
            etag: validators.etag,
            last_modified: validators.last_modified,
            downloaded_at,
            bytes: length,
            words,
        });
        catalog.write(&folder).map_err(io_fault)?;
        Ok(InstalledDictionary { name, words, bytes: length, verified })
    })
    .await
}

/// Reads a file of at most `bytes_max` bytes.
fn read_bounded(file: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>, Fault> {
    let length = fs::metadata(file).map(|metadata| metadata.len()).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Fault::new(ErrorCode::CapabilityMissing, format!("The given folder has no `{name}.txt`."))
                .with_hint("Put the list there, or leave `from` out to download it.")
        }
        _ => io_fault(error),
    })?;
    if length > bytes_max {
        let message = format!("`{name}.txt` is larger than the {bytes_max} bytes that a list may have.");
        return Err(Fault::new(ErrorCode::ArchiveTooLarge, message)
            .with_hint("Use a smaller list, or raise `downloads.bytes_max`."));
    }
    fs::read(file).map_err(io_fault)
}
