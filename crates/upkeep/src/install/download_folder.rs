//! A folder of downloaded files with a catalog, shared by the installers of dictionaries and of extensions.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::catalog::{DownloadCatalog, DownloadEntry};
use super::faults;
use super::optional::{InstalledOptional, OptionalAsset, install_optional};
use super::progress::AssetEvent;
use super::sources::Source;
use contract::Fault;
use contract::clock::Clock;
use contract::config::{Config, Layout};
use platform::disk_space::DiskSpace;
use platform::file_lock::FileLock;
use platform::outbound::{DownloadOutcome, DownloadRequest, download};
use platform::task::blocking;

/// Subfolder for unfinished downloads, which the next call resumes.
const INCOMING: &str = ".incoming";
/// Time between two attempts to lock a folder that another call has locked.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Called with the name of a file, its downloaded bytes, and its total bytes if known.
pub type OnProgress<'a> = &'a (dyn Fn(&str, u64, Option<u64>) + Sync);

/// The folder to install into, the source of the files, and the conditions for a new download.
pub struct DownloadOptions<'a> {
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
    /// Send conditional requests for installed files, and replace those that changed.
    pub update: bool,
    /// Download installed files again.
    pub force: bool,
}

/// The validators of an HTTP response, for a later conditional request.
#[derive(Debug, Clone, Default)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl DownloadOptions<'_> {
    /// Returns the reason why an installed file was not replaced, as tools report it.
    pub(super) fn skip_reason(&self) -> &'static str {
        if self.update { "not-modified" } else { "present" }
    }

    /// Returns the folder for unfinished downloads.
    pub(super) fn incoming(&self) -> PathBuf {
        self.folder.join(INCOMING)
    }

    /// Creates the folders and locks them, waiting for other calls.
    pub(super) async fn lock(&self) -> Result<FileLock, Fault> {
        fs::create_dir_all(self.incoming()).map_err(io_fault)?;
        loop {
            let file = File::options().create(true).append(true).open(self.folder.join(".lock"));
            if let Some(lock) = file.and_then(FileLock::try_new).map_err(io_fault)? {
                return Ok(lock);
            }
            tokio::time::sleep(LOCK_POLL).await;
        }
    }

    /// Returns the catalog's entry if the installed file has the recorded sha256.
    pub(super) async fn intact<E: DownloadEntry + Send + 'static>(
        &self,
        name: &str,
        platform: &str,
    ) -> Result<Option<E>, Fault> {
        let (folder, name, platform) = (self.folder.clone(), name.to_owned(), platform.to_owned());
        blocking(move || Ok(DownloadCatalog::read(&folder).find_intact(&folder, &name, &platform).cloned()))
            .await
    }

    /// Installs an asset of the built-in manifest into the runtime folder. Dropping the future cancels the installation
    /// and ends pip.
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

    /// Downloads `source` to `target`, with a conditional request if `validators` has any.
    pub(super) async fn fetch(
        &self,
        source: &Source,
        validators: Validators,
        target: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<DownloadOutcome, Fault> {
        let request = DownloadRequest {
            etag: validators.etag,
            last_modified: validators.last_modified,
            disk_space: DiskSpace::for_home(self.layout),
            ..source.download(&self.config.downloads, !self.force)
        };
        download(&request, target, &|done, total| on_progress(&source.name, done, total)).await
    }
}

/// Replaces `file` atomically; processes that have the old file open keep reading it.
pub(super) fn replace_file(file: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let new = file.with_added_extension("new");
    fs::write(&new, bytes).map_err(io_fault)?;
    fs::rename(new, file).map_err(io_fault)
}

/// Returns the fault for a failed read or write in the folder.
pub(super) fn io_fault(error: io::Error) -> Fault {
    faults::io("read or write a downloaded file", error)
}
