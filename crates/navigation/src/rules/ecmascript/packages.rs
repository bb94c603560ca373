//! The packages of a monorepo. Their names are in manifests, which are not read: the imports of all files show which folders are meant by
//! names, and which names belong to external packages.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use languages::symbols::Imported;

use super::{file, is_test};
use crate::paths::{Paths, is_below, join};
use crate::repository::Repository;
use crate::rules::{self, Family};
use crate::source_file::SourceFile;

/// Folders that hold the packages of a monorepo.
pub(super) const PACKAGES: &[&str] = &["packages", "libs", "apps", "modules", "crates", "plugins", ""];
/// Places of a package's files in its folder.
const SOURCES: &[&str] = &["src", "", "lib", "source"];
/// Maximum number of files that pass the names of one another on.
const STARS_MAX: usize = 64;
/// Maximum number of names of a scope's packages that are looked for.
const NAMES_MAX: usize = 4096;
/// The number of known exports that counts as much as a second package as evidence for a scope.
const NAMES_MIN: usize = 3;

/// Names of packages, inferred from the imports of all files.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// Scopes whose packages are in the repository.
    scopes: HashSet<String>,
    /// Names without a scope that belong to external packages.
    foreign: HashSet<String>,
}

/// The imports from the packages of a scope.
#[derive(Default)]
struct Scope<'e> {
    /// The paths, each with the file that it names if the scope is one of the repository.
    paths: BTreeMap<&'e str, Option<u32>>,
    /// Imported names that the files have, and names that they do not have.
    known: BTreeSet<(u32, &'e str)>,
    unknown: BTreeSet<(u32, &'e str)>,
}

impl Scope<'_> {
    fn found(&self) -> usize {
        self.paths.values().flatten().count()
    }

    /// Checks whether it is probably a scope of the repository.
    fn is_likely(&self) -> bool {
        let found = self.found();
        (found > 1 || self.known.len() >= NAMES_MIN)
            && found * 2 > self.paths.len()
            && self.unknown.len() * 4 <= self.known.len()
    }
}

impl Packages {
    pub(super) fn new(repository: &Repository) -> Self {
        let paths = &repository.paths;
        let mut scopes: BTreeMap<&str, Scope<'_>> = BTreeMap::new();
        let mut foreign = HashSet::new();
        let mut exports = Exports { repository, stars: HashMap::new() };
        let is_own = |source: &&SourceFile| rules::of(&source.language).family == Family::EcmaScript;
        for source in repository.files().iter().filter(is_own) {
            let interface = &source.interface;
            for row in &interface.imports {
                let path = interface.arena.text(row.module);
                if let Some((scope, inside)) = scoped(path) {
                    let of_scope = scopes.entry(scope).or_default();
                    let found = *of_scope.paths.entry(path).or_insert_with(|| in_folders(paths, inside));
                    if let (Some(found), Imported::Name(name)) = (found, row.what) {
                        of_scope.add(&mut exports, found, interface.arena.text(name));
                    }
                } else if imports_namesake(paths, &source.path, path) {
                    foreign.insert(first(path).to_owned());
                }
            }
        }
        let mut packages = Self { scopes: own_scopes(&scopes), foreign };
        // A folder has one name only.
        for (scope, used) in &scopes {
            if packages.scopes.contains(*scope) {
                let found = used.paths.iter().filter(|(_, found)| found.is_some());
                let names =
                    found.filter_map(|(path, _)| scoped(path)).map(|(_, inside)| first(inside).to_owned());
                packages.foreign.extend(names);
            }
        }
        packages
    }

    /// Finds the file that `@scope/name/rest` or `name/rest` names.
    pub(super) fn find(&self, paths: &Paths, path: &str) -> Option<u32> {
        match scoped(path) {
            Some((scope, inside)) => {
                let own = || self.scopes.contains(scope).then(|| in_folders(paths, inside)).flatten();
                called_so(paths, path, inside).or_else(own)
            }
            None if path.starts_with('@') || self.foreign.contains(first(path)) => None,
            None => in_folders(paths, path),
        }
    }
}

impl<'e> Scope<'e> {
    fn add(&mut self, exports: &mut Exports<'_>, file: u32, name: &'e str) {
        if self.known.len() + self.unknown.len() >= NAMES_MAX
            || self.known.contains(&(file, name))
            || self.unknown.contains(&(file, name))
        {
            return;
        }
        match exports.has(file, name) {
            Some(true) => self.known.insert((file, name)),
            Some(false) => self.unknown.insert((file, name)),
            None => false,
        };
    }
}

