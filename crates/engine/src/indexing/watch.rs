//! Notices that a repository changed: file events say when to look, the walk itself says whether anything is new.
//!
//! Only directories that the walk looks into are watched, so that build outputs cost nothing. An event holds no more
//! than "look again": a thousand events and one are the same, and a queue that ran over is one, too. What a look
//! finds is compared as one hash over the files and where git stands, so that what the walk leaves out leads to nothing.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{EventKind, ModifyKind};
use notify::{Event, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::walk::{Walk, walk_telling};
use contract::config;
use contract::{ErrorCode, Fault};
use history::{Head, Place};
use tenancy::RepositoryRoot;

/// Looks in a row of which each found directories that are new to the watch.
const ROUNDS_MAX: usize = 8;
/// Directories of references below a git directory that are watched.
const REFERENCE_DIRECTORIES_MAX: usize = 1000;

/// Watches one repository.
pub struct Watch {
    root: RepositoryRoot,
    indexing: config::Indexing,
    directories_max: usize,
    changes: Changes,
    watcher: Option<RecommendedWatcher>,
    /// Why it is not watched, where it is not.
    unwatched: Option<String>,
}

/// How a repository stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Equal as long as there is nothing new to index.
    pub state: [u8; 32],
    /// Directories that hold it.
    pub directories: usize,
    /// Why no event will tell of the next change, where that is so: then one has to look now and then.
    pub unwatched: Option<String>,
}

/// Tells of changes. Cheap to clone.
#[derive(Clone, Default)]
pub struct Changes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    changed: Notify,
    events: AtomicU64,
    /// The watches no longer fit the tree: make them anew.
    anew: AtomicBool,
    watched: Mutex<Watched>,
}

/// What events are about.
#[derive(Default)]
struct Watched {
    directories: HashSet<PathBuf>,
    git: Vec<PathBuf>,
}

impl Watch {
    /// A watch over the repository at `root`. It notices nothing before the first [`Watch::look`].
    #[must_use]
    pub fn new(root: RepositoryRoot, indexing: config::Indexing, directories_max: usize) -> Self {
        Self { root, indexing, directories_max, changes: Changes::default(), watcher: None, unwatched: None }
    }

    /// Where changes are told.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.changes.clone()
    }

    /// Looks at the repository as it is now and follows its directories; what changes from here on is told. Blocks.
    ///
    /// # Errors
    /// `NOT_FOUND` or `FORBIDDEN` while the root cannot be read; the next look begins from scratch. `CANCELLED`.
    pub fn look(&mut self, cancelled: &dyn Fn() -> bool) -> Result<Look, Fault> {
        if self.changes.0.anew.swap(false, Ordering::AcqRel) {
            self.forget();
        }
        for _ in 0..ROUNDS_MAX {
            let mut directories = Vec::new();
            let walked =
                walk_telling(self.root.path(), &(&self.indexing).into(), cancelled, &mut |directory| {
                    directories.push(directory.to_owned());
                });
            // A root that comes back is another one.
            let walked = walked.inspect_err(|_| self.forget())?;
            if cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, "The look at the repository was cancelled."));
            }
            let place = self.place();
            let count = directories.len();
            // What was made before its directory was watched is seen by another look, after.
            if self.follow(directories, place.as_ref()) {
                continue;
            }
            let head = place.and_then(|place| place.head().ok().flatten());
            let state = state(&walked, head.as_ref());
            return Ok(Look { state, directories: count, unwatched: self.unwatched.clone() });
        }
        Err(Fault::new(
            ErrorCode::IllegalState,
            "The repository's directories change faster than they can be followed.",
        )
        .with_hint("Wait until whatever makes them is done."))
    }

    fn place(&self) -> Option<Place> {
        Place::find(self.root.path(), &|path| self.root.allowed().contains(path)).ok()
    }

    fn forget(&mut self) {
        self.watcher = None;
        self.unwatched = None;
        *self.changes.0.lock() = Watched::default();
    }

    /// Watches these directories and no others; true when some are new.
    fn follow(&mut self, directories: Vec<PathBuf>, place: Option<&Place>) -> bool {
        if self.unwatched.is_some() {
            return false;
        }
        if directories.len() > self.directories_max {
            self.give_up(format!("it has more than {} directories", self.directories_max));
            return false;
        }
        let git: Vec<PathBuf> = place.map(git_directories).unwrap_or_default();
        let wanted: HashSet<PathBuf> = directories.into_iter().chain(git.iter().cloned()).collect();
        let (new, old) = {
            let mut watched = self.changes.0.lock();
            watched.git = git;
            let old: Vec<PathBuf> = watched.directories.difference(&wanted).cloned().collect();
            let new: Vec<PathBuf> = wanted.difference(&watched.directories).cloned().collect();
            // Before they are watched: an event of a directory that is not known is not heard.
            watched.directories = wanted;
            (new, old)
        };
        match self.watch(&new, &old) {
            Ok(()) => !new.is_empty(),
            Err(error) => {
                self.give_up(why(&error));
                false
            }
        }
    }

    fn give_up(&mut self, why: String) {
        self.forget();
        self.unwatched = Some(why);
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
                none.insert(RecommendedWatcher::new(move |event| changes.hear(&event), settings)?)
            }
        };
        if cfg!(target_os = "linux") {
            for directory in old {
                // One that is gone took its watch along.
                let _ = watcher.unwatch(directory);
            }
            return new
                .iter()
                .try_for_each(|directory| watch_one(watcher, directory, RecursiveMode::NonRecursive));
        }
        // Elsewhere the system watches whole trees; events of what the walk leaves out are not heard.
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
        Err(error) if has_gone(&error) => Ok(()),
        watched => watched,
    }
}

