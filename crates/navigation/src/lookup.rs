//! Looks names up: in the scopes around them, in the package, in imports.

use std::rc::Rc;

use languages::symbols::{Expr, Import, Imported, Place, ScopeId, ScopeKind, SymbolKind};

use super::reference::Target;
use super::rules::{FreeNames, Located, Rules};
use super::session::{Question, RESULTS_MAX, Session};
use super::value::{ANYWHERE, At, Found, Module, Receiver, Type, Value};

impl<'r> Session<'r> {
    /// What a name or the last name of a member expression is bound to. Never empty.
    pub(crate) fn find(&mut self, at: At, receiver: Option<Receiver>) -> Vec<Found> {
        self.find_as(at, receiver, false)
    }

    /// As [`find`](Self::find), for a name that is `called` or not.
    pub(crate) fn find_as(&mut self, at: At, receiver: Option<Receiver>, called: bool) -> Vec<Found> {
        let mut is_macro = false;
        let marked = self.rules(at.file).macros_marked;
        let mut unmarked = |name: &'r str| match name.strip_suffix('!').filter(|_| marked) {
            Some(name) => {
                is_macro = true;
                name
            }
            None => name,
        };
        let mut found = match self.expr(at) {
            Expr::Name(name) => {
                let name = unmarked(self.text(at, *name));
                self.find_name(at.file, at.scope, at.place, name, called)
            }
            Expr::Member(of, name) => {
                let (of, name) = (At { expr: *of, ..at }, unmarked(self.text(at, *name)));
                let owners = self.evaluate(of, receiver);
                let found: Vec<Found> = owners.iter().flat_map(|owner| self.member(*owner, name)).collect();
                match found.iter().any(|one| matches!(one, Found::Symbol(..))) {
                    true => found,
                    false => [found, self.visible_extensions(at, &owners, name)].concat(),
                }
            }
            _ => Vec::new(),
        };
        if marked {
            let fits = |session: &Self, one: &Found| match one {
                Found::Symbol(target, _) => (session.kind(*target) == Some(SymbolKind::Macro)) == is_macro,
                _ => true,
            };
            found.retain(|one| fits(self, one));
        }
        found = distinct(found);
        if found.is_empty() {
            found.push(Found::Unknown);
        }
        found
    }

    /// What a name is bound to, seen from a scope. Never empty.
    pub(crate) fn find_name(
        &mut self,
        file: u32,
        from: ScopeId,
        place: Place,
        name: &'r str,
        called: bool,
    ) -> Vec<Found> {
        let rules = self.rules(file);
        let functions = self.functions_apart(file).then_some(called);
        let (mut scope, mut maybe_inherited) = (from, false);
        loop {
            let Some(row) = self.scope(file, scope) else { break };
            let found = if rules.locals_in_order && matches!(row.kind, ScopeKind::Function | ScopeKind::Block)
            {
                self.name_before(file, scope, place, name)
            } else if row.kind == ScopeKind::Type && rules.members_visible {
                self.inherited_name(file, scope, name, functions, &mut maybe_inherited)
            } else {
                let all = row.kind != ScopeKind::Type || (scope == from && rules.members_visible_in_body);
                let found = self.name_in_scope(file, scope, name, all);
                self.apart(found, functions)
            };
            if !found.is_empty() {
                return found;
            }
            if row.kind == ScopeKind::Namespace {
                let found = self.name_in_namespace(file, row.symbol, name);
                if !found.is_empty() {
                    return found;
                }
            }
            if scope == 0 || row.parent >= scope {
                break;
            }
            let stars = self.stars_in(file, scope);
            let found = self.find_in_stars(file, &stars, name);
            if !found.is_empty() {
                return found;
            }
            scope = row.parent;
        }
        self.name_of_package(file, name, maybe_inherited)
    }

    /// What is bound in a function or block before a place: the last local name, or else what is no local name.
    fn name_before(&mut self, file: u32, scope: ScopeId, place: Place, name: &'r str) -> Vec<Found> {
        let local = |session: &Self, target: &Target| {
            let (symbol, _) = session.symbol(*target)?;
            matches!(symbol.kind, SymbolKind::Local | SymbolKind::Parameter).then_some(symbol.place)
        };
        let symbols = self.symbols_in(file, scope, name);
        let last = symbols
            .iter()
            .filter_map(|target| Some((local(self, target).filter(|at| *at < place)?, *target)))
            .max();
        if let Some((_, last)) = last {
            return vec![Found::Symbol(last, None)];
        }
        let others = symbols.into_iter().filter(|target| local(self, target).is_none()).collect();
        let mut found = self.defined(others, None);
        for (body, import) in self.imports_in(file, scope, name) {
            found.extend(self.imported(file, body, import));
        }
        found
    }

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

    /// Of functions and variables with the same name, those that are meant where `functions` says it.
    fn apart(&self, mut found: Vec<Found>, functions: Option<bool>) -> Vec<Found> {
        if let Some(called) = functions {
            found.retain(|one| match one {
                Found::Symbol(target, _) => match self.kind(*target) {
                    Some(SymbolKind::Function) => called,
                    Some(
                        SymbolKind::Variable | SymbolKind::Field | SymbolKind::Parameter | SymbolKind::Local,
                    ) => !called,
                    _ => true,
                },
                _ => true,
            });
        }
        found
    }

    /// Extensions of a name that the file sees, for values that are not known to have such a member.
    fn visible_extensions(&mut self, at: At, owners: &[Value], name: &'r str) -> Vec<Found> {
        let family = self.family(at.file);
        let candidates = self.repository.extending(family, name);
        if candidates.is_empty() || !self.rules(at.file).visible_extensions {
            return Vec::new();
        }
        let unknown = owners.iter().any(|owner| matches!(owner, Value::Unknown));
        let foreign = |owner: &Value| {
            matches!(owner, Value::External | Value::Instance(Type { of: None, .. }) | Value::Content(_))
        };
        if !unknown && !owners.iter().any(foreign) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (target, scope) in candidates.iter().copied() {
            self.step(1);
            if self.sees_extension(at, target, name)
                && (unknown || self.type_of_scope(target.file, scope).is_none())
            {
                found.push(Found::Symbol(target, None));
            }
        }
        found
    }

    /// Whether a file sees an extension: it imports it or its package, or is of the same package.
    fn sees_extension(&mut self, at: At, target: Target, name: &'r str) -> bool {
        if target.file == at.file {
            return true;
        }
        let Some((symbol, _)) = self.symbol(target) else { return false };
        let Some(scope) = self.scope(target.file, symbol.scope) else { return false };
        if scope.kind == ScopeKind::File {
            let found = self.find_name(at.file, 0, ANYWHERE, name, true);
            return found.iter().any(|one| matches!(one, Found::Symbol(seen, _) if *seen == target));
        }
        // A static method of a class: the class has to be seen.
        let Some(class) = scope.symbol.map(|symbol| Target { symbol, ..target }) else { return false };
        let class_name = self.name_of(class);
        let found = self.find_name(at.file, at.scope, ANYWHERE, class_name, false);
        found.iter().any(|one| matches!(one, Found::Symbol(seen, _) if *seen == class))
    }

    /// What is bound in a scope itself. Of a type whose members are not seen, only the type parameters.
    fn name_in_scope(&mut self, file: u32, scope: ScopeId, name: &'r str, all: bool) -> Vec<Found> {
        let symbols = self.symbols_in(file, scope, name);
        // A constructor has the name of its type, which is meant.
        let seen = |target: &Target| match self.kind(*target) {
            Some(SymbolKind::Constructor) => false,
            Some(SymbolKind::TypeParameter) => true,
            _ => all,
        };
        let symbols: Vec<Target> = symbols.into_iter().filter(seen).collect();
        let mut found = self.defined(symbols, None);
        if all {
            for (body, import) in self.imports_in(file, scope, name) {
                found.extend(self.imported(file, body, import));
            }
        }
        found
    }

    /// Members of a type that are seen by their bare name.
    fn inherited_name(
        &mut self,
        file: u32,
        scope: ScopeId,
        name: &'r str,
        functions: Option<bool>,
        maybe_inherited: &mut bool,
    ) -> Vec<Found> {
        let own = self.name_in_scope(file, scope, name, true);
        let own = self.apart(own, functions);
        if !own.is_empty() {
            return own;
        }
        let Some(of) = self.type_of_scope(file, scope) else {
            *maybe_inherited = true;
            return Vec::new();
        };
        let found = self.member(Value::Instance(of), name);
        *maybe_inherited |= self.has_unknown_base(of);
        let found = found.into_iter().filter(|one| matches!(one, Found::Symbol(..))).collect();
        self.apart(found, functions)
    }

    /// Members of the same namespace that stand elsewhere.
    fn name_in_namespace(&mut self, file: u32, namespace: Option<u32>, name: &'r str) -> Vec<Found> {
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

    /// A name that no scope of the file binds.
    fn name_of_package(&mut self, file: u32, name: &'r str, maybe_inherited: bool) -> Vec<Found> {
        let rules = self.rules(file);
        let packages = self.repository.packages();
        let own = self.repository.files().get(file as usize).and_then(rules.package);
        let mut package = own.as_deref();
        while let Some(of) = package {
            let found = packages.find(rules.family, of).map(|of| self.name_in_package(of, name));
            if let Some(found) = found.filter(|found| !found.is_empty()) {
                return found;
            }
            let outer = of.rsplit_once(rules.separator).map(|(outer, _)| outer);
            let root = Some("").filter(|_| !of.is_empty());
            package = outer.or(root).filter(|_| rules.outer_packages);
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
            let everywhere: Vec<(u32, u32)> = self.repository.global_stars(rules.family).collect();
            for (other, import) in everywhere {
                let found = self.find_in_stars(other, &[(false, import)], name);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        vec![free_name(rules, maybe_inherited)]
    }

    fn name_in_package(&mut self, package: u32, name: &str) -> Vec<Found> {
        let packages = self.repository.packages();
        let symbols = packages.members(package, name).to_vec();
        self.step(symbols.len());
        let mut found = self.defined(symbols, None);
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

    /// Symbols as what a name is bound to: definitions, or declarations if there are no definitions.
    pub(crate) fn defined(&mut self, mut symbols: Vec<Target>, receiver: Option<Receiver>) -> Vec<Found> {
        let declared =
            |target: &Target| self.symbol(*target).is_some_and(|(symbol, _)| symbol.is_declaration);
        if symbols.iter().all(declared) {
            let elsewhere: Vec<Target> =
                symbols.iter().take(4).flat_map(|symbol| self.definitions_of(*symbol)).collect();
            symbols.extend(elsewhere);
        }
        if symbols.iter().any(|target| !declared(target)) {
            symbols.retain(|target| !declared(target));
        }
        symbols.sort_unstable();
        symbols.dedup();
        symbols.into_iter().take(RESULTS_MAX).map(|target| Found::Symbol(target, receiver)).collect()
    }

    /// What is defined elsewhere in the package under the name of a declaration.
    fn definitions_of(&self, declaration: Target) -> Vec<Target> {
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

    fn find_in_stars(&mut self, file: u32, stars: &[(bool, u32)], name: &'r str) -> Vec<Found> {
        let mut unknown = false;
        for (body, import) in stars.iter().copied() {
            let found = self.found_in_star(file, body, import, name);
            if found.iter().any(|one| !matches!(one, Found::Unknown)) {
                return found;
            }
            unknown |= !found.is_empty();
        }
        if unknown { vec![Found::Unknown] } else { Vec::new() }
    }

    /// A name among those that an import of all names binds. `Unknown` if the module is foreign and may have it.
    fn found_in_star(&mut self, file: u32, body: bool, import: u32, name: &'r str) -> Vec<Found> {
        let Some((row, half)) = self.import_row(file, body, import) else { return Vec::new() };
        let located = self.locate(file, half.arena.text(row.module));
        let mut found = Vec::new();
        for one in located {
            let modules = self.follow(&one);
            for module in modules {
                let bound = match module {
                    Found::Module(Module::File(other)) => {
                        let half = self.repository.files().get(other as usize);
                        let rules = self.rules(other);
                        match half.is_some_and(|of| (rules.in_star)(&of.interface, name)) {
                            true => self.exported_name(other, name),
                            false => Vec::new(),
                        }
                    }
                    Found::Module(module) => self.member_of_module(module, name),
                    Found::Symbol(target, _) => {
                        let values = self.value_of(target, None);
                        values.into_iter().flat_map(|value| self.member(value, name)).collect()
                    }
                    Found::Value(_) | Found::Unknown => vec![Found::Unknown],
                };
                found.extend(bound.into_iter().filter(|one| !matches!(one, Found::Unknown)));
            }
        }
        found
    }

    pub(crate) fn import_row(
        &self,
        file: u32,
        body: bool,
        import: u32,
    ) -> Option<(&'r Import, super::index::Half<'r>)> {
        let half = self.half(file, body)?;
        Some((half.imports.get(import as usize)?, half))
    }

    /// The modules that a path names, as the file sees it.
    fn locate(&mut self, file: u32, path: &'r str) -> Vec<Located<'r>> {
        self.step(4);
        let mut located = (self.rules(file).modules)(self.repository, file, path);
        located.truncate(RESULTS_MAX);
        located
    }

    /// What a located path leads to.
    fn follow(&mut self, located: &Located<'r>) -> Vec<Found> {
        let mut found = vec![Found::Module(located.module)];
        for name in located.rest.iter().take(16) {
            let values = self.values_of(&found, None);
            found = values.into_iter().flat_map(|value| self.member(value, name)).take(RESULTS_MAX).collect();
        }
        found
    }

    /// What an import binds. Never empty.
    pub(crate) fn imported(&mut self, file: u32, body: bool, import: u32) -> Vec<Found> {
        if let Some(known) = self.imports.get(&(file, body, import)) {
            return known.to_vec();
        }
        let before = self.given_up;
        let question = Question::Import(file, body, import);
        let found = self.once(question, |session| session.import(file, body, import));
        let mut found = distinct(found.unwrap_or_default());
        if found.is_empty() {
            found.push(Found::Unknown);
        }
        if before == self.given_up {
            self.imports.insert((file, body, import), Rc::from(found.as_slice()));
        }
        found
    }

    fn import(&mut self, file: u32, body: bool, import: u32) -> Vec<Found> {
        let Some((row, half)) = self.import_row(file, body, import) else { return Vec::new() };
        let located = self.locate(file, half.arena.text(row.module));
        if located.is_empty() {
            return vec![Found::Value(Value::External)];
        }
        let mut found = Vec::new();
        for one in located {
            let whole = self.follow(&one);
            match row.what {
                Imported::Module | Imported::All => found.extend(whole),
                Imported::Name(name) => {
                    let name = half.arena.text(name);
                    for value in self.values_of(&whole, None) {
                        found.extend(self.member(value, name));
                    }
                }
            }
        }
        found
    }

    /// What a file exports under a name. Empty if nothing.
    pub(crate) fn exported_name(&mut self, file: u32, name: &'r str) -> Vec<Found> {
        if let Some(known) = self.exported.get(&(file, name)) {
            return known.to_vec();
        }
        let before = self.given_up;
        let question = Question::Exported(file, name);
        let found = self.once(question, |session| session.export(file, name));
        let found = distinct(found.unwrap_or_default());
        if before == self.given_up {
            self.exported.insert((file, name), Rc::from(found.as_slice()));
        }
        found
    }

    fn export(&mut self, file: u32, name: &'r str) -> Vec<Found> {
        let (rules, repository) = (self.rules(file), self.repository);
        let Some(source) = repository.files().get(file as usize) else { return Vec::new() };
        let Some((half, index)) = repository.interface(file) else { return Vec::new() };
        let mut found = Vec::new();
        for export in index.exports(half, name) {
            let at = At {
                file,
                body: false,
                scope: 0,
                expr: half.exports[export as usize].value,
                place: ANYWHERE,
            };
            let bound = self.find_exported_value(at);
            found.extend(bound.into_iter().filter(|one| !matches!(one, Found::Unknown)));
        }
        if found.is_empty() {
            for import in index.passed_on(half, name) {
                found.extend(self.imported(file, false, import));
            }
        }
        if found.is_empty() || rules.namespaces {
            let symbols = self.symbols_in(file, 0, name).into_iter();
            let exported = |target: &Target| {
                half.symbols
                    .get(target.symbol as usize)
                    .is_some_and(|symbol| (rules.exported)(source, symbol))
            };
            found.extend(self.defined(symbols.filter(exported).collect(), None));
        }
        if (found.is_empty() || rules.namespaces) && rules.imports_pass_on {
            for (body, import) in self.imports_in(file, 0, name) {
                found.extend(self.imported(file, body, import));
            }
        }
        if rules.namespaces {
            // What a foreign or unknown thing of the name is not, a star may be.
            found.retain(|one| !matches!(one, Found::Unknown));
        }
        if found.is_empty() {
            let stars = self.stars_in(file, 0).into_iter();
            let passed_on = |import: &(bool, u32)| {
                let row = half.imports.get(import.1 as usize);
                rules.stars_pass_on || rules.imports_pass_on || row.is_some_and(|row| row.exported.is_some())
            };
            let stars: Vec<_> = stars.filter(passed_on).collect();
            found = self.find_in_stars(file, &stars, name);
        }
        found
    }

    /// An export's value: a name, or an object or call of which nothing is known but its value.
    fn find_exported_value(&mut self, at: At) -> Vec<Found> {
        match self.expr(at) {
            Expr::Name(_) | Expr::Member(..) => self.find(at, None),
            _ => self.evaluate(at, None).into_iter().map(Found::Value).collect(),
        }
    }

    /// What a module exports as a whole: `module.exports = …`.
    pub(crate) fn whole_export(&mut self, module: Module) -> Vec<Found> {
        match module {
            Module::File(file) => self.exported_name(file, "="),
            Module::Folder { .. } | Module::Package(_) => Vec::new(),
        }
    }

    /// A member of a module. `Unknown` if there is none.
    pub(crate) fn member_of_module(&mut self, module: Module, name: &'r str) -> Vec<Found> {
        let rules = match module {
            Module::File(file) | Module::Folder { file, .. } => self.rules(file),
            Module::Package(package) => super::rules::of_family(self.repository.packages().family(package)),
        };
        let mut found = match module {
            Module::File(file) => self.exported_name(file, name),
            Module::Folder { .. } => Vec::new(),
            Module::Package(package) => self.name_in_package(package, name),
        };
        if found.is_empty() && name != "=" {
            for whole in self.whole_export(module) {
                if name == "default" {
                    found.push(whole);
                    continue;
                }
                for value in self.values_of(&[whole], None) {
                    if value != Value::Module(module) {
                        found.extend(self.member(value, name));
                    }
                }
            }
        }
        if found.is_empty() {
            found.extend((rules.submodule)(self.repository, module, name).map(Found::Module));
        }
        if found.is_empty() {
            found.push(Found::Unknown);
        }
        found
    }
}

fn free_name(rules: &Rules, maybe_inherited: bool) -> Found {
    match rules.free_names {
        FreeNames::Builtin if !maybe_inherited => Found::Value(Value::External),
        _ => Found::Unknown,
    }
}

fn distinct(all: Vec<Found>) -> Vec<Found> {
    let mut distinct: Vec<Found> = Vec::with_capacity(all.len().min(RESULTS_MAX));
    for one in all {
        if distinct.len() < RESULTS_MAX && !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// A type's own symbol as the receiver of what is found in it.
pub(crate) fn receiver(this: Type, owner: Type) -> Option<Receiver> {
    Some(Receiver { this, owner })
}
