//! The mirrors of one installation: fetched, listed and removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::address_file;
use super::fetching::Fetching;
use super::git_program::Git;
use super::lock::MirrorLock;
use super::remote::{RemoteAnswer, RemoteQuery};
use super::selection::{self, Selection};
use super::sizes::{FRESH_ENDING, MIRROR_ENDING, TotalSize, size_of};
use super::unwritable::not_written;
use contract::config;
use contract::{ErrorCode, Fault, RepositoryAddress};
use history::{Head, Revision, RevisionPatterns};
use platform::disk_space::DiskSpace;

/// The ending of the file for a host's list of branches and tags.
const LIST_ENDING: &str = "list";

/// The folder with all mirrors.
#[derive(Debug, Clone)]
pub struct Mirrors {
    folder: PathBuf,
    settings: config::Git,
    disk_space: DiskSpace,
}

/// The contents of a mirror after a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The bare repository.
    pub git_dir: PathBuf,
    /// The default branch on the host, if the host names it, and the commit.
    pub head: Head,
    /// Other branches and tags whose commits the mirror has, up to [`history::REVISIONS_MAX`]: branches by name, then tags from
    /// the newest version to the oldest. Their names differ from one another and from that of the default branch.
    pub revisions: Vec<Revision>,
    /// The omitted branches and tags, with the reasons.
    pub notes: Vec<String>,
}

