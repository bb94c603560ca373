//! Walks a repository: finds its regular files, without ignored, vendored and generated ones.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::file::{SkipReason, root_fault};
use super::file_tree::{FileTree, TreeFolder};
use super::ignored::{GIT_DIR, IgnoreRules, IgnoredBy};
use super::skipped_directories::skip_reason;
use super::tracked::Tracked;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::safe_open::{DirectoryEntry, EntryKind, FileMetadata};
use store::INDEXED_TEXT_BYTES_MAX;
use tenancy::AllowedRoots;

/// Maximum number of skipped paths that are listed; all are counted.
const SKIPPED_NAMED_MAX: usize = 10_000;

/// Maximum number of reported reasons for an incomplete walk.
const INCOMPLETE_REASONS_MAX: usize = 20;

/// Maximum number of entries of a directory and of those above it together, which are in memory at once; about 150 bytes each.
const OPEN_ENTRIES_MAX: usize = 1_000_000;

/// Limits of a walk (`[indexing]` in the configuration).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WalkLimits {
    /// Maximum number of files; beyond it the walk stops and is incomplete.
    pub(super) files_max: usize,
    /// Maximum nesting depth below the root.
    pub(super) depth_max: usize,
    /// Time limit; beyond it the walk stops and is incomplete.
    pub(super) time_max: Duration,
    /// Directories of this program, without links: they hold its database, copies of configuration files and keys.
    pub(super) own_directories: Vec<PathBuf>,
}

impl From<&config::Indexing> for WalkLimits {
    fn from(settings: &config::Indexing) -> Self {
        Self {
            files_max: settings.files_max,
            depth_max: settings.walk_depth_max,
            time_max: Duration::from_millis(settings.walk_ms_max),
            own_directories: own_directories(settings),
        }
    }
}

/// Returns the data directory and the places of clusters outside of it, if they exist.
fn own_directories(settings: &config::Indexing) -> Vec<PathBuf> {
    let clusters = config::RELOCATED_CLUSTERS.iter().map(Path::new);
    let directories = settings.data_directory.as_deref().into_iter().chain(clusters);
    directories.filter_map(|directory| directory.canonicalize().ok()).collect()
}

/// A regular file to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WalkedFile {
    /// Path below the root with `/`.
    pub(super) path: String,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Modification time in nanoseconds since 1970; only a hint.
    pub(super) modified_ns: i64,
}

/// A skipped file, or a skipped directory if the path ends in `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedPath {
    /// Path below the root with `/`; lossy if the name is not UTF-8.
    pub(super) path: String,
    pub(super) reason: SkipReason,
}

/// The result of a walk. Ignored files are in neither list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WalkResult {
    /// Files, sorted by path.
    pub(super) entries: Vec<WalkedFile>,
    /// The first 10,000 skipped paths that the walk found, sorted by path.
    pub(super) skipped: Vec<SkippedPath>,
    /// Total number of skipped paths.
    pub(super) skipped_count: usize,
    /// Reasons why the walk is incomplete, one sentence each. If there is any, a file that is missing from `entries`
    /// may still exist, so no file may be deleted from the index.
    pub(super) incomplete: Vec<String>,
    /// `true` if something could not be read for a reason other than that it vanished or became a link.
    pub(super) is_damaged: bool,
    /// Notes about rejected ignore files, one sentence each.
    pub(super) notes: Vec<String>,
}

impl WalkResult {
    /// Returns whether every directory was read completely.
    #[must_use]
    pub(super) fn is_complete(&self) -> bool {
        self.incomplete.is_empty()
    }

    fn skip(&mut self, mut path: String, reason: SkipReason) {
        self.skipped_count += 1;
        path.truncate(path.floor_char_boundary(INDEXED_TEXT_BYTES_MAX));
        if self.skipped.len() < SKIPPED_NAMED_MAX {
            self.skipped.push(SkippedPath { path, reason });
        }
    }
}

