//! Decides which directories, and which repositories of other machines, may be indexed and read, by the lists of the project
//! and of the caller's key.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::principal::{Principal, Projects};
use contract::config::{self, WatchedRepositories};
use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress, escaped_line, has_archive_name};
use store::{INDEXED_TEXT_BYTES_MAX, Store, api_keys};

/// Pseudo file systems of the kernel, which are never indexed.
const KERNEL_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The kind of a repository's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootKind {
    /// A directory on this machine.
    Directory,
    /// An archive on this machine, whose files are the repository.
    Archive,
    /// A git repository that is given by its address.
    Address(RepositoryAddress),
}

/// The root of a repository, checked by [`AllowedRoots::check`]: allowed, short enough for the indexes that it is stored in, and
/// either the absolute and canonical path of a directory or an archive, or the address of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRoot {
    path: PathBuf,
    kind: RootKind,
    allowed: AllowedRoots,
}

impl RepositoryRoot {
    /// The canonical path, or the address.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its kind.
    #[must_use]
    pub fn kind(&self) -> &RootKind {
        &self.kind
    }

    /// Returns `true` if it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind == RootKind::Directory
    }

    /// The address, unless it is a directory or an archive.
    #[must_use]
    pub fn address(&self) -> Option<&RepositoryAddress> {
        match &self.kind {
            RootKind::Address(address) => Some(address),
            RootKind::Directory | RootKind::Archive => None,
        }
    }

    /// The lists that allowed it. They must also allow directories that the repository refers to, such as the git
    /// directory of a linked work tree.
    #[must_use]
    pub fn allowed(&self) -> &AllowedRoots {
        &self.allowed
    }

    /// The canonical path or the address as text, the form in which it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // `AllowedRoots::check` guarantees UTF-8.
        self.path.to_str().unwrap_or_default()
    }

    /// The name of the directory, archive or repository, which answers contain.
    #[must_use]
    pub fn name(&self) -> &str {
        if let Some(address) = self.address() {
            return address.name();
        }
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Lists of directories that may contain repositories, and of the beginnings of addresses. A path is allowed if every list
/// contains the path or a directory above it, and an address likewise; without any list, every one is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedRoots(Vec<Vec<PathBuf>>);

impl AllowedRoots {
    /// Any directory.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// No directory at all.
    fn none() -> Self {
        Self(vec![Vec::new()])
    }

    /// Everything in one of these directories.
    #[must_use]
    pub fn within(roots: Vec<PathBuf>) -> Self {
        Self(vec![roots])
    }

    /// The directories of a project: its own list in `indexing.project_roots`, or else `indexing.roots`. Evaluated each
    /// time that a repository is opened, so that a removed directory is no longer read at once.
    #[must_use]
    pub fn for_project(settings: &config::Indexing, id: &ProjectId) -> Self {
        match settings.project_roots.get(id.as_str()) {
            Some(roots) => Self::within(roots.clone()),
            None => Self::from_settings(settings),
        }
    }

    /// The directories of `indexing.roots`, where an empty list means any directory.
    #[must_use]
    pub fn from_settings(settings: &config::Indexing) -> Self {
        if settings.roots.is_empty() { Self::any() } else { Self::within(settings.roots.clone()) }
    }

    /// The directories that a caller may index into a project. Reads the number of projects that keys name.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn for_caller(
        store: &Store,
        config: &config::Config,
        id: &ProjectId,
        caller: &Principal,
    ) -> Result<Self, Fault> {
        let mut control = store.control_read().await?;
        let projects_named = api_keys::projects_named(&mut control).await?;
        control.commit().await?;
        Ok(Self::for_caller_among(config, id, caller, projects_named))
    }

    /// As [`Self::for_caller`]; `projects_named` is the number of projects that all keys together name.
    ///
    /// Remote callers need a list. For a caller that is restricted to some projects, `indexing.roots` counts as a list
    /// only if no other tenant could use it: keys name at most one project, no project has a list of its own, and OAuth
    /// is off.
    pub(super) fn for_caller_among(
        config: &config::Config,
        id: &ProjectId,
        caller: &Principal,
        projects_named: i64,
    ) -> Self {
        let settings = &config.indexing;
        let mut allowed = Self::for_project(settings, id);
        allowed.0.extend(caller.roots.clone());
        let has_other_tenants =
            projects_named > 1 || !settings.project_roots.is_empty() || config.oauth.issuer.is_some();
        let is_restricted = matches!(caller.projects, Projects::Only(_));
        let has_own_list = settings.project_roots.contains_key(id.as_str());
        let lacks_list = !caller.is_local && allowed.0.is_empty();
        if (is_restricted && has_other_tenants && !has_own_list) || lacks_list {
            return Self::none();
        }
        allowed
    }

    /// Returns `true` if a list is empty, so that no directory is allowed.
    pub(super) fn is_nothing(&self) -> bool {
        self.0.iter().any(Vec::is_empty)
    }

    /// Returns `true` if a canonical path lies within the lists.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        // A root that does not exist allows nothing.
        let contains = |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        self.0.iter().all(|list| list.iter().any(contains))
    }

    /// Returns `true` if an address lies within the lists. That of a directory on this machine never does: git follows files, links and
    /// alternates in it to any other repository, while a directory that is indexed by its path is read within the lists.
    #[must_use]
    pub fn contains_address(&self, address: &RepositoryAddress) -> bool {
        let is_local = address.local_directory().is_some();
        let contains = |entry: &PathBuf| prefix(entry).is_some_and(|prefix| address.is_within(&prefix));
        self.0.is_empty() || (!is_local && self.0.iter().all(|list| list.iter().any(contains)))
    }

    /// Checks whether a path lies within the lists by its text alone, without access to the file system.
    fn contains_lexically(&self, path: &Path) -> bool {
        let has_parent_part = path.components().any(|part| part == Component::ParentDir);
        let contains = |list: &Vec<PathBuf>| list.iter().any(|root| path.starts_with(root));
        self.0.is_empty() || !has_parent_part && self.0.iter().all(contains)
    }

    /// The listed roots that do not exist. They allow nothing.
    pub fn missing(&self) -> impl Iterator<Item = &Path> {
        let is_missing = |root: &&PathBuf| {
            root.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let directories = self.0.iter().flatten().filter(|root| prefix(root).is_none());
        directories.filter(is_missing).map(PathBuf::as_path)
    }

    /// The missing root above a path that the lists allow by its text.
    fn missing_root_above(&self, path: &Path) -> Option<&Path> {
        if !self.contains_lexically(path) {
            return None;
        }
        self.missing().find(|root| path.starts_with(root))
    }

    /// Checks that `path` is a directory, an archive, or the address of a repository, that may be indexed.
    ///
    /// Callers do not learn whether a directory outside the lists exists: the fault is the same in both cases, even for a path that leads
    /// outside through a link.
    ///
    /// # Errors
    /// `INVALID_URL` if an address is malformed, `INVALID_REQUEST` if the path is not absolute, not UTF-8 or longer than 2,000 bytes,
    /// `NOT_FOUND` if the directory does not exist, `FORBIDDEN` if it may not be indexed.
    pub fn check(&self, path: &Path) -> Result<RepositoryRoot, Fault> {
        if let Some(parsed) = path.to_str().and_then(RepositoryAddress::parse) {
            let address = parsed.map_err(|why| {
                Fault::new(ErrorCode::InvalidUrl, why)
                    .with_hint("Give an address such as https://github.com/pallets/click.")
            })?;
            return self.check_address(address);
        }
        if !path.is_absolute() {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The repository path must be absolute.")
                .with_hint("Give the full path, for example /home/me/project, the address of a git repository, or the name of a repository that is indexed in this project."));
        }
        let Ok(canonical) = path.canonicalize() else {
            if let Some(root) = self.missing_root_above(path) {
                return Err(missing_root(path, root));
            }
            return Err(if self.contains_lexically(path) && self.contains(&nearest_existing(path)) {
                not_found(path)
            } else {
                not_allowed(path)
            });
        };
        let is_kernel_tree = KERNEL_TREES.iter().any(|tree| canonical.starts_with(tree));
        let kind = kind_on_disk(&canonical);
        if self.0.is_empty() && kind.is_none() {
            return Err(not_a_directory(path));
        }
        if canonical.parent().is_none() || is_kernel_tree {
            return Err(Fault::new(ErrorCode::Forbidden, format!("{} is never indexed.", shown(path)))
                .with_hint("Name the directory of one repository."));
        }
        if !self.contains(&canonical) {
            return Err(not_allowed(path));
        }
        let Some(kind) = kind else { return Err(not_a_directory(path)) };
        let Some(text) = canonical.to_str() else {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The repository path is not UTF-8.")
                .with_hint("Rename the directory or the archive."));
        };
        if text.len() > INDEXED_TEXT_BYTES_MAX {
            return Err(too_long(text.len()));
        }
        Ok(RepositoryRoot { path: canonical, kind, allowed: self.clone() })
    }

    /// Checks that a repository may be fetched, before anything is sent to its host.
    fn check_address(&self, address: RepositoryAddress) -> Result<RepositoryRoot, Fault> {
        if !self.contains_address(&address) {
            let message = format!("{address} is not among the allowed directories and addresses.");
            if address.local_directory().is_some() {
                return Err(Fault::new(ErrorCode::Forbidden, message)
                    .with_hint("Where directories are listed, index a clone of it by its path."));
            }
            return Err(Fault::new(ErrorCode::Forbidden, message).with_hint(
                "Ask the operator to add it, or its host or owner, to the project's own list in indexing.project_roots or, where the project has none, to indexing.roots.",
            ));
        }
        let path = PathBuf::from(address.as_str());
        Ok(RepositoryRoot { path, kind: RootKind::Address(address), allowed: self.clone() })
    }
}

