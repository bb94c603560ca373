//! Looks up names in packages and namespaces, which span files.

use languages::symbols::{ScopeId, ScopeKind, SymbolKind};

use super::lookup::{free_name, is_constant};
use super::packages::path_of;
use super::reference::Target;
use super::session::{RESULTS_MAX, Session};
use super::value::{Found, Module, Receiver, Value, Wanted};

impl<'r> Session<'r> {
    /// Checks whether functions of the file's language have names of their own.
    fn functions_apart(&self, file: u32) -> bool {
        let apart = self.rules(file).functions_apart;
        !apart.is_empty()
            && self
                .repository
                .files()
                .get(file as usize)
                .is_some_and(|file| apart.contains(&file.language.as_str()))
    }

    /// Keeps those of several things with the same name that can be meant.
    pub(crate) fn apart(&self, file: u32, mut found: Vec<Found>, wanted: Wanted) -> Vec<Found> {
        use SymbolKind::{
            Alias, Field, Function, Local, Namespace, Parameter, Type, TypeParameter, Variable,
        };
        let fits: fn(SymbolKind) -> bool = match wanted {
            Wanted::Type if self.rules(file).types_apart => {
                |kind| matches!(kind, Type | Alias | Namespace | TypeParameter)
            }
            Wanted::Function if self.functions_apart(file) => {
                |kind| !matches!(kind, Variable | Field | Parameter | Local)
            }
            Wanted::Value if self.functions_apart(file) => |kind| kind != Function,
            _ => return found,
        };
        found.retain(|one| match one {
            Found::Symbol(target, _) => self.kind(*target).is_none_or(fits),
            _ => true,
        });
        found
    }

    /// Finds members of the same namespace that are defined elsewhere. Inside of a member that is defined outside of its class, finds those
    /// of the namespaces around the class.
    pub(crate) fn name_in_namespace(&mut self, file: u32, scope: ScopeId, name: &'r str) -> Vec<Found> {
        let (rules, packages) = (self.rules(file), self.repository.packages());
        let mut package = self.package_of_scope(file, scope);
        while let Some(of) = package {
            let found = self.name_in_package(file, of, name);
            if !found.is_empty() {
                return found;
            }
            let outer = packages.name(of).rsplit_once(rules.separator).filter(|_| rules.outer_packages);
            package = outer.and_then(|(outer, _)| packages.find(rules.family, outer));
        }
        let is_outside = self.scope(file, scope).is_some_and(|row| row.kind == ScopeKind::Type);
        let of = if is_outside { self.type_of_scope(file, scope).and_then(|of| of.of) } else { None };
        let Some((of, scope)) = of.and_then(|of| Some((of, self.symbol(of)?.0.scope))) else {
            return Vec::new();
        };
        let mut around = self.package_of_scope(of.file, scope);
        while let Some(package) = around {
            let found = self.name_in_package(file, package, name);
            if !found.is_empty() {
                return found;
            }
            let outer = packages.name(package).rsplit_once(rules.separator);
            around = outer.and_then(|(outer, _)| packages.find(rules.family, outer));
        }
        Vec::new()
    }

    /// Returns the package that a namespace of a file is a part of.
    pub(crate) fn package_of_namespace(&mut self, namespace: Target) -> Option<u32> {
        if let Some(known) = self.namespaces.get(&namespace) {
            return *known;
        }
        let found = self.find_package_of_namespace(namespace);
        self.namespaces.insert(namespace, found);
        found
    }

    fn find_package_of_namespace(&mut self, namespace: Target) -> Option<u32> {
        let (symbol, arena) = self.symbol(namespace)?;
        self.package_around(namespace.file, symbol.scope, vec![arena.text(symbol.name)])
    }

    /// Returns the package whose members the symbols of a scope are.
    pub(crate) fn package_of_scope(&mut self, file: u32, scope: ScopeId) -> Option<u32> {
        self.package_around(file, scope, Vec::new())
    }

    /// Returns the package that the path `names`, innermost first, leads to inside of a scope.
    fn package_around(&mut self, file: u32, mut scope: ScopeId, mut names: Vec<&'r str>) -> Option<u32> {
        let (rules, packages) = (self.rules(file), self.repository.packages());
        // The kind of the scope that was passed last.
        let mut inner = names.last().map(|_| ScopeKind::Namespace);
        loop {
            self.step(1);
            let row = self.scope(file, scope)?;
            match (row.kind, row.symbol, row.target) {
                (ScopeKind::File, ..) => break,
                (ScopeKind::Type, Some(_), _) if !rules.types_are_packages => return None,
                (ScopeKind::Namespace | ScopeKind::Type, Some(symbol), _) => {
                    let (symbol, arena) = self.symbol(Target { file, symbol })?;
                    names.push(arena.text(symbol.name));
                }
                (ScopeKind::Type, None, Some(target)) => {
                    let half = self.half(file, self.scope_in_body(file, scope))?;
                    names.extend(path_of(half.arena, target)?.into_iter().rev());
                }
                _ => return None,
            }
            if row.parent >= scope || names.len() > 64 {
                return None;
            }
            (scope, inner) = (row.parent, Some(row.kind));
        }
        let mut outer = (rules.package)(self.repository.files().get(file as usize)?)?;
        if rules.namespaces_are_whole && inner == Some(ScopeKind::Namespace) {
            outer.clear();
        }
        names.reverse();
        let mut path = outer;
        for name in names {
            if !path.is_empty() {
                path.push_str(rules.separator);
            }
            path.push_str(name);
        }
        packages.find(rules.family, &path)
    }

