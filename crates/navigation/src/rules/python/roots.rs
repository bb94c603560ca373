//! The folders from which absolute imports start: those that are plausibly in Python's search path.
//!
//! A folder somewhere in the repository that only has the name of a package is not meant: `import yaml` usually is an external package.

use std::collections::{BTreeSet, HashMap, HashSet};

use languages::symbols::{Import, Imported, Interface};

use super::standard::is_standard;
use super::{ENDS, file, has_folder, has_init, has_module, init, module_at};
use crate::paths::{folder, is_below, join, name};
use crate::repository::Repository;
use crate::rules::Family;

/// Folders below the root with content that is imported as if it were at the root.
const ROOTS: &[&str] = &["", "lib", "python", "src"];
/// Folders beside a project's packages that belong to it, such as its tests.
const SIDES: &[&str] =
    &["bench", "benchmarks", "bin", "doc", "docs", "example", "examples", "scripts", "test", "tests"];
/// Files at the root of a project.
const MARKS: &[&str] = &["conftest.py", "manage.py", "noxfile.py", "setup.py"];

/// Maximum number of packages of one name.
const SAME_NAME_MAX: usize = 64;
/// Maximum number of folders around a file.
const FOLDERS_MAX: usize = 64;

/// The packages that are imported by their name alone, wherever they are.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// The folders of those whose own files import them so.
    proven: HashSet<String>,
    /// The folders that contain them, by their names: of those, and of those in the usual place of a project.
    roots: HashMap<String, BTreeSet<String>>,
}

impl Packages {
    fn new(repository: &Repository) -> Self {
        let paths = &repository.paths;
        let mut packages = Self::default();
        for source in repository.files().iter().filter(|source| source.language == "python") {
            for clue in clues(&source.path, &source.interface) {
                let is_package = has_init(paths, clue.package);
                if is_package && module_at(paths, &join(clue.package, clue.inner)).is_some() {
                    packages.proven.insert(clue.package.to_owned());
                    packages.add(repository, clue.package);
                }
            }
            let package = folder(&source.path);
            let root = folder(package);
            let is_usual = name(root) == "src" && !is_side(root) || is_project(repository, root);
            if name(&source.path).starts_with("__init__.") && is_usual {
                packages.add(repository, package);
            }
        }
        packages
    }

    fn add(&mut self, repository: &Repository, package: &str) {
        let root = folder(package);
        let same = self.roots.entry(name(package).to_owned()).or_default();
        if same.len() < SAME_NAME_MAX && !has_init(&repository.paths, root) {
            same.insert(root.to_owned());
        }
    }

    fn of(repository: &Repository) -> &Self {
        repository.python.get_or_init(|| Self::new(repository))
    }
}

/// Checks whether a folder is one of those beside a project, or in one.
fn is_side(folder: &str) -> bool {
    folder.split('/').any(|name| SIDES.contains(&name))
}

/// Checks whether a project has its root in a folder.
fn is_project(repository: &Repository, root: &str) -> bool {
    let marked = |mark: &&str| repository.paths.file(Family::Python, &join(root, mark)).is_some();
    !is_side(root) && MARKS.iter().any(marked)
}

/// An absolute import by which a file may import its own package.
pub(crate) struct Clue<'i> {
    /// The folder around the file whose name is the first one of the import.
    pub(crate) package: &'i str,
    /// The name that has to be a module in that folder.
    pub(crate) inner: &'i str,
}

/// Returns the clues in a file.
pub(crate) fn clues<'i>(path: &'i str, interface: &'i Interface) -> impl Iterator<Item = Clue<'i>> {
    let is_python = ENDS.iter().any(|end| path.ends_with(end));
    let imports = interface.imports.iter().filter(move |_| is_python);
    imports.filter_map(|row| first_names(interface, row)).flat_map(move |(first, inner)| {
        let around = std::iter::successors(Some(folder(path)), |around| Some(folder(around)));
        let around = around.take_while(|around| !around.is_empty()).take(FOLDERS_MAX);
        around.filter(move |around| name(around) == first).map(move |package| Clue { package, inner })
    })
}