/// Walks the repository at `root`, whose files are in `tree`. Of the directories above it, only those in `allowed` are read for ignore
/// rules. Polls `cancelled` at every entry; a cancelled walk is incomplete.
///
/// # Errors
/// `NOT_FOUND` if the root is missing or not a directory, `FORBIDDEN` if it may not be read.
pub(super) fn walk(
    root: &Path,
    tree: &FileTree,
    allowed: &AllowedRoots,
    limits: &WalkLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<WalkResult, Fault> {
    walk_with_directories(root, tree, allowed, limits, cancelled, &mut |_| {})
}

/// Walks a repository and calls `on_directory` for each directory that it enters, beginning with the root.
///
/// # Errors
/// The faults of [`walk`].
pub(super) fn walk_with_directories(
    root: &Path,
    tree: &FileTree,
    allowed: &AllowedRoots,
    limits: &WalkLimits,
    cancelled: &dyn Fn() -> bool,
    on_directory: &mut dyn FnMut(&Path),
) -> Result<WalkResult, Fault> {
    let folder = tree.open(root)?;
    if folder.is_kernel_file_system() {
        return Err(Fault::new(ErrorCode::Forbidden, "The directory is a pseudo file system of the kernel.")
            .with_hint("Choose the directory of a repository."));
    }
    let mut walker = Walker {
        root,
        canonical_root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
        limits,
        deadline: Instant::now() + limits.time_max,
        cancelled,
        on_directory,
        rules: match tree {
            FileTree::Directory => IgnoreRules::inherited(root, allowed),
            FileTree::Commit { .. } => IgnoreRules::of_folders(root, &tree.open_above(root)?),
        },
        tracked: Tracked::new(root, tree, allowed),
        open_entries: 0,
        walk: WalkResult::default(),
    };
    // If the walk stopped early, `incomplete` has the reason.
    let _ = walker.walk_directory(&folder, "", 0, false)?;
    let Walker { mut walk, rules, .. } = walker;
    walk.notes = rules.into_notes();
    walk.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walk.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(walk)
}

/// The state of a walk. `ControlFlow::Break` stops it; the reason is in `incomplete`.
struct Walker<'a> {
    root: &'a Path,
    canonical_root: PathBuf,
    limits: &'a WalkLimits,
    deadline: Instant,
    cancelled: &'a dyn Fn() -> bool,
    on_directory: &'a mut dyn FnMut(&Path),
    rules: IgnoreRules,
    tracked: Tracked<'a>,
    /// Entries of the directory that is walked and of those above it.
    open_entries: usize,
    walk: WalkResult,
}