impl fmt::Display for AllowedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |list: &Vec<PathBuf>| {
            let paths: Vec<String> = list.iter().map(|path| path.display().to_string()).collect();
            if paths.is_empty() { "no directory".to_owned() } else { paths.join(", ") }
        };
        let lists: Vec<String> = self.0.iter().map(shown).collect();
        match lists.is_empty() {
            true => f.write_str("any directory"),
            false => f.write_str(&lists.join(", limited to ")),
        }
    }
}

/// The beginning of addresses that an entry of a list names; `None` for a directory.
fn prefix(entry: &Path) -> Option<RepositoryAddress> {
    let prefix = RepositoryAddress::parse_prefix(entry.to_str()?)?.ok()?;
    // The address of a file allows nothing.
    (prefix.scheme() != "file").then_some(prefix)
}

/// Returns the kind of a canonical path, if it can be a repository: a directory, or a file with the name of an archive.
fn kind_on_disk(path: &Path) -> Option<RootKind> {
    let metadata = path.metadata().ok()?;
    if metadata.is_dir() {
        return Some(RootKind::Directory);
    }
    let is_archive = metadata.is_file() && path.to_str().is_some_and(has_archive_name);
    is_archive.then_some(RootKind::Archive)
}

/// The canonical path of the nearest ancestor of `path` that exists; empty if a link on the way cannot be resolved.
fn nearest_existing(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        match (ancestor.canonicalize(), ancestor.symlink_metadata()) {
            (Ok(canonical), _) => return canonical,
            // A broken link, or a directory that may not be read.
            (Err(_), Ok(_)) => break,
            (Err(_), Err(_)) => {}
        }
    }
    PathBuf::new()
}

