//! The packages and namespaces of a repository, for languages in which they go across files.

use std::collections::{BTreeSet, HashMap};

use languages::symbols::{ScopeKind, SymbolKind};

use super::reference::Target;
use super::repository::SourceFile;
use super::rules::{self, Family};

/// Most symbols of one name in one package.
const SAME_NAME_MAX: usize = 192;
/// Longest name of a package in bytes.
const NAME_BYTES_MAX: usize = 1024;

/// All packages with what stands in them.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// Sorted.
    names: Vec<(Family, String)>,
    members: HashMap<(u32, String), Vec<Target>>,
}

impl Packages {
    pub(crate) fn new(files: &[SourceFile]) -> Self {
        let mut names = BTreeSet::new();
        let mut scopes = Vec::with_capacity(files.len());
        for file in files {
            let packages = packages_of_scopes(file);
            let (family, separator) = (rules::of(&file.language).family, rules::of(&file.language).separator);
            for package in packages.iter().flatten() {
                let mut outer = package.as_str();
                while names.insert((family, outer.to_owned())) {
                    match outer.rsplit_once(separator) {
                        Some((around, _)) => outer = around,
                        None => break,
                    }
                }
            }
            scopes.push(packages);
        }
        let mut packages = Self { names: names.into_iter().collect(), members: HashMap::new() };
        for (number, (file, scopes)) in (0..).zip(files.iter().zip(scopes)) {
            packages.add(number, file, &scopes);
        }
        packages
    }

    fn add(&mut self, number: u32, file: &SourceFile, scopes: &[Option<String>]) {
        let rules = rules::of(&file.language);
        let find = |name: &Option<String>| name.as_ref().and_then(|name| self.find(rules.family, name));
        let ids: Vec<Option<u32>> = scopes.iter().map(find).collect();
        for (id, symbol) in (0..).zip(&file.interface.symbols) {
            if let Some(package) = ids.get(symbol.scope as usize).copied().flatten() {
                let name = file.interface.arena.text(symbol.name).to_owned();
                if matches!(symbol.kind, SymbolKind::TypeParameter | SymbolKind::Constructor)
                    || !(rules.in_package)(file, symbol)
                {
                    continue;
                }
                let same = self.members.entry((package, name)).or_default();
                if same.len() < SAME_NAME_MAX {
                    same.push(Target { file: number, symbol: id });
                }
            }
        }
    }

    /// The number of a package.
    pub(crate) fn find(&self, family: Family, name: &str) -> Option<u32> {
        let found = self.names.binary_search_by(|(of, known)| (*of, known.as_str()).cmp(&(family, name)));
        found.ok().map(|at| at as u32)
    }

    /// The name of a package.
    pub(crate) fn name(&self, package: u32) -> &str {
        self.names.get(package as usize).map_or("", |(_, name)| name)
    }

    /// The family of a package.
    pub(crate) fn family(&self, package: u32) -> Family {
        self.names.get(package as usize).map_or(Family::Other, |(family, _)| *family)
    }

    /// The symbols of a name in a package.
    pub(crate) fn members(&self, package: u32, name: &str) -> &[Target] {
        self.members.get(&(package, name.to_owned())).map_or(&[], Vec::as_slice)
    }
}

/// For each scope of the interface, the package whose members its symbols are; `None` for the members of types, and in languages
/// without packages.
pub(crate) fn packages_of_scopes(file: &SourceFile) -> Vec<Option<String>> {
    let rules = rules::of(&file.language);
    let mut packages: Vec<Option<String>> = Vec::with_capacity(file.interface.scopes.len());
    for scope in &file.interface.scopes {
        let around = packages.get(scope.parent as usize).cloned().flatten();
        packages.push(match scope.kind {
            ScopeKind::File => (rules.package)(file),
            ScopeKind::Namespace => scope.symbol.and_then(|symbol| {
                let symbol = file.interface.symbols.get(symbol as usize)?;
                let name = file.interface.arena.text(symbol.name);
                let around = around?;
                let name = match around.is_empty() {
                    true => name.to_owned(),
                    false => format!("{around}{}{name}", rules.separator),
                };
                (name.len() <= NAME_BYTES_MAX).then_some(name)
            }),
            ScopeKind::Type | ScopeKind::Function | ScopeKind::Block => None,
        });
    }
    packages
}
