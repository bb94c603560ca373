//! The record of what this program wrote into files of agents. Uninstalling removes exactly these texts.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::edit::{Spot, Written};
use super::files;
use contract::{ErrorCode, Fault};
use platform::file_lock::FileLock;

/// The version of the format. A file with another version is rejected.
const VERSION: u32 = 1;

/// One text that this program wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The agents that read the file.
    pub(super) agents: Vec<String>,
    /// The purpose of the text.
    pub(super) purpose: Purpose,
    /// The path of the file, as the agent names it.
    pub(super) file: PathBuf,
    /// The path of the file with links resolved.
    pub(super) target: PathBuf,
    /// The location in the file.
    pub(super) spot: Spot,
    /// The root of the repository, for a file in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<PathBuf>,
    /// The folders that were created for the file, the outermost first.
    #[serde(default)]
    pub(super) created_folders: Vec<PathBuf>,
    /// The text that was written.
    pub(super) written: Written,
}

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    /// Connects the server.
    Server,
    /// Instructs the agent when to use the server.
    Instructions,
}

/// The record, and the lock that keeps other processes from changing it.
#[derive(Debug)]
pub(super) struct EditRecord {
    folder: PathBuf,
    pub(super) entries: Vec<Entry>,
    /// Held as long as this value lives; `None` for a reader.
    _lock: Option<FileLock>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    written: Vec<Entry>,
}

impl EditRecord {
    /// Reads the record in order to change it.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` while another process changes it, or if the file is damaged; `STORAGE_UNAVAILABLE` if its folder cannot be used.
    pub(super) fn open(folder: &Path) -> Result<Self, Fault> {
        let failed = |error: io::Error| unusable(folder, error);
        files::create_private(folder).map_err(failed)?;
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        let Some(lock) = FileLock::try_new(lock).map_err(failed)? else {
            return Err(Fault::new(ErrorCode::IllegalState, "Another `install` or `uninstall` is running.")
                .with_hint("Wait until it has ended."));
        };
        Ok(Self { _lock: Some(lock), ..Self::read(folder)? })
    }

    /// Reads the record without locking it.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the file is damaged.
    pub(super) fn read(folder: &Path) -> Result<Self, Fault> {
        let path = folder.join(FILE_NAME);
        let damaged = |why: String| {
            Fault::new(
                ErrorCode::IllegalState,
                format!("The record of what was installed, {}, cannot be used: {why}.", path.display()),
            )
            .with_hint("Move it away: the installed texts then count as written by others, and stay.")
        };
        let entries = if path.symlink_metadata().is_ok() {
            let text = files::read_text(&path).map_err(&damaged)?;
            let stored: Stored = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
            if stored.version != VERSION {
                return Err(damaged(format!("its version is {}", stored.version)));
            }
            stored.written
        } else {
            Vec::new()
        };
        Ok(Self { folder: folder.to_owned(), entries, _lock: None })
    }

    /// Returns the folder with the record and the backups.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the entry of a spot in a file.
    pub(super) fn find(&self, target: &Path, spot: &Spot) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.target == target && entry.spot == *spot)
    }

    /// Records a text, replacing the entry of its spot; `None` removes that entry.
    ///
    /// # Errors
    /// The I/O error; the record is then unchanged.
    pub(super) fn record(&mut self, target: &Path, spot: &Spot, entry: Option<Entry>) -> io::Result<()> {
        let place = self.entries.iter().position(|entry| entry.target == target && entry.spot == *spot);
        let mut written = self.entries.clone();
        match (place, entry) {
            (Some(place), Some(entry)) => written[place] = entry,
            (Some(place), None) => drop(written.remove(place)),
            (None, Some(entry)) => written.push(entry),
            (None, None) => return Ok(()),
        }
        let stored = Stored { version: VERSION, written };
        let text = serde_json::to_string_pretty(&stored).map_err(io::Error::other)?;
        files::replace_own(&self.folder.join(FILE_NAME), &format!("{text}\n"))?;
        self.entries = stored.written;
        Ok(())
    }
}

/// Returns the fault for a record folder that cannot be created or written.
fn unusable(folder: &Path, error: io::Error) -> Fault {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free disk space, and run the command again."
        }
        _ => {
            "Run the command as the user who owns the data directory, or choose one that you may write with --home or \
             PAIROFCLEATS_HOME."
        }
    };
    let message =
        format!("The folder {} cannot be used: {}. Nothing was changed.", folder.display(), error.kind());
    Fault { retryable: false, ..Fault::new(ErrorCode::StorageUnavailable, message) }
        .with_hint(hint)
        .with_source(error)
}

const FILE_NAME: &str = "installed.json";
