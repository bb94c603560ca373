//! The modules of a repository: the common prefix of the import paths of its packages, and the folder that the prefix represents.
//!
//! `go.mod` says both, but is not read. They are inferred from imports: the end of an import path is the end of a folder's path, and what
//! is left of both is the path of a module and its folder. The module that most imports fit is the repository's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::paths::{is_below, join, name};

/// First elements of the paths of the standard library.
const STANDARD: &[&str] = &[
    "archive", "bufio", "builtin", "bytes", "cmp", "compress", "container", "context", "crypto", "database",
    "debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index",
    "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect",
    "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing",
    "text", "time", "unicode", "unique", "unsafe", "weak",
];
/// Hosts whose modules have the path of an owner and a name behind the host.
const OWNED: &[&str] =
    &["bitbucket.org", "codeberg.org", "git.sr.ht", "gitee.com", "github.com", "gitlab.com", "golang.org"];
/// Maximum number of elements of an import path that are compared with a folder's.
const ELEMENTS_MAX: usize = 64;
/// Maximum number of folders of one name that an import path is compared with.
const SAME_NAME_MAX: usize = 512;
/// Maximum number of ways to cut paths that are looked at.
const CUTS_MAX: usize = 1_000_000;
/// Maximum number of modules of a repository.
const MODULES_MAX: usize = 256;

/// A module of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Module {
    /// The prefix of its import paths.
    prefix: String,
    /// Its folder.
    root: String,
    /// The number of different packages that are imported from it.
    votes: usize,
}

impl Module {
    /// Returns the folder that an import path names, if it is one of this module.
    pub(super) fn folder(&self, path: &str) -> Option<String> {
        let inside = path.strip_prefix(self.prefix.as_str())?;
        (inside.is_empty() || inside.starts_with('/'))
            .then(|| join(&self.root, inside.trim_start_matches('/')))
    }

    /// Ranks how likely a file of a folder means this module rather than another: the nearest one around it, or the one that is used most.
    pub(super) fn rank(&self, folder: &str) -> (usize, usize, usize) {
        let is_around = begins_with(folder, &self.root);
        (if is_around { self.root.len() + 1 } else { 0 }, self.votes, self.prefix.len())
    }
}

/// The folders that are packages, with the import paths of all files.
pub(super) struct Evidence<'e> {
    /// The name of the package in each folder.
    pub(super) packages: &'e HashMap<String, String>,
    /// The folders of the files that import each path.
    pub(super) imports: BTreeMap<&'e str, BTreeSet<&'e str>>,
}

/// A path of a module with a folder, and the paths inside of both that are imported.
type Candidates<'e> = BTreeMap<&'e str, BTreeMap<&'e str, BTreeSet<&'e str>>>;

impl<'e> Evidence<'e> {
    /// Infers the modules from the imports.
    pub(super) fn modules(&self) -> Vec<Module> {
        let candidates = self.candidates();
        let totals = self.totals(&candidates);
        let mut modules = Vec::new();
        for (prefix, roots) in &candidates {
            let Some((root, inside)) = self.root_of(prefix, roots) else { continue };
            let votes = inside.len();
            let total = totals.get(prefix).copied().unwrap_or_default();
            // Hardly any of the repository's own import paths lack a folder; a path of a host alone needs more evidence.
            if votes * 2 > total && (votes > 2 || !prefix.contains('.') || prefix.contains('/')) {
                let module = Module { prefix: (*prefix).to_owned(), root: root.to_owned(), votes };
                modules.push((module, votes == total, self.weight(prefix, inside)));
            }
        }
        let most = modules.iter().map(|(module, _, weight)| (module.votes, *weight)).max();
        let best = modules.iter().filter(|(module, _, weight)| Some((module.votes, *weight)) == most);
        let best: Vec<&Module> = best.map(|(module, ..)| module).collect();
        // Inner prefixes of the same module can have as many votes. If other modules have as many, it is unknown which one is meant.
        let outer = best.iter().min_by_key(|module| module.prefix.len());
        let Some(best) =
            outer.filter(|outer| best.iter().all(|inner| begins_with(&inner.prefix, &outer.prefix)))
        else {
            return Vec::new();
        };
        let accepted = modules.iter().filter(|(module, all, _)| {
            belongs(module, best) || (*all && module.votes > 1 && self.stands_alone(module))
        });
        accepted.map(|(module, ..)| module.clone()).take(MODULES_MAX).collect()
    }

