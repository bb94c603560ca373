//! Names in namespaces and packages that go across files, and which of several things of one name can be meant.

use languages::symbols::{ScopeKind, SymbolKind};

use super::reference::Target;
use super::session::Session;
use super::value::{Found, Wanted};

impl<'r> Session<'r> {
    /// Whether functions of the file's language have names of their own.
    fn functions_apart(&self, file: u32) -> bool {
        let apart = self.rules(file).functions_apart;
        !apart.is_empty()
            && self
                .repository
                .files()
                .get(file as usize)
                .is_some_and(|file| apart.contains(&file.language.as_str()))
    }

    /// Of different things with the same name, those that can be meant.
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

    /// Members of the same namespace that stand elsewhere.
    pub(crate) fn name_in_namespace(
        &mut self,
        file: u32,
        namespace: Option<u32>,
        name: &'r str,
    ) -> Vec<Found> {
        let Some(symbol) = namespace else { return Vec::new() };
        let rules = self.rules(file);
        let packages = self.repository.packages();
        let mut package = self.package_of_namespace(Target { file, symbol });
        while let Some(of) = package {
            let found = self.name_in_package(of, name);
            if !found.is_empty() {
                return found;
            }
            let outer = packages.name(of).rsplit_once(rules.separator).filter(|_| rules.outer_packages);
            package = outer.and_then(|(outer, _)| packages.find(rules.family, outer));
        }
        Vec::new()
    }

    /// The package that a namespace of a file is a part of.
    pub(crate) fn package_of_namespace(&mut self, namespace: Target) -> Option<u32> {
        if let Some(known) = self.namespaces.get(&namespace) {
            return *known;
        }
        let found = self.find_package_of_namespace(namespace);
        self.namespaces.insert(namespace, found);
        found
    }

    fn find_package_of_namespace(&mut self, namespace: Target) -> Option<u32> {
        let (rules, packages) = (self.rules(namespace.file), self.repository.packages());
        let mut names = Vec::new();
        let mut next = Some(namespace);
        while let Some(target) = next {
            self.step(1);
            let (symbol, arena) = self.symbol(target)?;
            names.push(arena.text(symbol.name));
            let scope = self.scope(target.file, symbol.scope)?;
            next = scope.symbol.map(|symbol| Target { symbol, ..target });
            if names.len() > 64 {
                return None;
            }
        }
        let outer = (rules.package)(self.repository.files().get(namespace.file as usize)?)?;
        names.extend(Some(outer.as_str()).filter(|outer| !outer.is_empty()));
        names.reverse();
        packages.find(rules.family, &names.join(rules.separator))
    }

    /// What is defined elsewhere in the package under the name of a declaration.
    pub(crate) fn definitions_of(&self, declaration: Target) -> Vec<Target> {
        let Some((symbol, arena)) = self.symbol(declaration) else { return Vec::new() };
        let Some(file) = self.repository.files().get(declaration.file as usize) else { return Vec::new() };
        let rules = self.rules(declaration.file);
        let Some(mut package) = (rules.package)(file) else { return Vec::new() };
        match self.scope(declaration.file, symbol.scope).map(|scope| (scope.kind, scope.symbol)) {
            Some((ScopeKind::File, _)) => {}
            Some((ScopeKind::Namespace, Some(_))) => {
                let all = super::packages::packages_of_scopes(file);
                match all.into_iter().nth(symbol.scope as usize).flatten() {
                    Some(name) => package = name,
                    None => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        }
        let packages = self.repository.packages();
        let found = packages.find(rules.family, &package);
        found.map_or_else(Vec::new, |package| packages.members(package, arena.text(symbol.name)).to_vec())
    }
}
