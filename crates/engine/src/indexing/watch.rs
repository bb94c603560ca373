//! Detects changes of a repository: file events trigger a scan, and the scan decides whether anything to index has changed.
//!
//! Only directories that the walk enters are watched, so build outputs cost nothing. An event only causes a scan, so
//! many events have the same effect as one or as an overflowed event queue. A scan results in one hash over the indexed
//! files and HEAD, so changes of skipped files have no effect.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{EventKind, ModifyKind};
use notify::{Event, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::file_tree::FileTree;
use super::walk::{WalkResult, walk_with_directories};
use contract::config;
use contract::{ErrorCode, Fault};
use history::{GitDirectory, Head};
use tenancy::RepositoryRoot;

/// Maximum number of consecutive scans that find new directories.
const SCANS_MAX: usize = 8;
/// Maximum number of reference directories below the git directory that are watched.
const REFERENCE_DIRECTORIES_MAX: usize = 1000;

/// Watches one repository.
pub struct RepositoryWatch {
    root: RepositoryRoot,
    indexing: config::Indexing,
    directories_max: usize,
    changes: Changes,
    watcher: Option<RecommendedWatcher>,
    /// The reason if file events are unavailable.
    events_unavailable: Option<String>,
}

/// The result of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeScan {
    /// Hash of the indexed files and HEAD; equal hashes mean that there is nothing new to index.
    pub state: [u8; 32],
    /// Number of directories.
    pub directories: usize,
    /// The reason if file events are unavailable; the caller must then poll.
    pub events_unavailable: Option<String>,
}

/// Signals changes of a repository; clones share the signal.
#[derive(Clone, Default)]
pub struct Changes(Arc<ChangeSignal>);

#[derive(Default)]
struct ChangeSignal {
    changed: Notify,
    events: AtomicU64,
    /// `true` if the watches no longer match the tree and must be set up again.
    reset: AtomicBool,
    watched: Mutex<WatchedPaths>,
}

/// The paths whose events cause a scan.
#[derive(Default)]
struct WatchedPaths {
    directories: HashSet<PathBuf>,
    /// Directories with git references.
    git: Vec<PathBuf>,
}

impl RepositoryWatch {
    /// Creates a watch of the repository at `root`. It receives events only after the first [`RepositoryWatch::scan`].
    #[must_use]
    pub fn new(root: RepositoryRoot, indexing: config::Indexing, directories_max: usize) -> Self {
        Self {
            root,
            indexing,
            directories_max,
            changes: Changes::default(),
            watcher: None,
            events_unavailable: None,
        }
    }

