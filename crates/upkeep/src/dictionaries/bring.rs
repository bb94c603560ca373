//! Brings lists into a folder, one after the other; each is recorded as soon as it is in its place.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::catalog::{Catalog, Entry};
use super::list;
use super::load::sha256;
use crate::assets::{AssetEvent, InstalledAsset, Single, install_single};
use crate::sources::Source;
use contract::clock::Clock;
use contract::config::{Config, Layout};
use contract::{ErrorCode, Fault};
use platform::outbound::{Download, Fetched, download};
use platform::room::Room;

/// Lists that the product's manifest brings, by name.
const BUILT_IN: &[(&str, Single)] = &[("en", Single::WordsEn)];
/// Parts of downloads, kept for the next attempt.
const INCOMING: &str = ".incoming";
/// Between looks whether another call is done with the folder.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Where lists come to, from where, and how.
pub struct Workshop<'a> {
    /// Where files live.
    pub layout: &'a Layout,
    /// Settings.
    pub config: &'a Config,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The folder of the lists; made if need be.
    pub folder: PathBuf,
    /// A folder with wheels and `<name>.txt`; nothing is then fetched from elsewhere.
    pub from: Option<PathBuf>,
    /// Ask again for what is there, and take it only if it changed.
    pub update: bool,
    /// Bring everything anew.
    pub force: bool,
}

/// What became of the lists that were wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// New or changed.
    pub downloaded: Vec<Outcome>,
    /// Left as they were.
    pub skipped: Vec<Skipped>,
    /// All lists of the folder.
    pub catalog: Catalog,
}

/// A list that was brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
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
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// present: it is there, and neither update nor force was said; not-modified: its source has no other one.
    pub reason: &'static str,
}

/// Brings the built-in lists `languages` and those of `sources`. `on_progress` hears bytes done and bytes in all of one
/// list after the other.
///
/// # Errors
/// `INVALID_REQUEST` for a language that is not built in; those of downloads and of [`list::words`]. What came before
/// the failure stays.
pub async fn bring(
    workshop: &Workshop<'_>,
    languages: &[String],
    sources: &[Source],
    on_progress: &(dyn Fn(&str, u64, Option<u64>) + Sync),
) -> Result<Brought, Fault> {
    let built_in = languages.iter().map(|name| known(name)).collect::<Result<Vec<_>, _>>()?;
    if let Some(taken) = sources.iter().find(|source| known(&source.name).is_ok()) {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("`{}` is the name of a built-in list.", taken.name),
        )
        .with_hint("Give your list another name."));
    }
    let incoming = workshop.folder.join(INCOMING);
    fs::create_dir_all(&incoming).map_err(disk)?;
    let _lock = lock(&workshop.folder).await?;
    let (mut downloaded, mut skipped) = (Vec::new(), Vec::new());
    for (name, single) in built_in {
        match workshop.built_in(name, single, on_progress).await? {
            Some(outcome) => downloaded.push(outcome),
            None => skipped.push(Skipped { name: name.to_owned(), reason: workshop.reason() }),
        }
    }
    for source in sources {
        match workshop.own(source, &incoming, on_progress).await? {
            Some(outcome) => downloaded.push(outcome),
            None => skipped.push(Skipped { name: source.name.clone(), reason: workshop.reason() }),
        }
    }
    Ok(Brought { downloaded, skipped, catalog: Catalog::read(&workshop.folder) })
}

fn known(name: &str) -> Result<(&'static str, Single), Fault> {
    BUILT_IN.iter().find(|(known, _)| *known == name).copied().ok_or_else(|| {
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Fault::new(ErrorCode::InvalidRequest, format!("There is no built-in list `{}`.", name.escape_debug()))
            .with_hint(format!(
                "Built in: {}. Bring another one with `url`: name=https://…",
                known.join(", ")
            ))
    })
}

