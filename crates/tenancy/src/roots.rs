//! Which directories may be indexed, and read: for every project its own list, for every caller what the caller may add.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::principal::{Principal, Projects};
use contract::config;
use contract::{ErrorCode, Fault, ProjectId};
use store::{Store, api_keys};

/// Trees of the kernel: endless, and not anybody's source.
const KERNEL_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A repository's root that was checked: absolute, canonical, a directory, allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRoot {
    path: PathBuf,
    allowed: AllowedRoots,
}

impl RepositoryRoot {
    /// The canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lists that allowed it; what a repository refers to elsewhere, such as the git directory of a linked work tree,
    /// must be allowed by them as well.
    #[must_use]
    pub fn allowed(&self) -> &AllowedRoots {
        &self.allowed
    }

    /// The canonical path as text, as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Checked by `AllowedRoots::check`.
        self.path.to_str().unwrap_or_default()
    }

    /// The directory's own name, which answers show.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// The directories in which repositories may lie. A path is allowed if every list holds a directory above it, or the
/// path itself; without a list, anything is.
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

    /// What lies in one of these directories.
    #[must_use]
    pub fn within(roots: Vec<PathBuf>) -> Self {
        Self(vec![roots])
    }

    /// What may be read for a project: its own list in `indexing.project_roots`, or else `indexing.roots`, where an empty
    /// list means any directory. Asked each time that a repository is opened, so that a list made shorter counts at once.
    #[must_use]
    pub fn of_project(settings: &config::Indexing, id: &ProjectId) -> Self {
        match settings.project_roots.get(id.as_str()) {
            Some(own) => Self::within(own.clone()),
            None => Self::common(settings),
        }
    }

    /// What may be read for no project in particular: `indexing.roots`, where an empty list means any directory.
    #[must_use]
    pub fn common(settings: &config::Indexing) -> Self {
        if settings.roots.is_empty() { Self::any() } else { Self::within(settings.roots.clone()) }
    }

    /// What a caller may have indexed into a project, with one look at the keys.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn of_caller(
        store: &Store,
        config: &config::Config,
        id: &ProjectId,
        caller: &Principal,
    ) -> Result<Self, Fault> {
        let mut control = store.control_read().await?;
        let projects_named = api_keys::projects_named(&mut control).await?;
        control.commit().await?;
        Ok(Self::granted(config, id, caller, projects_named))
    }

    /// What a caller may have indexed into a project. From elsewhere, nothing without a list. A caller who is restricted to
    /// some projects shares `indexing.roots` with nobody: only while the server's keys name one project in all, no project
    /// has a list of its own, and no authorization server hands out tokens, are these the caller's.
    pub(super) fn granted(
        config: &config::Config,
        id: &ProjectId,
        caller: &Principal,
        projects_named: i64,
    ) -> Self {
        let settings = &config.indexing;
        let mut allowed = Self::of_project(settings, id);
        allowed.0.extend(caller.roots.clone());
        let is_shared =
            projects_named > 1 || !settings.project_roots.is_empty() || config.oauth.issuer.is_some();
        let is_restricted = matches!(caller.projects, Projects::These(_));
        let is_listed = settings.project_roots.contains_key(id.as_str());
        if (is_restricted && is_shared && !is_listed) || (!caller.is_local && allowed.0.is_empty()) {
            return Self::none();
        }
        allowed
    }

    /// Whether a canonical path lies within the lists.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        // A root that does not exist allows nothing.
        let inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        self.0.iter().all(|list| list.iter().any(inside))
    }

    /// Whether a path lies within the lists by its very form, before anything is looked up.
    fn contains_by_form(&self, path: &Path) -> bool {
        let plain = !path.components().any(|part| part == Component::ParentDir);
        self.0.is_empty() || plain && self.0.iter().all(|list| list.iter().any(|root| path.starts_with(root)))
    }

    /// The roots that do not exist: they allow nothing.
    pub fn absent(&self) -> impl Iterator<Item = &Path> {
        let is_absent = |root: &&PathBuf| {
            root.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        self.0.iter().flatten().filter(is_absent).map(PathBuf::as_path)
    }

    /// The root that does not exist and that lists what lies at a path, where the path is within every list by its form.
    fn absent_root_above(&self, path: &Path) -> Option<&Path> {
        if !self.contains_by_form(path) {
            return None;
        }
        self.absent().find(|root| path.starts_with(root))
    }

    /// Checks that `path` is a directory in which a repository may lie.
    ///
    /// Whoever may not index a directory does not learn whether it exists: what lies outside and what does not exist
    /// there answer alike, also where a link leads out.
    ///
    /// # Errors
    /// `INVALID_REQUEST` when it is not absolute or not UTF-8, `NOT_FOUND` when there is no such directory,
    /// `FORBIDDEN` when it may not be indexed.
    pub fn check(&self, path: &Path) -> Result<RepositoryRoot, Fault> {
        if !path.is_absolute() {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The repository path must be absolute.")
                .with_hint("Give the full path, for example /home/me/project, or the name of a repository that is indexed in this project."));
        }
        let Ok(canonical) = path.canonicalize() else {
            if let Some(root) = self.absent_root_above(path) {
                return Err(absent_root(path, root));
            }
            return Err(if self.contains_by_form(path) && self.contains(&deepest(path)) {
                absent(path)
            } else {
                outside(path)
            });
        };
        let kernel = KERNEL_TREES.iter().any(|tree| canonical.starts_with(tree));
        if self.0.is_empty() && !canonical.is_dir() {
            return Err(no_directory(path));
        }
        if canonical.parent().is_none() || kernel {
            return Err(Fault::new(ErrorCode::Forbidden, format!("{} is never indexed.", path.display()))
                .with_hint("Name the directory of one repository."));
        }
        if !self.contains(&canonical) {
            return Err(outside(path));
        }
        if !canonical.is_dir() {
            return Err(no_directory(path));
        }
        if canonical.to_str().is_none() {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The repository path is not UTF-8.")
                .with_hint("Rename the directory."));
        }
        Ok(RepositoryRoot { path: canonical, allowed: self.clone() })
    }
}