    /// Looks up a name that no scope of the file binds.
    pub(crate) fn name_of_package(&mut self, file: u32, name: &'r str, maybe_inherited: bool) -> Vec<Found> {
        let rules = self.rules(file);
        let packages = self.repository.packages();
        let own = self.repository.files().get(file as usize).and_then(rules.package);
        let mut package = own.as_deref();
        while let Some(of) = package {
            let found = packages.find(rules.family, of).map(|of| self.name_in_package(file, of, name));
            if let Some(found) = found.filter(|found| !found.is_empty()) {
                return found;
            }
            let outer = of.rsplit_once(rules.separator).map(|(outer, _)| outer);
            let root = Some("").filter(|_| !of.is_empty());
            package = match rules.root_package {
                true => root,
                false => outer.or(root).filter(|_| rules.outer_packages),
            };
        }
        let stars = self.stars_in(file, 0);
        let found = self.find_in_stars(file, &stars, name);
        if !found.is_empty() {
            return found;
        }
        if rules.free_names_are_modules {
            let located = self.locate(file, name);
            if !located.is_empty() {
                return located.iter().flat_map(|one| self.follow(one)).collect();
            }
        }
        if rules.global_stars {
            let paths = &self.repository.paths;
            let in_folder = |other: u32| {
                super::paths::is_below(paths.path(file), super::paths::folder(paths.path(other)))
            };
            let everywhere = self.repository.global_stars(rules.family);
            let everywhere: Vec<(u32, u32)> = everywhere.filter(|(other, _)| in_folder(*other)).collect();
            for (other, import) in everywhere {
                let found = self.find_in_stars(other, &[(false, import)], name);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        if rules.sides && is_constant(name) {
            for package in self.ambient(file).iter() {
                let found = self.name_in_package(file, *package, name);
                if !found.is_empty() {
                    return found;
                }
            }
            return vec![Found::Value(Value::External)];
        }
        if let Some(package) = self.free_package(file, name, maybe_inherited) {
            return vec![Found::Module(Module::Package(package))];
        }
        vec![free_name(rules, maybe_inherited)]
    }

    /// Returns the package whose path begins with a name that is not bound. For a name that may be inherited, only a package that contains
    /// nothing but packages, so that further names have to match.
    fn free_package(&self, file: u32, name: &str, maybe_inherited: bool) -> Option<u32> {
        let (rules, packages) = (self.rules(file), self.repository.packages());
        let found = packages.find(rules.family, name).filter(|_| rules.free_names_are_packages)?;
        (!maybe_inherited || packages.is_only_around(found)).then_some(found)
    }

    /// Returns the members of a name in a package, as a file sees them.
    pub(crate) fn name_in_package(&mut self, file: u32, package: u32, name: &str) -> Vec<Found> {
        let packages = self.repository.packages();
        let symbols = packages.members(package, name).to_vec();
        self.step(symbols.len());
        let symbols = self.visible(file, symbols);
        let is_namespace = |target: &Target| self.kind(*target) == Some(SymbolKind::Namespace);
        let mut found = match symbols.iter().all(is_namespace) {
            // All parts of a namespace are one package.
            true => Vec::new(),
            false => self.defined(symbols, None),
        };
        if found.is_empty() {
            let (family, outer) = (packages.family(package), packages.name(package));
            let separator = super::rules::of_family(family).separator;
            let inner = match outer.is_empty() {
                true => name.to_owned(),
                false => format!("{outer}{separator}{name}"),
            };
            found.extend(packages.find(family, &inner).map(|inner| Found::Module(Module::Package(inner))));
        }
        found
    }

    /// Turns symbols into bindings: definitions, or declarations if there are no definitions.
    pub(crate) fn defined(&mut self, mut symbols: Vec<Target>, receiver: Option<Receiver>) -> Vec<Found> {
        if symbols.iter().all(|target| self.is_declaration(*target)) {
            let firsts: Vec<Target> = symbols.iter().take(4).copied().collect();
            for first in firsts {
                symbols.extend(self.definitions_of(first));
            }
        }
        let declared = |target: &Target| self.is_declaration(*target);
        if symbols.iter().any(|target| !declared(target)) {
            symbols.retain(|target| !declared(target));
        }
        symbols.sort_unstable();
        symbols.dedup();
        symbols.into_iter().take(RESULTS_MAX).map(|target| Found::Symbol(target, receiver)).collect()
    }

    /// Returns the definitions elsewhere in the package for the name of a declaration.
    fn definitions_of(&mut self, declaration: Target) -> Vec<Target> {
        let Some((symbol, arena)) = self.symbol(declaration) else { return Vec::new() };
        let Some(package) = self.package_of_scope(declaration.file, symbol.scope) else { return Vec::new() };
        let packages = self.repository.packages();
        let found = packages.members(package, arena.text(symbol.name)).to_vec();
        self.visible(declaration.file, found)
    }
}