impl Workshop<'_> {
    fn reason(&self) -> &'static str {
        if self.update { "not-modified" } else { "present" }
    }

    /// A list of the product's manifest; none if it is there already.
    async fn built_in(
        &self,
        name: &str,
        single: Single,
        on_progress: &(dyn Fn(&str, u64, Option<u64>) + Sync),
    ) -> Result<Option<Outcome>, Fault> {
        on_progress(name, 0, None);
        let asset = self.asset(single).await?;
        let url = format!("package:{}", asset.package);
        let whole = self.whole(name).await?;
        if !self.force && whole.is_some_and(|entry| entry.url == url) {
            return Ok(None);
        }
        let file = asset.file;
        let bytes = blocking(move || fs::read(file).map_err(disk)).await?;
        self.keep(name, url, bytes, (true, None, None)).await.map(Some)
    }

    async fn asset(&self, single: Single) -> Result<InstalledAsset, Fault> {
        let (layout, settings) = (self.layout.clone(), self.config.assets.clone());
        let (from, anew) = (self.from.clone(), self.force);
        // Whoever drops this future wants nothing more of it, and of the pip that runs in it.
        let stop = CancellationToken::new();
        let _stop_if_dropped = stop.clone().drop_guard();
        blocking(move || {
            let (silent, stopped) = (|_: AssetEvent| (), || stop.is_cancelled());
            install_single((&layout, &settings), single, None, from.as_deref(), anew, &stopped, &silent)
        })
        .await
    }

    /// A list of the caller's; none if it is there already.
    async fn own(
        &self,
        source: &Source,
        incoming: &Path,
        on_progress: &(dyn Fn(&str, u64, Option<u64>) + Sync),
    ) -> Result<Option<Outcome>, Fault> {
        let name = &source.name;
        let here = self.whole(name).await?.filter(|entry| entry.url == source.url.as_str());
        // What was recorded under another hash is asked for again.
        let here = here.filter(|entry| source.verify(&entry.sha256).is_ok());
        if here.is_some() && !self.update && !self.force {
            return Ok(None);
        }
        let (file, etag, last_modified) = match &self.from {
            Some(folder) => (folder.join(format!("{name}.txt")), None, None),
            None => {
                let here = here.as_ref().filter(|_| !self.force);
                let wanted = Download {
                    etag: here.and_then(|entry| entry.etag.clone()),
                    last_modified: here.and_then(|entry| entry.last_modified.clone()),
                    room: Room::of_home(self.layout),
                    ..source.download(&self.config.downloads, !self.force)
                };
                let target = incoming.join(format!("{name}.txt"));
                let told = |done, total| on_progress(name, done, total);
                match download(&wanted, &target, &told).await? {
                    Fetched::NotModified => return Ok(None),
                    Fetched::New { etag, last_modified, .. } => (target, etag, last_modified),
                }
            }
        };
        let bytes_max = self.config.downloads.bytes_max;
        let given = self.from.is_some();
        let listed = name.clone();
        let bytes = blocking(move || {
            let bytes = read(&file, &listed, bytes_max)?;
            if !given {
                // It is in memory; whatever becomes of it, the file is not needed.
                fs::remove_file(&file).map_err(disk)?;
            }
            Ok(bytes)
        })
        .await?;
        let verified = source.verify(&sha256(&bytes))?;
        if !self.force && here.is_some_and(|entry| entry.sha256 == sha256(&bytes)) {
            return Ok(None);
        }
        self.keep(name, source.url.to_string(), bytes, (verified, etag, last_modified)).await.map(Some)
    }

    /// The record of a list whose file is what was recorded.
    async fn whole(&self, name: &str) -> Result<Option<Entry>, Fault> {
        let (folder, name) = (self.folder.clone(), name.to_owned());
        blocking(move || {
            let entry = Catalog::read(&folder).entry(&name).cloned();
            Ok(entry.filter(|entry| {
                fs::read(folder.join(&entry.file)).is_ok_and(|bytes| sha256(&bytes) == entry.sha256)
            }))
        })
        .await
    }

    /// Checks a list, puts it in its place and records it.
    async fn keep(
        &self,
        name: &str,
        url: String,
        bytes: Vec<u8>,
        (verified, etag, last_modified): (bool, Option<String>, Option<String>),
    ) -> Result<Outcome, Fault> {
        let (folder, settings) = (self.folder.clone(), self.config.dictionaries.clone());
        let downloaded_at = contract::clock::iso_millis(self.clock.now());
        let name = name.to_owned();
        blocking(move || {
            let words = list::words(&name, &bytes, &settings)?;
            let (length, file) = (bytes.len() as u64, format!("{name}.txt"));
            let aside = folder.join(INCOMING).join(format!("{file}.new"));
            fs::write(&aside, &bytes).map_err(disk)?;
            fs::rename(&aside, folder.join(&file)).map_err(disk)?;
            let mut catalog = Catalog::read(&folder);
            let outcome = Outcome { name: name.clone(), words, bytes: length, verified };
            let sha256 = sha256(&bytes);
            let entry = Entry {
                name,
                url,
                file,
                sha256,
                verified,
                etag,
                last_modified,
                downloaded_at,
                bytes: length,
                words,
            };
            catalog.put(entry);
            catalog.write(&folder).map_err(disk)?;
            Ok(outcome)
        })
        .await
    }
}

/// A file of at most `bytes_max`.
fn read(file: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>, Fault> {
    let length = fs::metadata(file).map(|found| found.len()).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Fault::new(ErrorCode::CapabilityMissing, format!("The given folder has no `{name}.txt`."))
                .with_hint("Put the list there, or leave `from` out to fetch it.")
        }
        _ => disk(error),
    })?;
    if length > bytes_max {
        let message = format!("`{name}.txt` is larger than the {bytes_max} bytes that a list may have.");
        return Err(Fault::new(ErrorCode::ArchiveTooLarge, message)
            .with_hint("Use a smaller list, or raise `downloads.bytes_max`."));
    }
    fs::read(file).map_err(disk)
}

/// One call at a time works in a folder. Dropping the file ends it, a crash too.
pub(crate) async fn lock(folder: &Path) -> Result<File, Fault> {
    let file = File::options().create(true).append(true).open(folder.join(".lock")).map_err(disk)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL).await,
            Err(TryLockError::Error(error)) => return Err(disk(error)),
        }
    }
}

/// Runs blocking work off the async threads.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Fault::internal("A background step failed unexpectedly.", error)))
}

/// The disk would not do it.
pub(crate) fn disk(error: io::Error) -> Fault {
    Fault::internal(format!("A file could not be read or written: {}.", error.kind()), error)
        .with_hint("Check that the disk has room and that the server's user may write there.")
}
