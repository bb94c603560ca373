//! The packages and namespaces of a repository, for languages in which they span files.

use std::collections::{BTreeSet, HashMap, HashSet};

use languages::symbols::{Arena, Expr, ExprId, ScopeKind, SymbolKind};

use super::reference::Target;
use super::rules::{self, Family};
use super::source_file::SourceFile;

/// Maximum number of symbols of one name in one package.
const SAME_NAME_MAX: usize = 192;
/// Maximum length of the name of a package in bytes.
const NAME_BYTES_MAX: usize = 1024;

/// All packages with their members.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// Sorted.
    names: Vec<(Family, String)>,
    members: HashMap<(u32, String), Vec<Target>>,
    /// Those that have members.
    inhabited: HashSet<u32>,
}

impl Packages {
    pub(crate) fn new(files: &[SourceFile]) -> Self {
        let mut names = BTreeSet::new();
        let mut scopes = Vec::with_capacity(files.len());
        for file in files {
            let packages = packages_of_scopes(file);
            let (family, separator) = (rules::of(&file.language).family, rules::of(&file.language).separator);
            if (rules::of(&file.language).package)(file).is_some() {
                names.insert((family, String::new()));
            }
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
        let mut packages = Self { names: names.into_iter().collect(), ..Self::default() };
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
                self.inhabited.insert(package);
                let same = self.members.entry((package, name)).or_default();
                if same.len() < SAME_NAME_MAX {
                    same.push(Target { file: number, symbol: id });
                }
            }
        }
    }

    /// Returns the number of a package.
    pub(crate) fn find(&self, family: Family, name: &str) -> Option<u32> {
        let found = self.names.binary_search_by(|(of, known)| (*of, known.as_str()).cmp(&(family, name)));
        found.ok().map(|at| at as u32)
    }

    /// Returns the only package whose name ends with these names.
    pub(crate) fn ending_with(&self, family: Family, end: &str) -> Option<u32> {
        let separator = rules::of_family(family).separator;
        let ends = |name: &str| name.strip_suffix(end).is_some_and(|before| before.ends_with(separator));
        let mut found = (0..).zip(&self.names).filter(|(_, (of, name))| *of == family && ends(name));
        let (only, _) = found.next()?;
        found.next().is_none().then_some(only)
    }

    /// Returns the name of a package.
    pub(crate) fn name(&self, package: u32) -> &str {
        self.names.get(package as usize).map_or("", |(_, name)| name)
    }

    /// Checks whether a package has nothing but other packages.
    pub(crate) fn is_only_around(&self, package: u32) -> bool {
        !self.inhabited.contains(&package)
    }

    /// Returns the family of a package.
    pub(crate) fn family(&self, package: u32) -> Family {
        self.names.get(package as usize).map_or(Family::Other, |(family, _)| *family)
    }

    /// Returns the symbols of a name in a package.
    pub(crate) fn members(&self, package: u32, name: &str) -> &[Target] {
        self.members.get(&(package, name.to_owned())).map_or(&[], Vec::as_slice)
    }
}

/// Returns the names that a path consists of, without the arguments of generic types.
pub(crate) fn path_of(arena: &Arena, mut expr: ExprId) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    loop {
        // A part has a smaller number than the whole, so this ends.
        expr = match arena.expr(expr) {
            Expr::Name(name) => {
                names.push(arena.text(*name));
                names.reverse();
                return Some(names);
            }
            Expr::Member(of, name) if *of < expr => {
                names.push(arena.text(*name));
                *of
            }
            Expr::Apply(of, _) if *of < expr => *of,
            _ => return None,
        };
    }
}

/// Returns, for each scope of the interface, the package whose members its symbols are; `None` for the members of types that are not
/// packages, and in languages without packages. A scope that adds members to something is a package of that name, because it may be a
/// namespace.
pub(crate) fn packages_of_scopes(file: &SourceFile) -> Vec<Option<String>> {
    let rules = rules::of(&file.language);
    let mut packages: Vec<Option<String>> = Vec::with_capacity(file.interface.scopes.len());
    for scope in &file.interface.scopes {
        let mut around = packages.get(scope.parent as usize).cloned().flatten();
        if scope.parent == 0 && scope.kind == ScopeKind::Namespace && rules.namespaces_are_whole {
            around = around.map(|_| String::new());
        }
        packages.push(match scope.kind {
            ScopeKind::File => (rules.package)(file),
            ScopeKind::Namespace | ScopeKind::Type => around.and_then(|around| {
                let arena = &file.interface.arena;
                let name = match (scope.symbol, scope.target) {
                    (Some(symbol), _) if scope.kind == ScopeKind::Namespace || rules.types_are_packages => {
                        arena.text(file.interface.symbols.get(symbol as usize)?.name).to_owned()
                    }
                    (None, Some(target)) => path_of(arena, target)?.join(rules.separator),
                    _ => return None,
                };
                let name = match around.is_empty() {
                    true => name,
                    false => format!("{around}{}{name}", rules.separator),
                };
                (name.len() <= NAME_BYTES_MAX).then_some(name)
            }),
            ScopeKind::Function | ScopeKind::Block => None,
        });
    }
    packages
}