/// A mirror that no repository uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedMirror {
    /// Its folder.
    pub git_dir: PathBuf,
    /// The address, or the path of the archive, if the mirror names it.
    pub address: Option<String>,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Mirrors {
    /// The mirrors below `folder`, which grow as long as `disk_space` allows.
    #[must_use]
    pub fn new(folder: PathBuf, settings: config::Git, disk_space: DiskSpace) -> Self {
        Self { folder, settings, disk_space }
    }

    /// Returns the mirror of an address; it need not exist. Folders of a repository share it.
    #[must_use]
    pub fn git_dir(&self, address: &RepositoryAddress) -> PathBuf {
        let hash = blake3::hash(address.repository().as_str().as_bytes()).to_hex();
        self.folder.join(format!("{}.{MIRROR_ENDING}", &hash[..32]))
    }

    /// Returns the commit that was fetched last.
    #[must_use]
    pub fn last_commit(&self, address: &RepositoryAddress) -> Option<String> {
        super::fetching::own_commit(&self.git_dir(address))
    }

    /// Asks the host whether it has the repository, and a commit of it; writes nothing.
    ///
    /// # Errors
    /// The reason why the repository cannot be fetched.
    pub fn probe(&self, address: &RepositoryAddress, must_stop: &dyn Fn() -> bool) -> Result<(), Fault> {
        let address = &address.repository();
        let git = Git::new(&self.settings, address)?;
        git.require_version(must_stop)?;
        let timeout = Duration::from_millis(self.settings.probe_ms);
        RemoteQuery { git: &git, address, list_file: None, timeout, must_stop }.ask(None).map(drop)
    }

    /// Brings the mirror up to date with the default branch, and with other branches and tags that match patterns; without
    /// patterns, with none. Another run that fetches the same address is waited for.
    ///
    /// Problems with other branches and tags are reported as notes, and the default branch is fetched all the same.
    ///
    /// # Errors
    /// As [`Self::probe`]; `STORAGE_UNAVAILABLE` if it cannot be written; `INVALID_REQUEST` if it is larger than
    /// `git.mirror_bytes_max`, or all mirrors together than `git.mirrors_bytes_max`; `TOOL_TIMEOUT` after `git.fetch_ms` in all.
    /// What the mirror had before stays.
    pub fn fetch(
        &self,
        address: &RepositoryAddress,
        patterns: &RevisionPatterns,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<Fetched, Fault> {
        let address = &address.repository();
        let deadline = Instant::now() + Duration::from_millis(self.settings.fetch_ms);
        let is_late = || Instant::now() >= deadline;
        let fetched = self.fetch_until(address, patterns, &|| must_stop() || is_late());
        fetched.map_err(|fault| match fault.code {
            ErrorCode::Cancelled if is_late() && !must_stop() => too_slow(address, self.settings.fetch_ms),
            _ => fault,
        })
    }

    fn fetch_until(
        &self,
        address: &RepositoryAddress,
        patterns: &RevisionPatterns,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<Fetched, Fault> {
        fs::create_dir_all(&self.folder).map_err(not_written)?;
        let git_dir = self.git_dir(address);
        let _lock = MirrorLock::wait(&git_dir.with_extension("lock"), must_stop)?;
        // It remains if a fetch was killed.
        let _ = fs::remove_dir_all(git_dir.with_extension(FRESH_ENDING));
        let git = Git::new(&self.settings, address)?;
        git.require_version(must_stop)?;
        let known_url = address_file::read(&git_dir).filter(|file| file.address == address.as_str());
        let known_url = known_url.map(|file| file.url);
        let list_file = git_dir.with_extension(LIST_ENDING);
        let query = RemoteQuery {
            git: &git,
            address,
            list_file: (!patterns.is_empty()).then_some(list_file.as_path()),
            timeout: Duration::from_millis(self.settings.probe_ms),
            must_stop,
        };
        let answer = ask(&query, known_url.as_deref())?;
        let Selection { revisions, mut notes } = selection::select(&answer, patterns, must_stop)?;
        // Without its packs, a mirror cannot accept new objects; all of its content can be fetched again.
        let is_new = known_url.is_none() || !address_file::has_all_packs(&git_dir);
        let folders = [self.folder.clone(), self.folder.join(config::ARCHIVES_FOLDER)];
        let total_size = TotalSize::new(folders, &git_dir, self.settings.mirrors_bytes_max);
        let fetching = Fetching {
            settings: &self.settings,
            disk_space: &self.disk_space,
            git: &git,
            address,
            git_dir: &git_dir,
            remote: &answer.head,
            revisions: &revisions,
            total_size: &total_size,
            must_stop,
        };
        let commit = fetching.update(is_new)?;
        let (revisions, left_out) = fetching.keep_revisions()?;
        notes.extend(left_out);
        let head = Head { branch: answer.head.branch().map(str::to_owned), commit };
        Ok(Fetched { git_dir, head, revisions, notes })
    }

    /// Returns the mirrors of other addresses than these that no run has used during `kept`, with their sizes. A mirror that is being
    /// fetched is not among them.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn unused(&self, used: &[RepositoryAddress], kept: Duration) -> Result<Vec<UnusedMirror>, Fault> {
        let used: Vec<PathBuf> = used.iter().map(|address| self.git_dir(address)).collect();
        let address = |git_dir: &Path| address_file::read(git_dir).map(|file| file.address);
        list_unused(&self.folder, &[MIRROR_ENDING], &used, kept, address)
    }

    /// Removes a mirror, unless a run fetches it or has used it during `kept`. Returns `true` if it was removed.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, mirror: &UnusedMirror, kept: Duration) -> Result<bool, Fault> {
        let lock = mirror.git_dir.with_extension("lock");
        let Some(_lock) = MirrorLock::try_now(&lock)? else { return Ok(false) };
        if address_file::is_recent(&mirror.git_dir, kept) {
            return Ok(false);
        }
        let failed = |error: io::Error| Fault::internal("A mirror could not be removed.", error);
        match fs::remove_dir_all(&mirror.git_dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        // They remain if fetches were killed.
        let _ = fs::remove_dir_all(mirror.git_dir.with_extension(FRESH_ENDING));
        let _ = fs::remove_file(mirror.git_dir.with_extension(LIST_ENDING));
        fs::remove_file(lock).map_err(failed)?;
        Ok(true)
    }
}

/// Lists the entries of a folder with one of these endings, sorted, without `used` and without those that a run has used during `kept` or
/// has locked. `address` reads the identity of a mirror.
pub(super) fn list_unused(
    folder: &Path,
    endings: &[&str],
    used: &[PathBuf],
    kept: Duration,
    address: impl Fn(&Path) -> Option<String>,
) -> Result<Vec<UnusedMirror>, Fault> {
    let unreadable = |error: io::Error| Fault::internal("The mirrors could not be listed.", error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let git_dir = entry.map_err(unreadable)?.path();
        let is_mirror =
            git_dir.extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending));
        if is_mirror
            && !used.contains(&git_dir)
            && !address_file::is_recent(&git_dir, kept)
            && MirrorLock::try_now(&git_dir.with_extension("lock"))?.is_some()
        {
            let (address, bytes) = (address(&git_dir), size_of(&git_dir));
            found.push(UnusedMirror { git_dir, address, bytes });
        }
    }
    found.sort_by(|a, b| a.git_dir.cmp(&b.git_dir));
    Ok(found)
}

/// Asks a host, first at the address that it accepted last.
fn ask(query: &RemoteQuery<'_>, known_url: Option<&str>) -> Result<RemoteAnswer, Fault> {
    match query.ask(known_url) {
        // The host may now accept the other spelling only.
        Err(fault) if known_url.is_some() && fault.code == ErrorCode::RepoNotFound => query.ask(None),
        answered => answered,
    }
}

fn too_slow(address: &RepositoryAddress, milliseconds: u64) -> Fault {
    let message = format!("{address} was not fetched within {} s (git.fetch_ms).", milliseconds / 1000);
    Fault::new(ErrorCode::ToolTimeout, message)
        .with_hint("Try again; for a large repository, ask the operator to raise the limit.")
}

#[cfg(test)]
mod tests;
