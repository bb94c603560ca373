//! The mirrors of one installation: fetched, opened and removed.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::explain;
use super::git_program::Git;
use super::lock::MirrorLock;
use super::remote::{self, RemoteHead, is_commit};
use contract::config;
use contract::{ErrorCode, Fault, RepositoryAddress};
use history::{CommitTree, FoundRepository, Head, NoHistory};

/// The branch of a mirror that holds what was fetched.
const OWN_REFERENCE: &str = "refs/heads/pairofcleats";
/// The file in a mirror with its address, and with the spelling that the host understands, on one line each.
const ADDRESS_FILE: &str = "pairofcleats";
/// Time between two looks at the size of a mirror that grows.
const SIZE_CHECK: Duration = Duration::from_secs(1);
/// Packs beyond which the mirror is packed anew.
const PACKS_MAX: usize = 50;
/// Longest time that packing anew may take; it is tried again after the next fetch.
const REPACK_TIME: Duration = Duration::from_secs(600);
/// Folders below the objects of a mirror: one for each first byte, packs and information.
const OBJECT_FOLDERS_MAX: usize = 300;

/// The folder with all mirrors.
#[derive(Debug, Clone)]
pub struct Mirrors {
    folder: PathBuf,
    settings: config::Git,
}

/// A commit that a mirror has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The bare repository.
    pub git_dir: PathBuf,
    /// The default branch on the host, if it says so, and the commit.
    pub head: Head,
}

/// A mirror that no repository uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedMirror {
    /// Its folder.
    pub git_dir: PathBuf,
    /// The address, if the mirror says it.
    pub address: Option<String>,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Mirrors {
    /// The mirrors below `folder`.
    #[must_use]
    pub fn new(folder: PathBuf, settings: config::Git) -> Self {
        Self { folder, settings }
    }

    /// The mirror of an address; it need not exist. Folders of a repository share it.
    #[must_use]
    pub fn git_dir(&self, address: &RepositoryAddress) -> PathBuf {
        let hash = blake3::hash(address.repository().as_str().as_bytes()).to_hex();
        self.folder.join(format!("{}.git", &hash[..32]))
    }

    /// Asks the host for the default branch; writes nothing.
    ///
    /// # Errors
    /// Says why the repository cannot be fetched.
    pub fn probe(
        &self,
        address: &RepositoryAddress,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<RemoteHead, Fault> {
        let address = &address.repository();
        let git = Git::new(&self.settings, address)?;
        remote::head(&git, address, None, Duration::from_millis(self.settings.probe_ms), must_stop)
    }

    /// Brings the mirror up to date with the default branch. Another run that fetches the same address is waited for.
    ///
    /// # Errors
    /// As [`Self::probe`]; `STORAGE_UNAVAILABLE` if it cannot be written; `INVALID_REQUEST` if it is larger than
    /// `git.mirror_bytes_max`. What the mirror had before stays.
    pub fn fetch(&self, address: &RepositoryAddress, must_stop: &dyn Fn() -> bool) -> Result<Fetched, Fault> {
        let address = &address.repository();
        fs::create_dir_all(&self.folder).map_err(not_written)?;
        let git_dir = self.git_dir(address);
        let _lock = MirrorLock::wait(&git_dir.with_extension("lock"), must_stop)?;
        let git = Git::new(&self.settings, address)?;
        let known_url = read_url(&git_dir, address);
        let probe = Duration::from_millis(self.settings.probe_ms);
        let remote = match remote::head(&git, address, known_url.as_deref(), probe, must_stop) {
            // The host may have come to understand the other spelling only.
            Err(fault) if known_url.is_some() && fault.code == ErrorCode::RepoNotFound => {
                remote::head(&git, address, None, probe, must_stop)?
            }
            asked => asked?,
        };
        let fetching =
            Fetching { mirrors: self, git: &git, address, git_dir: &git_dir, remote: &remote, must_stop };
        let is_new = known_url.is_none();
        let fetched = fetching.update(is_new);
        if is_new && fetched.is_err() {
            // Half a mirror is of no use.
            let _ = fs::remove_dir_all(&git_dir);
        }
        let commit = fetched?;
        Ok(Fetched { git_dir, head: Head { branch: remote.branch().map(str::to_owned), commit } })
    }

    /// Opens the files of a commit that was fetched.
    ///
    /// # Errors
    /// If there is no mirror here, or it has no such commit.
    pub fn open(&self, address: &RepositoryAddress, commit: &str) -> io::Result<CommitTree> {
        CommitTree::open(&self.git_dir(address), commit)
    }

    /// The commit that was fetched last.
    #[must_use]
    pub fn last_commit(&self, address: &RepositoryAddress) -> Option<String> {
        own_commit(&self.git_dir(address))
    }

    /// The mirrors of other addresses than these that no run has asked for during `kept`, with their sizes.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn unused(&self, used: &[RepositoryAddress], kept: Duration) -> io::Result<Vec<UnusedMirror>> {
        let used: Vec<PathBuf> = used.iter().map(|address| self.git_dir(address)).collect();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let git_dir = entry?.path();
            let is_mirror = git_dir.extension().is_some_and(|extension| extension == "git");
            let asked_for = fs::metadata(git_dir.join(ADDRESS_FILE)).and_then(|file| file.modified());
            let is_recent = asked_for.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < kept));
            if is_mirror && !is_recent && !used.contains(&git_dir) {
                let address = read_address_file(&git_dir).map(|(address, _)| address);
                found.push(UnusedMirror { bytes: size_of(&git_dir), address, git_dir });
            }
        }
        found.sort_by(|a, b| a.git_dir.cmp(&b.git_dir));
        Ok(found)
    }

    /// Removes a mirror, unless a run uses its lock. Returns whether it was removed.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, mirror: &UnusedMirror) -> Result<bool, Fault> {
        let lock = mirror.git_dir.with_extension("lock");
        let Some(_lock) = MirrorLock::try_now(&lock)? else { return Ok(false) };
        let failed = |error: io::Error| Fault::internal("A mirror could not be removed.", error);
        match fs::remove_dir_all(&mirror.git_dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::remove_file(lock).map_err(failed)?;
        Ok(true)
    }
}