    /// Returns the ways to cut import paths into the path of a module and that of a folder in it.
    fn candidates(&self) -> Candidates<'e> {
        let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
        for folder in self.packages.keys().filter(|folder| !folder.is_empty()) {
            by_name.entry(name(folder)).or_default().push(folder);
        }
        let mut candidates: Candidates<'e> = BTreeMap::new();
        let mut left = CUTS_MAX;
        for path in self.imports.keys().copied() {
            let mut same = by_name.get(name(path)).cloned().unwrap_or_default();
            same.sort_unstable();
            for folder in same.into_iter().take(SAME_NAME_MAX) {
                for (prefix, root, inside) in cuts(path, folder).into_iter().take(left) {
                    left -= 1;
                    candidates.entry(prefix).or_default().entry(root).or_default().insert(inside);
                }
            }
            // The root is imported by the path of the module, whose last element usually is the package's name.
            let root = self.packages.get("");
            if root.is_some_and(|root| names_package(path, root)) && is_plausible(path) {
                candidates.entry(path).or_default().entry("").or_default().insert("");
            }
        }
        for (prefix, roots) in &mut candidates {
            let is_imported = self.imports.contains_key(prefix);
            for (root, inside) in roots.iter_mut() {
                if is_imported && self.packages.contains_key(*root) {
                    inside.insert("");
                }
            }
        }
        candidates
    }

    /// Counts the different paths that begin with each prefix.
    fn totals(&self, candidates: &Candidates<'e>) -> HashMap<&'e str, usize> {
        let mut totals = HashMap::new();
        for path in self.imports.keys().copied() {
            let ends = path.match_indices('/').map(|(at, _)| at).take(ELEMENTS_MAX).chain([path.len()]);
            for prefix in ends.map(|end| &path[..end]).filter(|prefix| candidates.contains_key(prefix)) {
                *totals.entry(prefix).or_default() += 1;
            }
        }
        totals
    }

    /// Returns the folder of a module: that from which most packages are imported, from inside of it, or whose path ends as the module's.
    fn root_of<'c>(
        &self,
        prefix: &str,
        roots: &'c BTreeMap<&'e str, BTreeSet<&'e str>>,
    ) -> Option<(&'e str, &'c BTreeSet<&'e str>)> {
        let rated: Vec<_> = roots
            .iter()
            .map(|(root, inside)| {
                let importers =
                    self.importers(prefix, inside).filter(|folder| begins_with(folder, root)).count();
                ((inside.len(), shared(prefix, root), importers), (*root, inside))
            })
            .collect();
        let most = rated.iter().map(|(rate, _)| *rate).max()?;
        let mut best = rated.into_iter().filter(|(rate, _)| *rate == most);
        let (_, found) = best.next()?;
        best.next().is_none().then_some(found)
    }

    /// Returns the folders of the files that import packages of a module.
    fn importers(&self, prefix: &str, inside: &BTreeSet<&'e str>) -> impl Iterator<Item = &'e str> {
        let paths = inside.iter().map(|inside| join(prefix, inside));
        paths.filter_map(|path| self.imports.get(path.as_str())).flatten().copied()
    }

    fn weight(&self, prefix: &str, inside: &BTreeSet<&'e str>) -> usize {
        self.importers(prefix, inside).count()
    }

    /// Checks whether a module is used only in its own folder, which is not the root.
    fn stands_alone(&self, module: &Module) -> bool {
        let own = self.imports.iter().filter(|(path, _)| module.folder(path).is_some());
        let mut importers = own.flat_map(|(_, folders)| folders.iter().copied());
        !module.root.is_empty() && importers.all(|folder| begins_with(folder, &module.root))
    }
}

/// Checks whether a module belongs to the repository because of the one that is used most: its path begins alike, or its folder has the
/// same name.
fn belongs(module: &Module, best: &Module) -> bool {
    let elements = |count: usize| best.prefix.split('/').take(count).collect::<Vec<_>>().join("/");
    let named = shared(&module.prefix, &module.root);
    begins_with(&module.prefix, &elements(3))
        || named > 1
        || (named > 0 && begins_with(&module.prefix, &elements(2)))
}

/// Returns the ways to cut an import path that ends as a folder's into the path of a module, its folder, and what is inside of both.
fn cuts<'c>(path: &'c str, folder: &'c str) -> Vec<(&'c str, &'c str, &'c str)> {
    let mut cuts = Vec::new();
    let (mut prefix, mut root) = (path, folder);
    for _ in 0..ELEMENTS_MAX {
        let (outer, last) = prefix.rsplit_once('/').unwrap_or(("", prefix));
        let (above, own) = root.rsplit_once('/').unwrap_or(("", root));
        if last != own || own.is_empty() {
            break;
        }
        (prefix, root) = (outer, above);
        if is_plausible(prefix) {
            cuts.push((prefix, root, path[prefix.len()..].trim_start_matches('/')));
        }
    }
    cuts
}

/// Checks whether a module can have this path.
fn is_plausible(prefix: &str) -> bool {
    let first = prefix.split('/').next().unwrap_or_default();
    match OWNED.contains(&first) {
        true => prefix.split('/').count() > 2,
        false => !first.is_empty() && STANDARD.binary_search(&first).is_err(),
    }
}

/// Counts the elements that are alike at the end of two paths.
fn shared(one: &str, other: &str) -> usize {
    let pairs = one.rsplit('/').zip(other.rsplit('/'));
    pairs.take_while(|(one, other)| one == other && !one.is_empty()).count()
}

/// Checks whether a path equals another one or continues it.
fn begins_with(path: &str, beginning: &str) -> bool {
    path == beginning || is_below(path, beginning)
}

/// Checks whether the package that an import path names probably has this name.
fn names_package(path: &str, package: &str) -> bool {
    let mut last = path.rsplit('/').take(2);
    path.contains('.')
        && last.any(|element| element.trim_start_matches("go-").split('.').next() == Some(package))
}

#[test]
fn the_standard_library_is_sorted() {
    assert!(STANDARD.is_sorted());
}