    /// Returns the signal of changes.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.changes.clone()
    }

    /// Scans the repository and watches its directories, so that later changes are signalled. Blocks.
    ///
    /// # Errors
    /// `NOT_FOUND` or `FORBIDDEN` while the root cannot be read; the next scan starts from scratch. `CANCELLED`.
    pub fn scan(&mut self, cancelled: &dyn Fn() -> bool) -> Result<TreeScan, Fault> {
        if self.changes.0.reset.swap(false, Ordering::AcqRel) {
            self.reset_watches();
        }
        for _ in 0..SCANS_MAX {
            let mut directories = Vec::new();
            let walked = walk_with_directories(
                self.root.path(),
                &FileTree::Directory,
                self.root.allowed(),
                &(&self.indexing).into(),
                cancelled,
                &mut |directory| {
                    directories.push(directory.to_owned());
                },
            );
            // A root that reappears is a different directory.
            let walked = walked.inspect_err(|_| self.reset_watches())?;
            if cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, "The scan of the repository was cancelled."));
            }
            let git_directory = self.git_directory();
            let count = directories.len();
            // Scan again to find files that were created before their directory was watched.
            if self.update_watches(directories, git_directory.as_ref()) {
                continue;
            }
            let head = git_directory.and_then(|git_directory| git_directory.head().ok().flatten());
            let state = state_hash(&walked, head.as_ref());
            return Ok(TreeScan {
                state,
                directories: count,
                events_unavailable: self.events_unavailable.clone(),
            });
        }
        Err(Fault::new(
            ErrorCode::IllegalState,
            "The repository's directories change faster than they can be watched.",
        )
        .with_hint("Wait until the program that creates them has finished."))
    }

    fn git_directory(&self) -> Option<GitDirectory> {
        GitDirectory::find(self.root.path(), &|path| self.root.allowed().contains(path)).ok()
    }

    fn reset_watches(&mut self) {
        self.watcher = None;
        self.events_unavailable = None;
        *self.changes.0.lock() = WatchedPaths::default();
    }

    /// Watches exactly these directories. Returns whether any of them is new.
    fn update_watches(&mut self, directories: Vec<PathBuf>, git_directory: Option<&GitDirectory>) -> bool {
        if self.events_unavailable.is_some() {
            return false;
        }
        if directories.len() > self.directories_max {
            self.disable_events(format!("it has more than {} directories", self.directories_max));
            return false;
        }
        let git: Vec<PathBuf> = git_directory.map(git_directories).unwrap_or_default();
        let current: HashSet<PathBuf> = directories.into_iter().chain(git.iter().cloned()).collect();
        let (new, old) = {
            let mut watched = self.changes.0.lock();
            watched.git = git;
            let old: Vec<PathBuf> = watched.directories.difference(&current).cloned().collect();
            let new: Vec<PathBuf> = current.difference(&watched.directories).cloned().collect();
            // Updated before the watches are created, because events of unknown directories are ignored.
            watched.directories = current;
            (new, old)
        };
        match self.watch(&new, &old) {
            Ok(()) => !new.is_empty(),
            Err(error) => {
                self.disable_events(failure_reason(&error));
                false
            }
        }
    }

    fn disable_events(&mut self, reason: String) {
        self.reset_watches();
        self.events_unavailable = Some(reason);
    }

    fn watch(&mut self, new: &[PathBuf], old: &[PathBuf]) -> notify::Result<()> {
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                let kinds = EventKindMask::CREATE
                    | EventKindMask::REMOVE
                    | EventKindMask::MODIFY_DATA
                    | EventKindMask::MODIFY_NAME;
                let settings = notify::Config::default().with_follow_symlinks(false).with_event_kinds(kinds);
                let changes = self.changes.clone();
                none.insert(RecommendedWatcher::new(move |event| changes.on_event(&event), settings)?)
            }
        };
        if cfg!(target_os = "linux") {
            for directory in old {
                // The watch of a removed directory is already gone.
                let _ = watcher.unwatch(directory);
            }
            return new
                .iter()
                .try_for_each(|directory| watch_one(watcher, directory, RecursiveMode::NonRecursive));
        }
        // Other systems watch whole trees; events of skipped directories are filtered out.
        let git = self.changes.0.lock().git.clone();
        let tops = git
            .iter()
            .map(PathBuf::as_path)
            .chain([self.root.path()])
            .filter(|top| new.iter().any(|one| one == top));
        tops.into_iter().try_for_each(|top| watch_one(watcher, top, RecursiveMode::Recursive))
    }
}

fn watch_one(watcher: &mut RecommendedWatcher, directory: &Path, mode: RecursiveMode) -> notify::Result<()> {
    match watcher.watch(directory, mode) {
        Err(error) if has_vanished(&error) => Ok(()),
        watched => watched,
    }
}

/// Returns whether the directory vanished or became unreadable after the walk; the next scan handles it.
fn has_vanished(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => {
            matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
            )
        }
        _ => false,
    }
}

fn failure_reason(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the limit of watched directories of this machine is reached (fs.inotify.max_user_watches)"
                .to_owned()
        }
        notify::ErrorKind::Io(error)
            if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) =>
        {
            "the limit of watches of this machine is reached (fs.inotify.max_user_instances, or open files)"
                .to_owned()
        }
        _ => format!("the system cannot watch it: {error}"),
    }
}

