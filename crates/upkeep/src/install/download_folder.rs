//! A folder of downloaded files with a catalog: the steps that installing dictionaries and installing extensions share.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::catalog::{Catalog, CatalogEntry};
use super::faults;
use super::optional::{InstalledOptional, OptionalAsset, install_optional};
use super::progress::AssetEvent;
use super::sources::Source;
use contract::Fault;
use contract::clock::Clock;
use contract::config::{Config, Layout};
use platform::outbound::{Download, Fetched, download};
use platform::room::Room;
use platform::task::blocking;

/// Subfolder for unfinished downloads; they are resumed by the next call.
const INCOMING: &str = ".incoming";
/// Time between two attempts to lock a folder that another call has locked.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Hears the name of a file, the bytes done, and the bytes in all where they are known.
pub type OnProgress<'a> = &'a (dyn Fn(&str, u64, Option<u64>) + Sync);

/// Where files are installed, where they come from, and which of them are fetched.
pub struct DownloadFolder<'a> {
    /// The installation's directories.
    pub layout: &'a Layout,
    /// The configuration.
    pub config: &'a Config,
    /// Source of the time that the catalog records.
    pub clock: &'a dyn Clock,
    /// The folder to install to; created if missing.
    pub folder: PathBuf,
    /// A folder with the files to install; nothing is then downloaded.
    pub from: Option<PathBuf>,
    /// Send conditional requests for what is installed, and replace it if it changed.
    pub update: bool,
    /// Download again what is installed.
    pub force: bool,
}

/// The validators of an HTTP response, for a later conditional request.
#[derive(Debug, Clone, Default)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl DownloadFolder<'_> {
    /// Why an installed file was left as it is, in the word of the tools' answers.
    pub(super) fn skip_reason(&self) -> &'static str {
        if self.update { "not-modified" } else { "present" }
    }

    /// The folder for unfinished downloads.
    pub(super) fn incoming(&self) -> PathBuf {
        self.folder.join(INCOMING)
    }

    /// Creates the folders and waits until no other call works in them. The lock ends when the file is dropped, or with the
    /// process.
    pub(super) async fn lock(&self) -> Result<File, Fault> {
        fs::create_dir_all(self.incoming()).map_err(io_fault)?;
        let file =
            File::options().create(true).append(true).open(self.folder.join(".lock")).map_err(io_fault)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL).await,
                Err(TryLockError::Error(error)) => return Err(io_fault(error)),
            }
        }
    }

    /// The catalog's entry, if the installed file has the recorded bytes.
    pub(super) async fn intact<E: CatalogEntry + Send + 'static>(
        &self,
        name: &str,
        platform: &str,
    ) -> Result<Option<E>, Fault> {
        let (folder, name, platform) = (self.folder.clone(), name.to_owned(), platform.to_owned());
        blocking(move || Ok(Catalog::read(&folder).find_intact(&folder, &name, &platform).cloned())).await
    }

    /// Installs an asset of the product's manifest into the runtime folder. Dropping the future stops it, and pip with it.
    pub(super) async fn install_packaged(
        &self,
        asset: OptionalAsset,
        platform: Option<&str>,
    ) -> Result<InstalledOptional, Fault> {
        let (layout, settings) = (self.layout.clone(), self.config.assets.clone());
        let (from, force, platform) = (self.from.clone(), self.force, platform.map(str::to_owned));
        let cancel = CancellationToken::new();
        let _cancel_on_drop = cancel.clone().drop_guard();
        blocking(move || {
            let (ignore, cancelled) = (|_: AssetEvent| (), || cancel.is_cancelled());
            let (platform, from) = (platform.as_deref(), from.as_deref());
            install_optional((&layout, &settings), asset, platform, from, force, &cancelled, &ignore)
        })
        .await
    }

    /// Downloads `source` to `target`; a conditional request where `known` has validators.
    pub(super) async fn fetch(
        &self,
        source: &Source,
        known: Validators,
        target: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<Fetched, Fault> {
        let request = Download {
            etag: known.etag,
            last_modified: known.last_modified,
            room: Room::of_home(self.layout),
            ..source.download(&self.config.downloads, !self.force)
        };
        download(&request, target, &|done, total| on_progress(&source.name, done, total)).await
    }
}

/// Replaces `file` atomically: whoever has the old one open keeps reading it.
pub(super) fn replace_file(file: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let new = file.with_added_extension("new");
    fs::write(&new, bytes).map_err(io_fault)?;
    fs::rename(new, file).map_err(io_fault)
}

/// The fault for a failed read or write in the folder.
pub(super) fn io_fault(error: io::Error) -> Fault {
    faults::io("read or write a downloaded file", error)
}
