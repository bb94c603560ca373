//! One fetch, under the lock of the mirror.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::address_file;
use super::explain::{self, Failure};
use super::git_program::Git;
use super::remote::{RemoteHead, is_commit};
use super::revision_references::{self, name_on_host};
use super::sizes::{FRESH_ENDING, TotalSize, size_of};
use super::unwritable::not_written;
use contract::config;
use contract::{ErrorCode, Fault, RepositoryAddress, escaped_line};
use history::{CommitTree, FoundCommit, Revision};
use platform::disk_space::DiskSpace;
use platform::process::ProgramOutput;

/// The branch of a mirror that points to the fetched commit.
const FETCHED_BRANCH: &str = "refs/heads/pairofcleats";
/// Time between two checks of the size of a growing mirror, and of the free space.
const SIZE_CHECK: Duration = Duration::from_secs(1);
/// The mirror is repacked each time that its number of packs is a multiple of this.
const PACKS_STEP: usize = 50;
/// Longest time that repacking may take; it is tried again when there are more packs.
const REPACK_TIME: Duration = Duration::from_secs(600);
/// Longest time that creating an empty repository may take.
const CREATE_TIME: Duration = Duration::from_secs(60);

/// The inputs of a fetch.
pub(super) struct Fetching<'a> {
    pub(super) settings: &'a config::Git,
    pub(super) disk_space: &'a DiskSpace,
    pub(super) git: &'a Git<'a>,
    pub(super) address: &'a RepositoryAddress,
    pub(super) git_dir: &'a Path,
    pub(super) remote: &'a RemoteHead,
    /// The branches and tags to fetch beside the default branch.
    pub(super) revisions: &'a [Revision],
    /// The limit of all mirrors together.
    pub(super) total_size: &'a TotalSize<'a>,
    pub(super) must_stop: &'a dyn Fn() -> bool,
}