impl Walker<'_> {
    /// Walks a directory; `path` is its path below the root, `depth` 0 for the root. If git ignores it, only tracked files in it are
    /// examined.
    ///
    /// # Errors
    /// Only if the root itself cannot be read.
    fn walk_directory(
        &mut self,
        folder: &TreeFolder,
        path: &str,
        depth: usize,
        is_ignored: bool,
    ) -> Result<ControlFlow<()>, Fault> {
        let here = self.root.join(path);
        (self.on_directory)(&here);
        let (mut entries, is_complete) = match folder.entries(self.entries_max()) {
            Ok(read) => read,
            Err(error) if depth == 0 => return Err(root_fault(error)),
            Err(error) => {
                self.record_unreadable(path, true, &error);
                return Ok(ControlFlow::Continue(()));
            }
        };
        if self.open_entries + entries.len() > OPEN_ENTRIES_MAX {
            let reason =
                format!("`{}` and the directories above it have too many entries.", display_path(path));
            return Ok(self.stop_at(format!("{}/", display_path(path)), reason));
        }
        let count = entries.len();
        if count == 0 && depth > 0 && self.tracked.is_submodule(path) {
            self.walk.skip(format!("{path}/"), SkipReason::Submodule);
        }
        self.open_entries += count;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.rules.enter(folder, &here, path);
        let is_repository = depth > 0 && folder.entry_kind(GIT_DIR).is_some();
        if is_repository {
            self.tracked.enter(path);
        }
        let mut flow = entries
            .into_iter()
            .try_for_each(|entry| self.visit_entry(folder, path, &entry, depth + 1, is_ignored));
        if is_repository {
            self.tracked.leave();
        }
        self.rules.leave();
        self.open_entries -= count;
        if !is_complete && flow.is_continue() {
            let reason = format!("`{}` has too many entries.", display_path(path));
            flow = self.stop_at(format!("{}/", display_path(path)), reason);
        }
        Ok(flow)
    }

    /// Returns the maximum number of entries read from one directory, to limit memory.
    fn entries_max(&self) -> usize {
        self.limits.files_max.saturating_mul(2).saturating_add(1000)
    }

    fn visit_entry(
        &mut self,
        parent: &TreeFolder,
        parent_path: &str,
        entry: &DirectoryEntry,
        depth: usize,
        is_ignored: bool,
    ) -> ControlFlow<()> {
        let is_folder = entry.kind == EntryKind::Folder;
        let name = entry.name.to_string_lossy();
        let path = if parent_path.is_empty() { name.to_string() } else { format!("{parent_path}/{name}") };
        self.check_stop(&path, is_folder)?;
        if entry.name == GIT_DIR {
            return ControlFlow::Continue(());
        }
        let must_stop = || (self.cancelled)() || Instant::now() >= self.deadline;
        let full_path = self.root.join(parent_path).join(&entry.name);
        let ignored = self.rules.ignored(&full_path, is_folder, &must_stop);
        self.check_stop(&path, is_folder)?;
        let is_ignored = match ignored {
            Some(IgnoredBy::Product) => return ControlFlow::Continue(()),
            ignored => is_ignored || ignored.is_some(),
        };
        if is_ignored && !self.tracked.has(&path, is_folder) {
            return ControlFlow::Continue(());
        }
        if is_folder {
            self.visit_directory(parent, path, entry, depth, is_ignored)
        } else {
            self.visit_file(parent, path, entry)
        }
    }

    /// Stops the walk if it was cancelled or its time is over.
    fn check_stop(&mut self, path: &str, is_folder: bool) -> ControlFlow<()> {
        if (self.cancelled)() {
            return self.stop("The walk was cancelled.".to_owned());
        }
        if Instant::now() >= self.deadline {
            let seconds = self.limits.time_max.as_secs_f64();
            let slash = if is_folder { "/" } else { "" };
            let reason = format!("The walk took longer than {seconds} s (indexing.walk_ms_max).");
            return self.stop_at(format!("{path}{slash}"), reason);
        }
        ControlFlow::Continue(())
    }

    fn visit_directory(
        &mut self,
        parent: &TreeFolder,
        path: String,
        entry: &DirectoryEntry,
        depth: usize,
        is_ignored: bool,
    ) -> ControlFlow<()> {
        let Some(name) = entry.name.to_str() else {
            self.walk.skip(format!("{path}/"), SkipReason::NameNotUtf8);
            return ControlFlow::Continue(());
        };
        let folder = match parent.open_folder(name) {
            Ok(folder) => folder,
            Err(error) => {
                self.record_unreadable(&path, true, &error);
                return ControlFlow::Continue(());
            }
        };
        let is_own = self.is_own(&path);
        let reason = is_own.then_some(SkipReason::OwnData);
        let reason = reason
            .or_else(|| skip_reason(&folder, name, depth))
            .or_else(|| (depth >= self.limits.depth_max).then_some(SkipReason::TooDeep));
        if let Some(reason) = reason {
            self.walk.skip(format!("{path}/"), reason);
            return ControlFlow::Continue(());
        }
        // Only a fault of the root fails the walk.
        self.walk_directory(&folder, &path, depth, is_ignored).unwrap_or(ControlFlow::Continue(()))
    }

    /// Returns whether the directory `path` below the root belongs to this program.
    fn is_own(&self, path: &str) -> bool {
        let mut below_root =
            self.limits.own_directories.iter().filter_map(|own| own.strip_prefix(&self.canonical_root).ok());
        below_root.any(|own| own == Path::new(path))
    }

    fn visit_file(&mut self, parent: &TreeFolder, path: String, entry: &DirectoryEntry) -> ControlFlow<()> {
        let reason = match entry.kind {
            EntryKind::Link => Some(SkipReason::Link),
            // In a commit, only a submodule is neither a file, a link nor a folder.
            EntryKind::Other if matches!(parent, TreeFolder::Commit(_)) => Some(SkipReason::Submodule),
            EntryKind::Other | EntryKind::Folder => Some(SkipReason::NotRegular),
            EntryKind::File if entry.name.to_str().is_none() => Some(SkipReason::NameNotUtf8),
            EntryKind::File => (path.len() > INDEXED_TEXT_BYTES_MAX).then_some(SkipReason::PathTooLong),
        };
        match (reason, parent.metadata(&entry.name)) {
            (Some(reason), _) => self.walk.skip(path, reason),
            (None, Ok(FileMetadata { bytes, modified_ns })) => {
                if self.walk.entries.len() >= self.limits.files_max {
                    let reason = format!("There are more than {} files.", self.limits.files_max);
                    return self.stop_at(path, reason);
                }
                self.walk.entries.push(WalkedFile { path, bytes, modified_ns });
            }
            (None, Err(error)) => self.record_unreadable(&path, false, &error),
        }
        ControlFlow::Continue(())
    }

    /// Stops before `path`, which is omitted with everything that would follow.
    fn stop_at(&mut self, path: String, reason: String) -> ControlFlow<()> {
        self.walk.skip(path, SkipReason::NotReached);
        self.stop(reason)
    }

    fn stop(&mut self, reason: String) -> ControlFlow<()> {
        self.walk.incomplete.push(reason);
        ControlFlow::Break(())
    }

    /// Records an entry that could not be read. Ignores entries that vanished or became links meanwhile.
    fn record_unreadable(&mut self, path: &str, is_folder: bool, error: &io::Error) {
        let gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let is_bad_content = error.kind() == io::ErrorKind::InvalidData;
        self.walk.is_damaged |= !gone && !is_bad_content;
        if !gone {
            let slash = if is_folder { "/" } else { "" };
            self.walk.skip(format!("{path}{slash}"), SkipReason::Unreadable);
        }
        if !gone && self.walk.incomplete.len() < INCOMPLETE_REASONS_MAX {
            let (path, reason) = (display_path(path), error.kind());
            self.walk.incomplete.push(format!("`{path}` could not be read: {reason}."));
        }
    }
}

fn display_path(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

#[cfg(test)]
mod tests;