/// One fetch, under the lock of the mirror.
struct Fetching<'a> {
    mirrors: &'a Mirrors,
    git: &'a Git<'a>,
    address: &'a RepositoryAddress,
    git_dir: &'a Path,
    remote: &'a RemoteHead,
    must_stop: &'a dyn Fn() -> bool,
}

impl Fetching<'_> {
    /// Fetches what the mirror lacks; returns the commit that it has then.
    fn update(&self, is_new: bool) -> Result<String, Fault> {
        if !is_new && self.has(&self.remote.commit) {
            self.point_to(&self.remote.commit)?;
            self.write_address()?;
            return Ok(self.remote.commit.clone());
        }
        if is_new {
            let _ = fs::remove_dir_all(self.git_dir);
            self.create()?;
        }
        remove_leftovers(self.git_dir);
        match self.fetch() {
            // A mirror that is damaged cannot take anything more; its content is the host's.
            Err(fault) if !is_new && is_damaged(self.git_dir) => {
                tracing::warn!(address = self.address.as_str(), %fault, "a damaged mirror is fetched again");
                fs::remove_dir_all(self.git_dir).map_err(not_written)?;
                self.create()?;
                self.fetch()?;
            }
            fetched => fetched?,
        }
        let commit = own_commit(self.git_dir).filter(|commit| self.has(commit));
        let commit = commit.ok_or_else(|| {
            Fault::new(
                ErrorCode::CommitServiceError,
                format!("{} was fetched without its commit.", self.address),
            )
            .with_hint("Try again; if that fails too, check the repository with `git fsck` on its host.")
        })?;
        self.write_address()?;
        self.repack_if_due();
        Ok(commit)
    }

    /// Writes what the mirror is of; the time of the file is that of the last fetch.
    fn write_address(&self) -> Result<(), Fault> {
        write_address_file(self.git_dir, self.address, &self.remote.url).map_err(not_written)
    }

    fn has(&self, commit: &str) -> bool {
        CommitTree::open(self.git_dir, commit).is_ok_and(|tree| tree.root().is_ok())
    }

    fn create(&self) -> Result<(), Fault> {
        let path = self.git_dir.as_os_str();
        let arguments =
            ["init".as_ref(), "--quiet".as_ref(), "--bare".as_ref(), "--template=".as_ref(), path];
        let output = self.git.run(Some(self.git_dir), arguments, Duration::from_secs(60), self.must_stop)?;
        if output.status.success() { Ok(()) } else { Err(explain::fault(&output, self.address)) }
    }

    fn fetch(&self) -> Result<(), Fault> {
        let settings = &self.mirrors.settings;
        let from = self.remote.reference.as_deref().unwrap_or("HEAD");
        let what = format!("+{from}:{OWN_REFERENCE}");
        let arguments =
            ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", &self.remote.url, &what];
        let (too_large, checked) = (Cell::new(false), Cell::new(Instant::now()));
        let must_stop = || {
            if checked.get().elapsed() >= SIZE_CHECK {
                checked.set(Instant::now());
                too_large.set(size_of(self.git_dir) > settings.mirror_bytes_max);
            }
            too_large.get() || (self.must_stop)()
        };
        let timeout = Duration::from_millis(settings.fetch_ms);
        let output = self.git.run(Some(self.git_dir), arguments, timeout, &must_stop);
        remove_leftovers(self.git_dir);
        if too_large.get() || size_of(self.git_dir) > settings.mirror_bytes_max {
            return Err(too_large_fault(self.address, settings.mirror_bytes_max));
        }
        let output = output?;
        if output.status.success() { Ok(()) } else { Err(explain::fault(&output, self.address)) }
    }

    /// Makes a commit that the mirror has the one that was fetched last, for example after a branch was set back.
    fn point_to(&self, commit: &str) -> Result<(), Fault> {
        if own_commit(self.git_dir).as_deref() == Some(commit) {
            return Ok(());
        }
        let reference = self.git_dir.join(OWN_REFERENCE);
        let next = reference.with_extension("next");
        fs::write(&next, format!("{commit}\n"))
            .and_then(|()| fs::rename(&next, &reference))
            .map_err(not_written)
    }

    /// Packs the mirror anew if it has many packs, which make reading slow. Commits that no branch has any more are dropped.
    fn repack_if_due(&self) {
        let packs = fs::read_dir(self.git_dir.join("objects/pack")).map_or(0, |entries| {
            let is_pack = |path: PathBuf| path.extension().is_some_and(|extension| extension == "pack");
            entries.flatten().filter(|entry| is_pack(entry.path())).count()
        });
        if packs <= PACKS_MAX {
            return;
        }
        // Runs that began before the fetch may still read the commit that was there then.
        let arguments = ["gc", "--quiet", "--no-detach", "--prune=1.day.ago"];
        match self.git.run(Some(self.git_dir), arguments, REPACK_TIME, self.must_stop) {
            Ok(output) if output.status.success() => {}
            Ok(output) => tracing::warn!(said = output.stderr_tail(3), "a mirror could not be packed anew"),
            Err(fault) => tracing::warn!(%fault, "a mirror could not be packed anew"),
        }
    }
}