impl fmt::Display for AllowedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |list: &Vec<PathBuf>| {
            let paths: Vec<String> = list.iter().map(|path| path.display().to_string()).collect();
            if paths.is_empty() { "nowhere".to_owned() } else { paths.join(", ") }
        };
        let lists: Vec<String> = self.0.iter().map(shown).collect();
        match lists.is_empty() {
            true => f.write_str("any directory"),
            false => f.write_str(&lists.join(" as far as in ")),
        }
    }
}

/// The deepest directory above a path that cannot be resolved, as it resolves; nothing where a link on the way does not.
fn deepest(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        match (above.canonicalize(), above.symlink_metadata()) {
            (Ok(there), _) => return there,
            // A link that leads nowhere, or nowhere that may be looked at.
            (Err(_), Ok(_)) => break,
            (Err(_), Err(_)) => {}
        }
    }
    PathBuf::new()
}

/// Checks the settings themselves: lists of absolute paths, for projects that can be.
///
/// # Errors
/// `INVALID_INPUT` names what is wrong.
pub fn check_settings(settings: &config::Indexing) -> Result<(), Fault> {
    let wrong = |message: String| Fault::new(ErrorCode::InvalidInput, message);
    for (project, list) in &settings.project_roots {
        if let Err(error) = ProjectId::parse(project) {
            let message =
                format!("indexing.project_roots: `{project}` is no project id: {}", error.constraint);
            return Err(wrong(message).with_hint("Name projects as `pairofcleats projects` lists them."));
        }
        if let Some(path) = list.iter().find(|path| !path.is_absolute()) {
            let message = format!("indexing.project_roots.{project}: {} is not absolute.", path.display());
            return Err(wrong(message).with_hint("Give full paths."));
        }
    }
    match settings.roots.iter().find(|path| !path.is_absolute()) {
        Some(path) => Err(wrong(format!("indexing.roots: {} is not absolute.", path.display()))
            .with_hint("Give full paths.")),
        None => Ok(()),
    }
}

fn outside(path: &Path) -> Fault {
    Fault::new(ErrorCode::Forbidden, format!("{} is outside the allowed directories.", path.display()))
        .with_hint("Ask the operator to add it to the project's own list in indexing.project_roots or, where the project has none, to indexing.roots.")
}

fn no_directory(path: &Path) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("{} is a file, not a directory.", path.display()))
        .with_hint("Name the directory of the repository.")
}

fn absent_root(path: &Path, root: &Path) -> Fault {
    let message = format!(
        "There is no directory {}: the allowed directory {} does not exist on the server.",
        path.display(),
        root.display()
    );
    Fault::new(ErrorCode::NotFound, message)
        .with_hint("Make it, or correct indexing.project_roots or indexing.roots, which list it.")
}