/// What vanished between the walk and here, or was locked up, is the next look's.
fn has_gone(error: &notify::Error) -> bool {
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

fn why(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "this machine's limit of watched directories is reached (fs.inotify.max_user_watches)".to_owned()
        }
        notify::ErrorKind::Io(error)
            if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) =>
        {
            "this machine's limit of watches is reached (fs.inotify.max_user_instances, or open files)"
                .to_owned()
        }
        _ => format!("the system cannot watch it: {error}"),
    }
}

/// Directories in which HEAD and branches are kept.
fn git_directories(place: &Place) -> Vec<PathBuf> {
    let (own, shared) = (place.own.clone(), place.common.clone());
    let mut open = vec![shared.join("refs/heads")];
    let mut found = vec![own];
    if !found.contains(&shared) {
        found.push(shared);
    }
    while let Some(directory) = open.pop() {
        let Ok(entries) = directory.read_dir() else { continue };
        let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| entry.path()));
        found.push(directory);
        if found.len() >= REFERENCE_DIRECTORIES_MAX {
            break;
        }
    }
    found
}

/// Everything that a run goes by, as one hash.
fn state(walked: &Walk, head: Option<&Head>) -> [u8; 32] {
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
    /// Ends when something changed since the last time that this ended.
    pub async fn heard(&self) {
        self.0.changed.notified().await;
    }

    /// How many events were heard since the last time that this was asked.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.events.swap(0, Ordering::Relaxed)
    }

    fn hear(&self, event: &notify::Result<Event>) {
        let shared = &self.0;
        match event {
            // The kernel's queue ran over, or the watch broke: nobody knows what was lost.
            Err(_) => shared.anew.store(true, Ordering::Release),
            Ok(event) if event.need_rescan() => shared.anew.store(true, Ordering::Release),
            Ok(event) => {
                let watched = shared.lock();
                if !event.paths.iter().any(|path| watched.is_about(path)) {
                    return;
                }
                let moves =
                    matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
                // A watch goes with its directory, wherever that went, and not with the path.
                if moves && event.paths.iter().any(|path| watched.directories.contains(path)) {
                    shared.anew.store(true, Ordering::Release);
                }
            }
        }
        shared.events.fetch_add(1, Ordering::Relaxed);
        shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// Whether a change there may be one of the repository.
    fn is_about(&self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(path);
        if let Some(git) = self.git.iter().find(|git| *git == parent || *git == path) {
            return in_git(git, path);
        }
        self.directories.contains(parent) || self.directories.contains(path)
    }
}