/// The commit that was fetched last.
fn own_commit(git_dir: &Path) -> Option<String> {
    let loose = fs::read_to_string(git_dir.join(OWN_REFERENCE)).ok();
    let packed = || {
        let lines = fs::read_to_string(git_dir.join("packed-refs")).ok()?;
        let line = lines.lines().find(|line| line.ends_with(&format!(" {OWN_REFERENCE}")))?;
        line.split_once(' ').map(|(id, _)| id.to_owned())
    };
    loose.or_else(packed).map(|text| text.trim().to_owned()).filter(|text| is_commit(text))
}

/// Whether the mirror cannot be read any more.
fn is_damaged(git_dir: &Path) -> bool {
    let Some(commit) = own_commit(git_dir) else { return true };
    let head = Head { branch: None, commit };
    match FoundRepository::in_mirror(git_dir, head.clone(), "").and_then(FoundRepository::open) {
        Ok(_) => CommitTree::open(git_dir, &head.commit).and_then(|tree| tree.root()).is_err(),
        Err(NoHistory::Absent | NoHistory::Refused(_)) => true,
    }
}

/// Removes what an interrupted fetch left.
fn remove_leftovers(git_dir: &Path) {
    for folder in ["objects/pack", "objects"] {
        for entry in fs::read_dir(git_dir.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("tmp_") {
                // A folder is left by a fetch that was killed.
                let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
            }
        }
    }
    for lock in ["shallow.lock", "packed-refs.lock", "config.lock", &format!("{OWN_REFERENCE}.lock")] {
        let _ = fs::remove_file(git_dir.join(lock));
    }
}

/// The size of the objects of a mirror in bytes.
fn size_of(git_dir: &Path) -> u64 {
    let size = |folder: &Path| -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.metadata().ok())
            .filter(fs::Metadata::is_file)
            .map(|file| file.len())
            .sum()
    };
    let objects = git_dir.join("objects");
    let folders = fs::read_dir(&objects).into_iter().flatten().flatten().take(OBJECT_FOLDERS_MAX);
    size(&objects) + folders.map(|folder| size(&folder.path())).sum::<u64>()
}

fn write_address_file(git_dir: &Path, address: &RepositoryAddress, url: &str) -> io::Result<()> {
    let next = git_dir.join("pairofcleats.next");
    fs::write(&next, format!("{address}\n{url}\n"))?;
    fs::rename(next, git_dir.join(ADDRESS_FILE))
}

/// The address of a mirror, and the spelling that its host understands.
fn read_address_file(git_dir: &Path) -> Option<(String, String)> {
    let text = fs::read_to_string(git_dir.join(ADDRESS_FILE)).ok()?;
    let mut lines = text.lines();
    Some((lines.next()?.to_owned(), lines.next()?.to_owned()))
}

/// The spelling that the host understood last; `None` if there is no complete mirror of this address.
fn read_url(git_dir: &Path, address: &RepositoryAddress) -> Option<String> {
    read_address_file(git_dir).filter(|(of, _)| of == address.as_str()).map(|(_, url)| url)
}

fn too_large_fault(address: &RepositoryAddress, bytes: u64) -> Fault {
    Fault::new(
        ErrorCode::InvalidRequest,
        format!("The objects of {address} have more than {bytes} bytes, which git.mirror_bytes_max allows."),
    )
    .with_hint("Ask the operator to raise the limit, or index a clone of the part that is needed.")
}

fn not_written(error: io::Error) -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, "The mirror of the repository could not be written.")
        .with_hint("Check the free space and the permissions of the data directory.")
        .with_source(error)
}

#[cfg(test)]
mod tests;