/// Returns the first two names of an absolute import; the second one may be a module.
fn first_names<'i>(interface: &'i Interface, row: &Import) -> Option<(&'i str, &'i str)> {
    let path = interface.arena.text(row.module);
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let second = match (rest.split('.').next(), row.what) {
        (Some("") | None, Imported::Name(name)) => interface.arena.text(name),
        (second, _) => second?,
    };
    (!first.is_empty() && !second.is_empty()).then_some((first, second))
}

/// Finds the folder from which an absolute path starts, as the file `from` sees it. `None` if the path is that of an external module.
pub(super) fn root(repository: &Repository, from: u32, names: &[&str]) -> Option<String> {
    let first = names.first()?;
    let own = folder(repository.paths.path(from));
    let search = Search { repository, from, own, names };
    if is_standard(first) {
        // Installed packages come after the standard library; modules where the program starts come before it.
        let starts = ["", "src"].into_iter().filter(|start| is_below(repository.paths.path(from), start));
        return starts.map(str::to_owned).find(|start| search.regular(start).is_some());
    }
    let around = search.around();
    let usual = ROOTS.iter().filter(|root| !has_init(&repository.paths, root));
    let mut roots = around.into_iter().chain(usual.map(|root| (*root).to_owned()));
    roots.find(|root| search.has(root)).or_else(|| search.elsewhere())
}

/// A search for the module of an absolute import.
struct Search<'s> {
    repository: &'s Repository,
    from: u32,
    /// The folder of the file.
    own: &'s str,
    names: &'s [&'s str],
}

impl Search<'_> {
    /// Returns the folders around the file from which its imports may start, the inner ones first: that of the outermost package around it,
    /// or its own if it is a script; and the roots of projects.
    fn around(&self) -> Vec<String> {
        let paths = &self.repository.paths;
        let mut found: Vec<String> = Vec::new();
        let mut around = self.own;
        loop {
            // A file inside a package is not a module by its bare name.
            if !has_init(paths, around)
                && (found.is_empty() || self.is_beside(around) || is_project(self.repository, around))
            {
                found.extend([around.to_owned(), join(around, "src")]);
            }
            if around.is_empty() {
                return found;
            }
            around = folder(around);
        }
    }

    /// Checks whether the file belongs to the tests or the like of the project in a folder.
    fn is_beside(&self, project: &str) -> bool {
        let inside = self.own.strip_prefix(project).unwrap_or_default().trim_start_matches('/');
        SIDES.contains(&inside.split('/').next().unwrap_or_default())
    }

    /// Finds the file of the module or package that the path begins with, if a folder has it. A file does not import itself.
    fn regular(&self, root: &str) -> Option<u32> {
        let (paths, path) = (&self.repository.paths, join(root, self.names.first()?));
        init(paths, &path).or_else(|| file(paths, &path).filter(|file| *file != self.from))
    }

    /// Checks whether a folder has the module that the path begins with.
    fn has(&self, root: &str) -> bool {
        let (paths, path) = (&self.repository.paths, join(root, self.names[0]));
        let goes_on = || {
            self.names
                .get(1)
                .is_some_and(|name| has_module(paths, &path, name) || has_folder(paths, &path, name))
        };
        let is_usual = ROOTS.contains(&root);
        match self.regular(root) {
            // Tests of a library are often in a folder of its name.
            Some(_) if is_below(paths.path(self.from), &path) => {
                is_usual || goes_on() || Packages::of(self.repository).proven.contains(&path)
            }
            Some(_) => true,
            // A folder without a file of its own comes after every package of its name.
            None => root != self.own && has_folder(paths, root, self.names[0]) && (is_usual || goes_on()),
        }
    }

    /// Finds the folder of the only package of the name that is imported by its name alone: its files do so, or its project has the usual
    /// layout.
    fn elsewhere(&self) -> Option<String> {
        let roots = Packages::of(self.repository).roots.get(*self.names.first()?)?;
        roots.first().filter(|_| roots.len() == 1).cloned()
    }
}