/// Returns the directories that contain HEAD and the branches.
fn git_directories(git_directory: &GitDirectory) -> Vec<PathBuf> {
    let (own, shared) = (git_directory.git_dir.clone(), git_directory.common_dir.clone());
    let mut pending = vec![shared.join("refs/heads")];
    let mut found = vec![own];
    if !found.contains(&shared) {
        found.push(shared);
    }
    while let Some(directory) = pending.pop() {
        let Ok(entries) = directory.read_dir() else { continue };
        let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        pending.extend(below.map(|entry| entry.path()));
        found.push(directory);
        if found.len() >= REFERENCE_DIRECTORIES_MAX {
            break;
        }
    }
    found
}

/// Returns a hash over everything in the repository that determines the result of a run.
fn state_hash(walked: &WalkResult, head: Option<&Head>) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    for entry in &walked.entries {
        hash.update(entry.path.as_bytes());
        hash.update(&[0]);
        hash.update(&entry.bytes.to_le_bytes());
        hash.update(&entry.modified_ns.to_le_bytes());
    }
    if let Some(head) = head {
        hash.update(head.branch.as_deref().unwrap_or_default().as_bytes());
        hash.update(&[0]);
        hash.update(head.commit.as_bytes());
    }
    *hash.finalize().as_bytes()
}

impl Changes {
    /// Waits for a change since the last return of this method.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Returns the number of events since the last call.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.events.swap(0, Ordering::Relaxed)
    }

    fn on_event(&self, event: &notify::Result<Event>) {
        let shared = &self.0;
        match event {
            // The kernel's queue overflowed or the watch failed, so events were lost.
            Err(_) => shared.reset.store(true, Ordering::Release),
            Ok(event) if event.need_rescan() => shared.reset.store(true, Ordering::Release),
            Ok(event) => {
                let watched = shared.lock();
                if !event.paths.iter().any(|path| watched.contains(path)) {
                    return;
                }
                let moves =
                    matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
                // A watch stays with a moved directory, not with the path.
                if moves && event.paths.iter().any(|path| watched.directories.contains(path)) {
                    shared.reset.store(true, Ordering::Release);
                }
            }
        }
        shared.events.fetch_add(1, Ordering::Relaxed);
        shared.changed.notify_one();
    }
}

impl ChangeSignal {
    fn lock(&self) -> std::sync::MutexGuard<'_, WatchedPaths> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedPaths {
    /// Returns whether a change of the path can affect the index.
    fn contains(&self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(path);
        if let Some(git) = self.git.iter().find(|git| *git == parent || *git == path) {
            return is_git_reference(git, path);
        }
        self.directories.contains(parent) || self.directories.contains(path)
    }
}