/// Returns the likely scopes. If several claim a folder, it belongs to the scope with the most evidence.
fn own_scopes(scopes: &BTreeMap<&str, Scope<'_>>) -> HashSet<String> {
    let likely: Vec<(&str, &Scope<'_>)> =
        scopes.iter().filter(|(_, scope)| scope.is_likely()).map(|(name, scope)| (*name, scope)).collect();
    let mut claims: HashMap<u32, Vec<(usize, &str)>> = HashMap::new();
    for (name, scope) in &likely {
        for file in scope.paths.values().flatten() {
            claims.entry(*file).or_default().push((scope.known.len() + scope.found(), name));
        }
    }
    let mut own: HashSet<String> = likely.iter().map(|(name, _)| (*name).to_owned()).collect();
    for claims in claims.values() {
        let most = claims.iter().map(|(known, _)| *known).max();
        let is_shared = claims.iter().filter(|(known, _)| Some(*known) == most).count() > 1;
        for (_, name) in claims.iter().filter(|(known, _)| is_shared || Some(*known) != most) {
            own.remove(*name);
        }
    }
    own
}

/// Splits a path into its scope and the path inside of it.
fn scoped(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('@')?.split_once('/').filter(|(scope, inside)| !scope.is_empty() && !inside.is_empty())
}

fn first(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// Checks whether a file other than a test imports something with the name of the package folder around it: an adapter often has the name
/// of the external package that it adapts.
fn imports_namesake(paths: &Paths, from: &str, path: &str) -> bool {
    let named = first(path);
    let mut folders = PACKAGES.iter().map(|packages| join(packages, named));
    !named.is_empty()
        && !named.starts_with('.')
        && !is_test(from)
        && folders
            .any(|folder| is_below(from, &folder) && paths.folder(Family::EcmaScript, &folder).is_some())
}

/// Finds the file of a package whose folder has the package's whole name.
fn called_so(paths: &Paths, path: &str, inside: &str) -> Option<u32> {
    let (package, rest) = match inside.split_once('/') {
        Some((_, rest)) => (&path[..path.len() - rest.len() - 1], rest),
        None => (path, ""),
    };
    let holders = PACKAGES.iter().copied().chain(["node_modules"]);
    let mut roots = holders.map(|holder| join(holder, package));
    roots.find_map(|root| in_package(paths, &root, rest, SOURCES))
}

/// Finds the file of a package whose folder has the package's name without the scope.
fn in_folders(paths: &Paths, path: &str) -> Option<u32> {
    let (package, rest) = path.split_once('/').unwrap_or((path, ""));
    if package.is_empty() {
        return None;
    }
    PACKAGES.iter().find_map(|holder| {
        // The root can contain any folder, so only `src` marks a package there.
        let sources = if holder.is_empty() { &SOURCES[..1] } else { SOURCES };
        in_package(paths, &join(holder, package), rest, sources)
    })
}

fn in_package(paths: &Paths, root: &str, rest: &str, sources: &[&str]) -> Option<u32> {
    paths.folder(Family::EcmaScript, root)?;
    let inner = if rest.is_empty() { "index" } else { rest };
    sources.iter().find_map(|sources| file(paths, &join(&join(root, sources), inner)))
}

/// The exports of files, with the files whose names each passes on.
struct Exports<'r> {
    repository: &'r Repository,
    /// The files, and `true` if they are all that the file passes on.
    stars: HashMap<u32, (Vec<u32>, bool)>,
}

impl Exports<'_> {
    /// Checks whether a file exports a name, itself or by passing on what others export. `None` if that is unknown.
    fn has(&mut self, from: u32, wanted: &str) -> Option<bool> {
        let mut open = vec![from];
        let mut seen = HashSet::new();
        let mut is_known = true;
        while let Some(next) = open.pop() {
            if seen.len() >= STARS_MAX {
                return None;
            }
            if !seen.insert(next) {
                continue;
            }
            let (half, index) = self.repository.interface(next)?;
            let is_exported =
                |symbol: u32| half.symbols.get(symbol as usize).is_some_and(|symbol| symbol.exported);
            let has = index.symbols(half, 0, wanted).any(is_exported)
                || index.exports(half, wanted).next().is_some()
                || index.passed_on(half, wanted).next().is_some();
            if has {
                return Some(true);
            }
            // A value that is exported as a whole has members that are not known here.
            is_known &= index.exports(half, "=").next().is_none();
            let (passed_on, are_all) = self.stars.entry(next).or_insert_with(|| stars(self.repository, next));
            is_known &= *are_all;
            open.extend(passed_on.iter().filter(|file| !seen.contains(file)));
        }
        is_known.then_some(false)
    }
}

/// Returns the files whose names a file passes on, and `true` if these are all.
fn stars(repository: &Repository, from: u32) -> (Vec<u32>, bool) {
    let Some((half, index)) = repository.interface(from) else { return (Vec::new(), false) };
    let rows: Vec<u32> = index.stars(0).take(STARS_MAX).collect();
    let paths = rows.iter().filter_map(|row| half.imports.get(*row as usize));
    let files =
        paths.filter_map(|row| super::relative_file(&repository.paths, from, half.arena.text(row.module)));
    let files: Vec<u32> = files.collect();
    let are_all = files.len() == rows.len() && rows.len() < STARS_MAX;
    (files, are_all)
}