/// Checks `indexing.roots` and `indexing.project_roots`: valid project ids, absolute paths.
///
/// # Errors
/// `INVALID_INPUT` for the first wrong value.
pub fn check_root_settings(settings: &config::Indexing) -> Result<(), Fault> {
    let invalid = |message: String| Fault::new(ErrorCode::InvalidInput, message);
    for (project, list) in &settings.project_roots {
        if let Err(error) = ProjectId::parse(project) {
            let message =
                format!("indexing.project_roots: `{project}` is not a project id: {}", error.constraint);
            return Err(invalid(message).with_hint("Name projects as `pairofcleats projects` lists them."));
        }
        if let Some(path) = list.iter().find(|path| !is_root(path)) {
            let message = format!(
                "indexing.project_roots.{project}: {} is neither an absolute path nor an address.",
                path.display()
            );
            return Err(invalid(message).with_hint(GIVE_FULL_PATHS));
        }
    }
    match settings.roots.iter().find(|path| !is_root(path)) {
        Some(path) => Err(invalid(format!(
            "indexing.roots: {} is neither an absolute path nor an address.",
            path.display()
        ))
        .with_hint(GIVE_FULL_PATHS)),
        None => Ok(()),
    }
}

const GIVE_FULL_PATHS: &str = "Give full paths, or addresses such as https://github.com/acme.";