/// Returns whether the path is that of HEAD or a branch. Other files of git, and lock files, change often and are
/// irrelevant.
fn is_git_reference(directory: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_below_refs = directory.components().any(|part| part.as_os_str() == "refs");
    matches!(name, "HEAD" | "packed-refs") || (is_below_refs && !name.ends_with(".lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenancy::AllowedRoots;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn settings() -> config::Indexing {
        let home = tempfile::tempdir().unwrap();
        let overrides =
            config::Overrides { home: Some(home.path().to_owned()), ..config::Overrides::default() };
        config::load(&overrides).unwrap().0.indexing
    }

    fn watch(root: &Path) -> RepositoryWatch {
        RepositoryWatch::new(AllowedRoots::any().check(root).unwrap(), settings(), 1000)
    }

    fn scan(watch: &mut RepositoryWatch) -> TreeScan {
        watch.scan(&|| false).unwrap()
    }

    async fn wait_for_change(watch: &RepositoryWatch) {
        tokio::time::timeout(std::time::Duration::from_secs(60), watch.changes().changed()).await.unwrap();
    }

    #[tokio::test]
    async fn only_indexed_files_change_the_state() {
        let root = tree(&[("a.rs", "fn a() {}"), (".gitignore", "*.log\n"), ("node_modules/x/i.js", "")]);
        let mut watch = watch(root.path());
        let before = scan(&mut watch);
        assert_eq!(
            (before.directories, &before.events_unavailable),
            (1, &None),
            "node_modules is not watched"
        );
        std::fs::write(root.path().join("a.log"), "noise").unwrap();
        wait_for_change(&watch).await;
        assert_eq!(scan(&mut watch), before, "ignored files do not change the state");
        std::fs::create_dir(root.path().join("deep")).unwrap();
        std::fs::write(root.path().join("deep/b.rs"), "fn b() {}").unwrap();
        wait_for_change(&watch).await;
        let after = scan(&mut watch);
        assert_ne!(after.state, before.state);
        assert_eq!(after.directories, 2);
        while tokio::time::timeout(std::time::Duration::from_millis(50), watch.changes().changed())
            .await
            .is_ok()
        {}
        std::fs::write(root.path().join("deep/c.rs"), "fn c() {}").unwrap();
        wait_for_change(&watch).await;
    }

    #[tokio::test]
    async fn too_many_directories_and_a_missing_root_are_reported() {
        let root = tree(&[("a/x.rs", ""), ("b/x.rs", "")]);
        let mut narrow = RepositoryWatch::new(AllowedRoots::any().check(root.path()).unwrap(), settings(), 2);
        assert!(scan(&mut narrow).events_unavailable.unwrap().contains("more than 2 directories"));
        let mut watch = watch(root.path());
        let before = scan(&mut watch);
        let away = root.path().with_extension("away");
        std::fs::rename(root.path(), &away).unwrap();
        wait_for_change(&watch).await;
        assert_eq!(watch.scan(&|| false).unwrap_err().code, ErrorCode::NotFound);
        std::fs::rename(&away, root.path()).unwrap();
        assert_eq!(scan(&mut watch), before, "the same files have the same state");
        while tokio::time::timeout(std::time::Duration::from_millis(50), watch.changes().changed())
            .await
            .is_ok()
        {}
        std::fs::write(root.path().join("b/y.rs"), "").unwrap();
        wait_for_change(&watch).await;
    }

    #[tokio::test]
    async fn a_replaced_directory_is_watched_again() {
        let root = tree(&[("a/x.rs", "1")]);
        let mut watch = watch(root.path());
        scan(&mut watch);
        for round in 0..3 {
            std::fs::rename(root.path().join("a"), root.path().join(format!("old-{round}"))).unwrap();
            std::fs::create_dir(root.path().join("a")).unwrap();
            wait_for_change(&watch).await;
            scan(&mut watch);
            while tokio::time::timeout(std::time::Duration::from_millis(50), watch.changes().changed())
                .await
                .is_ok()
            {
                scan(&mut watch);
            }
            std::fs::write(root.path().join("a/y.rs"), "2").unwrap();
            wait_for_change(&watch).await;
        }
    }

    #[test]
    fn the_reason_names_the_exceeded_system_limit() {
        assert!(
            failure_reason(&notify::Error::new(notify::ErrorKind::MaxFilesWatch))
                .contains("max_user_watches")
        );
        let instances = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        assert!(failure_reason(&notify::Error::io(instances)).contains("max_user_instances"));
        assert!(!has_vanished(&notify::Error::new(notify::ErrorKind::MaxFilesWatch)));
    }

    #[test]
    fn changes_of_git_references_are_relevant() {
        let watched = WatchedPaths {
            directories: ["/r", "/r/.git", "/r/.git/refs/heads"].map(PathBuf::from).into(),
            git: ["/r/.git", "/r/.git/refs/heads"].map(PathBuf::from).into(),
        };
        let is_relevant = |path: &str| watched.contains(Path::new(path));
        assert!(is_relevant("/r/a.rs") && is_relevant("/r/.git/HEAD"));
        assert!(is_relevant("/r/.git/refs/heads/main"));
        for path in
            ["/r/.git/index", "/r/.git/HEAD.lock", "/r/.git/refs/heads/main.lock", "/r/target/x", "/x"]
        {
            assert!(!is_relevant(path), "{path}");
        }
    }
}