fn absent(path: &Path) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no directory {}.", path.display()))
        .with_hint("Check its spelling; only the command line takes relative paths.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(path: impl AsRef<Path>, allowed: &AllowedRoots) -> ErrorCode {
        allowed.check(path.as_ref()).unwrap_err().code
    }

    #[test]
    fn refuses_what_is_not_a_repository() {
        let any = AllowedRoots::any();
        assert_eq!(code("src", &any), ErrorCode::InvalidRequest);
        assert_eq!(code("/no/such/directory", &any), ErrorCode::NotFound);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(code(file.path(), &any), ErrorCode::NotFound);
        for path in ["/", "/proc", "/proc/self", "/dev", "/../"] {
            assert_eq!(code(path, &any), ErrorCode::Forbidden, "{path}");
        }
    }

    #[test]
    fn a_path_must_lie_in_every_list() {
        let (shop, bank) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let list =
            |dirs: &[&tempfile::TempDir]| dirs.iter().map(|dir| dir.path().to_path_buf()).collect::<Vec<_>>();
        let both = AllowedRoots::within(list(&[&shop, &bank]));
        assert!(both.check(shop.path()).is_ok() && both.check(bank.path()).is_ok());
        let narrowed = AllowedRoots(vec![list(&[&shop, &bank]), list(&[&bank])]);
        assert!(narrowed.check(bank.path()).is_ok());
        assert_eq!(code(shop.path(), &narrowed), ErrorCode::Forbidden);
        assert_eq!(code(shop.path(), &AllowedRoots::none()), ErrorCode::Forbidden);
    }

    /// What is outside answers as what does not exist, by whatever way it is named.
    #[test]
    fn nothing_is_told_of_what_lies_outside() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let allowed = AllowedRoots::within(vec![inside.path().to_path_buf()]);
        let real = inside.path().join("repo");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(outside.path().join("file"), "").unwrap();
        let link = |name: &str, to: &Path| std::os::unix::fs::symlink(to, real.join(name)).unwrap();
        link("there", outside.path());
        link("file", &outside.path().join("file"));
        link("gone", &outside.path().join("gone"));
        let told = |path: PathBuf| {
            let fault = allowed.check(&path).unwrap_err();
            (fault.code, fault.message.replace(&*path.to_string_lossy(), "PATH"), fault.hint)
        };
        let name = outside.path().file_name().unwrap();
        let ways = [
            outside.path().to_path_buf(),
            outside.path().join("file"),
            outside.path().join("gone"),
            real.join("there"),
            real.join("there/gone"),
            real.join("file"),
            real.join("gone"),
            real.join("gone/gone"),
            inside.path().join("..").join(name),
            inside.path().join("../no-such-name"),
            real.join("../../"),
            PathBuf::from("/proc/self/no-such-name"),
        ];
        for way in ways {
            let shown = format!("{way:?}");
            let (code, message, _) = told(way);
            assert_eq!(
                (code, message.as_str()),
                (ErrorCode::Forbidden, "PATH is outside the allowed directories."),
                "{shown}"
            );
        }
        assert_eq!(allowed.check(&real).unwrap().name(), "repo");
        assert_eq!(code(real.join("absent"), &allowed), ErrorCode::NotFound);
    }

    #[test]
    fn a_listed_root_that_does_not_exist_is_told_as_that() {
        let (real, gone) = (tempfile::tempdir().unwrap(), PathBuf::from("/no/such/root"));
        let allowed = AllowedRoots::within(vec![real.path().to_path_buf(), gone.clone()]);
        for path in [gone.clone(), gone.join("repo")] {
            let fault = allowed.check(&path).unwrap_err();
            assert_eq!(fault.code, ErrorCode::NotFound, "{fault}");
            assert!(fault.message.contains("allowed directory /no/such/root does not exist"), "{fault}");
        }
        assert_eq!(code("/no/such/other", &allowed), ErrorCode::Forbidden);
        assert_eq!(allowed.absent().collect::<Vec<_>>(), [gone.as_path()]);
        let narrowed = AllowedRoots(vec![vec![gone.clone()], vec![real.path().to_path_buf()]]);
        assert_eq!(code(gone.join("repo"), &narrowed), ErrorCode::Forbidden, "it must lie in every list");
    }

    #[test]
    fn a_projects_own_list_stands_for_the_common_one() {
        let home = tempfile::tempdir().unwrap();
        let home = config::Overrides { home: Some(home.path().to_owned()), ..config::Overrides::default() };
        let mut settings = config::load(&home).unwrap().0.indexing;
        let ids = ["client-a", "client-b"].map(|id| ProjectId::parse(id).unwrap());
        let of = |settings: &config::Indexing| ids.clone().map(|id| AllowedRoots::of_project(settings, &id));
        assert_eq!(of(&settings), [AllowedRoots::any(), AllowedRoots::any()]);
        settings.roots = vec!["/srv".into()];
        settings.project_roots.insert("client-a".into(), vec!["/srv/a".into()]);
        let [own, common] = of(&settings);
        assert_eq!(own, AllowedRoots::within(vec!["/srv/a".into()]));
        assert_eq!(common, AllowedRoots::within(vec!["/srv".into()]));
        settings.project_roots.insert("client-b".into(), Vec::new());
        assert_eq!(of(&settings)[1], AllowedRoots::none(), "an empty list of its own allows nothing");
    }
}