/// Git writes a lot: only where HEAD and the branches point is of interest, once it is in its place.
fn in_git(directory: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_references = directory.components().any(|part| part.as_os_str() == "refs");
    matches!(name, "HEAD" | "packed-refs") || (of_references && !name.ends_with(".lock"))
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

    fn watch(root: &Path) -> Watch {
        Watch::new(AllowedRoots::any().check(root).unwrap(), settings(), 1000)
    }

    fn look(watch: &mut Watch) -> Look {
        watch.look(&|| false).unwrap()
    }

    async fn heard(watch: &Watch) {
        tokio::time::timeout(std::time::Duration::from_secs(60), watch.changes().heard()).await.unwrap();
    }

    #[tokio::test]
    async fn the_state_is_that_of_the_files_that_are_indexed() {
        let root = tree(&[("a.rs", "fn a() {}"), (".gitignore", "*.log\n"), ("node_modules/x/i.js", "")]);
        let mut watch = watch(root.path());
        let before = look(&mut watch);
        assert_eq!((before.directories, &before.unwatched), (1, &None), "node_modules is not watched");
        std::fs::write(root.path().join("a.log"), "noise").unwrap();
        heard(&watch).await;
        assert_eq!(look(&mut watch), before, "what is ignored is nothing new");
        std::fs::create_dir(root.path().join("deep")).unwrap();
        std::fs::write(root.path().join("deep/b.rs"), "fn b() {}").unwrap();
        heard(&watch).await;
        let after = look(&mut watch);
        assert_ne!(after.state, before.state);
        assert_eq!(after.directories, 2);
        while tokio::time::timeout(std::time::Duration::from_millis(50), watch.changes().heard())
            .await
            .is_ok()
        {}
        std::fs::write(root.path().join("deep/c.rs"), "fn c() {}").unwrap();
        heard(&watch).await;
    }

    #[tokio::test]
    async fn a_tree_that_is_too_large_and_a_root_that_is_gone_are_told() {
        let root = tree(&[("a/x.rs", ""), ("b/x.rs", "")]);
        let mut narrow = Watch::new(AllowedRoots::any().check(root.path()).unwrap(), settings(), 2);
        assert!(look(&mut narrow).unwatched.unwrap().contains("more than 2 directories"));
        let mut watch = watch(root.path());
        let before = look(&mut watch);
        let away = root.path().with_extension("away");
        std::fs::rename(root.path(), &away).unwrap();
        heard(&watch).await;
        assert_eq!(watch.look(&|| false).unwrap_err().code, ErrorCode::NotFound);
        std::fs::rename(&away, root.path()).unwrap();
        assert_eq!(look(&mut watch), before, "the same files are nothing new");
        while tokio::time::timeout(std::time::Duration::from_millis(50), watch.changes().heard())
            .await
            .is_ok()
        {}
        std::fs::write(root.path().join("b/y.rs"), "").unwrap();
        heard(&watch).await;
    }

    #[tokio::test]
    async fn a_directory_that_was_replaced_is_watched_again() {
        let root = tree(&[("a/x.rs", "1")]);
        let mut watch = watch(root.path());
        look(&mut watch);
        for round in 0..3 {
            std::fs::rename(root.path().join("a"), root.path().join(format!("old-{round}"))).unwrap();
            std::fs::create_dir(root.path().join("a")).unwrap();
            heard(&watch).await;
            look(&mut watch);
            while tokio::time::timeout(std::time::Duration::from_millis(50), watch.changes().heard())
                .await
                .is_ok()
            {
                look(&mut watch);
            }
            std::fs::write(root.path().join("a/y.rs"), "2").unwrap();
            heard(&watch).await;
        }
    }

    #[test]
    fn limits_of_the_machine_have_a_name() {
        assert!(why(&notify::Error::new(notify::ErrorKind::MaxFilesWatch)).contains("max_user_watches"));
        let instances = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        assert!(why(&notify::Error::io(instances)).contains("max_user_instances"));
        assert!(!has_gone(&notify::Error::new(notify::ErrorKind::MaxFilesWatch)));
    }

    #[test]
    fn git_is_heard_where_it_points_elsewhere() {
        let watched = Watched {
            directories: ["/r", "/r/.git", "/r/.git/refs/heads"].map(PathBuf::from).into(),
            git: ["/r/.git", "/r/.git/refs/heads"].map(PathBuf::from).into(),
        };
        let about = |path: &str| watched.is_about(Path::new(path));
        assert!(about("/r/a.rs") && about("/r/.git/HEAD") && about("/r/.git/refs/heads/main"));
        for noise in
            ["/r/.git/index", "/r/.git/HEAD.lock", "/r/.git/refs/heads/main.lock", "/r/target/x", "/x"]
        {
            assert!(!about(noise), "{noise}");
        }
    }
}