/// Returns `true` if an entry of a list can allow anything.
fn is_root(entry: &Path) -> bool {
    entry.is_absolute() || prefix(entry).is_some()
}

/// Checks `freshness.watch`: the listed repositories are directories.
///
/// # Errors
/// As [`require_watchable`].
pub fn check_watch_settings(settings: &config::Freshness) -> Result<(), Fault> {
    let WatchedRepositories::Listed(listed) = &settings.watch else { return Ok(()) };
    listed
        .iter()
        .try_for_each(|repository| require_watchable(&repository.path))
        .map_err(|fault| Fault { message: format!("freshness.watch: {}", fault.message), ..fault })
}

/// Refuses the address of a repository, and an archive, where files are to be watched. The fault does not repeat an address, since
/// it may contain a password by mistake.
///
/// # Errors
/// `INVALID_INPUT` for an address and an archive.
pub fn require_watchable(path: &Path) -> Result<(), Fault> {
    if kind_on_disk(path) == Some(RootKind::Archive) {
        let message = "Only directories can be watched: archives are refreshed by freshness.every_ms.";
        return Err(Fault::new(ErrorCode::InvalidInput, message)
            .with_hint("Index it with `pairofcleats index`, and see docs/git.md."));
    }
    if path.to_str().and_then(RepositoryAddress::parse_prefix).is_none() {
        return Ok(());
    }
    let message =
        "Only directories can be watched: addresses are refreshed by freshness.every_ms and by webhooks.";
    Err(Fault::new(ErrorCode::InvalidInput, message)
        .with_hint("Index it once with `pairofcleats index`, and see docs/git.md."))
}

/// A path on one line, since it may come from a client.
fn shown(path: &Path) -> String {
    escaped_line(&path.to_string_lossy())
}

/// Returns the kind of file that is missing at a path, by its name.
fn wanted(path: &Path) -> &'static str {
    if path.to_str().is_some_and(has_archive_name) { "archive" } else { "directory" }
}

fn not_allowed(path: &Path) -> Fault {
    Fault::new(ErrorCode::Forbidden, format!("{} is outside the allowed directories.", shown(path)))
        .with_hint("Ask the operator to add it to the project's own list in indexing.project_roots or, where the project has none, to indexing.roots.")
}

fn not_a_directory(path: &Path) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("{} is a file, not a directory.", shown(path))).with_hint(
        "Name the directory of the repository, or an archive: a file whose name ends in .tar, .tar.gz, .tgz, .tar.zst or .zip.",
    )
}

fn too_long(bytes: usize) -> Fault {
    let message =
        format!("The full path of the repository has {bytes} bytes, more than {INDEXED_TEXT_BYTES_MAX}.");
    Fault::new(ErrorCode::InvalidRequest, message).with_hint("Move it to a shorter path.")
}

fn missing_root(path: &Path, root: &Path) -> Fault {
    let message = format!(
        "There is no {} {}: the allowed directory {} does not exist on the server.",
        wanted(path),
        shown(path),
        shown(root)
    );
    Fault::new(ErrorCode::NotFound, message)
        .with_hint("Create it, or correct indexing.project_roots or indexing.roots, which list it.")
}

fn not_found(path: &Path) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no {} {}.", wanted(path), shown(path)))
        .with_hint("Check its spelling; only the command line takes relative paths.")
}

#[cfg(test)]
mod tests;