impl Fetching<'_> {
    /// Fetches what the mirror lacks; returns the commit of the default branch that it then has. A new mirror that cannot be filled is
    /// removed.
    pub(super) fn update(&self, is_new: bool) -> Result<String, Fault> {
        if !is_new && self.has(&self.remote.commit) && self.missing_revisions().is_empty() {
            self.require_own_size(size_of(self.git_dir))?;
            self.point_to(&self.remote.commit)?;
            self.write_address()?;
            return Ok(self.remote.commit.clone());
        }
        self.require_total_size(if is_new { 0 } else { size_of(self.git_dir) })?;
        let updated = if is_new { self.fetch_anew() } else { self.fetch_more() };
        if is_new && updated.is_err() {
            // A partial mirror is useless.
            let _ = fs::remove_dir_all(self.git_dir);
        }
        updated?;
        let commit = own_commit(self.git_dir).filter(|commit| self.has(commit));
        let commit = commit.ok_or_else(|| {
            let message = format!("{} was fetched without its commit.", self.address);
            Fault::new(ErrorCode::CommitServiceError, message)
                .with_hint("Try again; if that fails too, check the repository with `git fsck` on its host.")
        })?;
        self.repack_if_due();
        self.write_address()?;
        Ok(commit)
    }

    /// Returns the revisions that the mirror has after an update, and notes on the others. Their objects are kept from now on.
    pub(super) fn keep_revisions(&self) -> Result<(Vec<Revision>, Vec<String>), Fault> {
        let (mut kept, mut notes) = (Vec::new(), Vec::new());
        for revision in self.revisions {
            let why = match revision.find_commit(self.git_dir) {
                FoundCommit::Readable => {
                    kept.push(revision.clone());
                    continue;
                }
                FoundCommit::OtherObject => "it is not of a commit",
                FoundCommit::Unreadable => "its commit or its topmost folder is too large or malformed",
                FoundCommit::Missing => "its commit was not fetched",
            };
            let name = escaped_line(&revision.name);
            notes.push(format!("The {} `{name}` was left out, because {why}.", revision.kind.as_str()));
        }
        revision_references::update(self.git_dir, &kept).map_err(not_written)?;
        Ok((kept, notes))
    }

    fn fetch_anew(&self) -> Result<(), Fault> {
        let _ = fs::remove_dir_all(self.git_dir);
        self.create()?;
        self.fetch()
    }

    fn fetch_more(&self) -> Result<(), Fault> {
        remove_leftovers(self.git_dir);
        match self.fetch() {
            // Failures of hosts and networks are recognised; any other may be due to damage here.
            Err(fault) if fault.code == ErrorCode::CommitServiceError && !fault.retryable => {
                tracing::warn!(address = self.address.as_str(), %fault, "the mirror is fetched anew");
                self.replace()
            }
            fetched => fetched,
        }
    }

    /// Fetches everything into a second mirror, and then replaces this one.
    fn replace(&self) -> Result<(), Fault> {
        let beside = self.git_dir.with_extension(FRESH_ENDING);
        let fresh = Fetching { git_dir: &beside, ..*self };
        fresh.fetch_anew().inspect_err(|_| drop(fs::remove_dir_all(&beside)))?;
        let replaced = fs::remove_dir_all(self.git_dir).and_then(|()| fs::rename(&beside, self.git_dir));
        replaced.map_err(not_written)
    }

    /// Checks both limits with the mirror's current size.
    fn require_sizes(&self) -> Result<(), Fault> {
        let own_bytes = size_of(self.git_dir);
        self.require_own_size(own_bytes)?;
        self.require_total_size(own_bytes)
    }

    /// Checks the size of this mirror, which has `own_bytes`.
    fn require_own_size(&self, own_bytes: u64) -> Result<(), Fault> {
        let bytes_max = self.settings.mirror_bytes_max;
        if own_bytes <= bytes_max {
            return Ok(());
        }
        let message = format!(
            "The objects of {} have more than {bytes_max} bytes, which git.mirror_bytes_max allows.",
            self.address
        );
        Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Ask the operator to raise the limit, or index a clone of the part that is needed."))
    }

    /// Checks the size of all mirrors together; this one has `own_bytes`.
    fn require_total_size(&self, own_bytes: u64) -> Result<(), Fault> {
        self.total_size.require(own_bytes, &format!("{} was not fetched", self.address))
    }

    /// Writes the identity of the mirror and the list of its packs; the time of the file is that of the last fetch.
    fn write_address(&self) -> Result<(), Fault> {
        address_file::write(self.git_dir, self.address, &self.remote.url).map_err(not_written)
    }

    /// Returns the revisions whose commits the mirror lacks.
    fn missing_revisions(&self) -> Vec<&Revision> {
        let is_missing = |revision: &&Revision| revision.find_commit(self.git_dir) == FoundCommit::Missing;
        self.revisions.iter().filter(is_missing).collect()
    }

    fn has(&self, commit: &str) -> bool {
        CommitTree::open(self.git_dir, commit).is_ok_and(|tree| tree.root().is_ok())
    }

    fn create(&self) -> Result<(), Fault> {
        let path = self.git_dir.as_os_str();
        let arguments =
            ["init".as_ref(), "--quiet".as_ref(), "--bare".as_ref(), "--template=".as_ref(), path];
        let output = self.git.run(Some(self.git_dir), arguments, CREATE_TIME, self.must_stop)?;
        if output.status.success() { Ok(()) } else { Err(self.explain(&output)) }
    }

    fn explain(&self, output: &ProgramOutput) -> Fault {
        explain::fault(output, self.address, &self.remote.url)
    }

    fn fetch(&self) -> Result<(), Fault> {
        let missing: Vec<String> = self.missing_revisions().into_iter().map(name_on_host).collect();
        let mut output = self.run_fetch(&missing)?;
        let is_gone = |output: &ProgramOutput| {
            !output.status.success() && explain::failure(output, &self.remote.url) == Failure::ReferenceGone
        };
        if !missing.is_empty() && is_gone(&output) {
            // It was removed since the host listed it. The default branch does not wait for the next run.
            output = self.run_fetch(&[])?;
        }
        if !output.status.success() {
            return Err(self.explain(&output));
        }
        // It may have grown beyond a limit since the last check. Fetched objects stay, so the next run has nothing to fetch.
        self.require_sizes()
    }

    /// Fetches the default branch into the branch of the mirror, and the objects of other references of the host.
    fn run_fetch(&self, references: &[String]) -> Result<ProgramOutput, Fault> {
        let from = self.remote.reference.as_deref().unwrap_or("HEAD");
        let what = format!("+{from}:{FETCHED_BRANCH}");
        let upload_pack = self.git.upload_pack_option();
        let arguments = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"].into_iter();
        let arguments = arguments.chain(upload_pack.as_deref()).chain(["--", &self.remote.url, &what]);
        let arguments = arguments.chain(references.iter().map(String::as_str));
        let (stopped, checked) = (RefCell::new(None), Cell::new(Instant::now()));
        let must_stop = || {
            if checked.get().elapsed() >= SIZE_CHECK {
                checked.set(Instant::now());
                *stopped.borrow_mut() = self.check_growth().err();
            }
            stopped.borrow().is_some() || (self.must_stop)()
        };
        let timeout = Duration::from_millis(self.settings.fetch_ms);
        let output = self.git.run(Some(self.git_dir), arguments, timeout, &must_stop);
        remove_leftovers(self.git_dir);
        match stopped.take() {
            Some(fault) => Err(fault),
            None => output,
        }
    }

    /// Checks all limits of the mirror that is being written.
    fn check_growth(&self) -> Result<(), Fault> {
        self.require_sizes()?;
        self.disk_space.check()
    }

    /// Makes an existing commit of the mirror the one that was fetched last, for example after a branch was reset.
    fn point_to(&self, commit: &str) -> Result<(), Fault> {
        if own_commit(self.git_dir).as_deref() == Some(commit) {
            return Ok(());
        }
        let reference = self.git_dir.join(FETCHED_BRANCH);
        let next = reference.with_extension("next");
        let written = fs::write(&next, format!("{commit}\n")).and_then(|()| fs::rename(&next, &reference));
        written.map_err(not_written)
    }

    /// Repacks the mirror if it has many packs, which make reading slow. Commits that are no longer on any branch are kept, because runs
    /// may still read them.
    fn repack_if_due(&self) {
        let packs = address_file::packs(self.git_dir).len();
        if packs == 0 || !packs.is_multiple_of(PACKS_STEP) {
            return;
        }
        let arguments = ["repack", "-a", "-d", "-q", "--keep-unreachable"];
        match self.git.run(Some(self.git_dir), arguments, REPACK_TIME, self.must_stop) {
            Ok(output) if output.status.success() => {}
            Ok(output) => tracing::warn!(stderr = output.stderr_tail(3), "a mirror could not be repacked"),
            Err(fault) => tracing::warn!(%fault, "a mirror could not be repacked"),
        }
        remove_leftovers(self.git_dir);
    }
}

/// Returns the commit that was fetched last.
pub(super) fn own_commit(git_dir: &Path) -> Option<String> {
    let loose = fs::read_to_string(git_dir.join(FETCHED_BRANCH)).ok();
    let packed = || {
        let lines = fs::read_to_string(git_dir.join("packed-refs")).ok()?;
        let line = lines.lines().find(|line| line.ends_with(&format!(" {FETCHED_BRANCH}")))?;
        line.split_once(' ').map(|(id, _)| id.to_owned())
    };
    loose.or_else(packed).map(|text| text.trim().to_owned()).filter(|text| is_commit(text))
}

/// Removes the remains of an interrupted fetch.
fn remove_leftovers(git_dir: &Path) {
    for folder in ["objects/pack", "objects"] {
        for entry in fs::read_dir(git_dir.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("tmp_") || name.starts_with(".tmp-") {
                // A folder remains if a fetch was killed.
                let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
            }
        }
    }
    for lock in ["shallow.lock", "packed-refs.lock", "config.lock", &format!("{FETCHED_BRANCH}.lock")] {
        let _ = fs::remove_file(git_dir.join(lock));
    }
}
