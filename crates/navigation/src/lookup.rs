//! Looks up names: in the scopes around them, in imports, in the exports of files.

use std::rc::Rc;

use languages::symbols::{Expr, Import, Imported, Place, ScopeId, ScopeKind, SymbolKind};

use super::index::Half;
use super::reference::Target;
use super::rules::{FreeNames, Located, Rules, Sight};
use super::session::{Question, RESULTS_MAX, Session};
use super::value::{ANYWHERE, At, Found, Module, Receiver, Value, Wanted};

/// The scopes that a look-up has passed on its way outwards.
#[derive(Default)]
struct Passed {
    /// The innermost method.
    method: Option<Target>,
    /// `true` if a block was passed.
    has_block: bool,
    /// `true` if a class was passed.
    has_class: bool,
    /// `true` if a class was passed that may have unknown members.
    may_inherit: bool,
}

impl<'r> Session<'r> {
    /// Finds what a name or the last name of a member expression is bound to. Never empty.
    pub(crate) fn find(&mut self, at: At, receiver: Option<Receiver>) -> Vec<Found> {
        self.find_as(at, receiver, Wanted::Value)
    }

    /// Like [`find`](Self::find), for what is wanted.
    pub(crate) fn find_as(&mut self, at: At, receiver: Option<Receiver>, wanted: Wanted) -> Vec<Found> {
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
                self.find_name(at.file, at.scope, at.place, name, wanted)
            }
            Expr::Member(of, name) => {
                let (of, name) = (At { expr: *of, ..at }, unmarked(self.text(at, *name)));
                let owners = self.evaluate(of, receiver);
                let found: Vec<Found> = owners.iter().flat_map(|owner| self.member(*owner, name)).collect();
                match found.iter().any(|one| matches!(one, Found::Symbol(..))) {
                    true => found,
                    false => [found, self.visible_extensions(of, &owners, name)].concat(),
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

    /// Finds what a name is bound to, seen from a scope. Never empty.
    pub(crate) fn find_name(
        &mut self,
        file: u32,
        from: ScopeId,
        place: Place,
        name: &'r str,
        wanted: Wanted,
    ) -> Vec<Found> {
        let rules = self.rules(file);
        if name == rules.separator {
            // The separator alone names the package around all others.
            let root = self.repository.packages().find(rules.family, "");
            return vec![root.map_or(Found::Unknown, |root| Found::Module(Module::Package(root)))];
        }
        let (mut scope, mut passed) = (from, Passed::default());
        while let Some(row) = self.scope(file, scope) {
            if row.kind == ScopeKind::Function && passed.method.is_none() {
                passed.method = row.symbol.map(|symbol| Target { file, symbol });
            }
            // A value that belongs to a class was mostly assigned by a method.
            passed.has_block |= row.kind == ScopeKind::Type && scope == from;
            let found = if rules.locals_in_order && matches!(row.kind, ScopeKind::Function | ScopeKind::Block)
            {
                self.name_before(file, scope, place, name)
            } else if row.kind == ScopeKind::Type && rules.members_visible {
                self.inherited_name(file, scope, name, wanted, &mut passed)
            } else {
                let all = row.kind != ScopeKind::Type || (scope == from && rules.members_visible_in_body);
                let found = self.name_in_scope(file, scope, name, all);
                let found = self.apart(file, found, wanted);
                if rules.parameters_reassigned { self.parameter_or_local(found, place) } else { found }
            };
            passed.has_class |= row.kind == ScopeKind::Type;
            passed.has_block |= row.kind == ScopeKind::Block;
            if !found.is_empty() {
                return found;
            }
            if row.kind == ScopeKind::Namespace || (row.kind == ScopeKind::Type && row.symbol.is_none()) {
                let found = self.name_in_namespace(file, scope, name);
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
        self.name_of_package(file, name, passed.may_inherit)
    }

    /// Finds members of a type that are seen by their bare name.
    fn inherited_name(
        &mut self,
        file: u32,
        scope: ScopeId,
        name: &'r str,
        wanted: Wanted,
        passed: &mut Passed,
    ) -> Vec<Found> {
        let sides = self.rules(file).sides;
        if sides && passed.has_class && !is_constant(name) {
            return Vec::new();
        }
        let mut own = if sides { Vec::new() } else { self.name_in_scope(file, scope, name, true) };
        if self.rules(file).sight == Sight::Included {
            // Members are defined in the class and outside of it; only the parameters of a template are not.
            own.retain(|one| match one {
                Found::Symbol(target, _) => self.kind(*target) == Some(SymbolKind::TypeParameter),
                _ => true,
            });
        }
        let own = self.apart(file, own, wanted);
        if !own.is_empty() {
            return own;
        }
        let Some(of) = self.type_of_scope(file, scope) else {
            passed.may_inherit = true;
            return Vec::new();
        };
        let is_static = |method| self.symbol(method).is_some_and(|(symbol, _)| symbol.is_static);
        // A block in the body of a class is mostly run by an instance.
        let of_class = passed.method.map_or(!passed.has_block, is_static);
        let value = match sides && of_class {
            true => Value::Type(of),
            false => Value::Instance(of),
        };
        let found = self.member(value, name);
        passed.may_inherit |= self.has_unknown_base(of);
        // Inside of a class, its name and those of its bases are those of the classes and not of their constructors.
        let class_of = |one: &Found| match one {
            Found::Symbol(target, Some(receiver)) => {
                receiver.owner.of.filter(|_| self.kind(*target) == Some(SymbolKind::Constructor))
            }
            _ => None,
        };
        match found.first().and_then(class_of) {
            Some(class) => vec![Found::Symbol(class, None)],
            None => {
                let found = found.into_iter().filter(|one| matches!(one, Found::Symbol(..))).collect();
                self.apart(file, found, wanted)
            }
        }
    }

    /// Finds what is bound in a scope itself. Of a type whose members are not seen, only the type parameters.
    fn name_in_scope(&mut self, file: u32, scope: ScopeId, name: &'r str, all: bool) -> Vec<Found> {
        let symbols = self.symbols_in(file, scope, name);
        // A constructor has the name of its type, and the type is meant.
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

    /// Finds what an import binds. Never empty.
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
        let path = half.arena.text(row.module);
        let located = self.locate(file, path);
        if located.is_empty() {
            return match (self.rules(file).may_be_own)(path) {
                true => vec![Found::Unknown],
                false => vec![Found::Value(Value::External)],
            };
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

    /// Returns an import, with the half of the file that it is in.
    pub(crate) fn import_row(&self, file: u32, body: bool, import: u32) -> Option<(&'r Import, Half<'r>)> {
        let half = self.half(file, body)?;
        Some((half.imports.get(import as usize)?, half))
    }

    /// Returns the modules that a path names, as the file sees it.
    pub(crate) fn locate(&mut self, file: u32, path: &'r str) -> Vec<Located<'r>> {
        self.step(4);
        let mut located = (self.rules(file).modules)(self.repository, file, path);
        located.truncate(RESULTS_MAX);
        located
    }

    /// Returns the target of a located path.
    pub(crate) fn follow(&mut self, located: &Located<'r>) -> Vec<Found> {
        let mut found = vec![Found::Module(located.module)];
        for name in located.rest.iter().take(16) {
            let values = self.values_of(&found, None);
            found = values.into_iter().flat_map(|value| self.member(value, name)).take(RESULTS_MAX).collect();
        }
        found
    }

    /// Finds what a file exports under a name; empty if nothing.
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
            // An imported `*` may have what an unknown binding of the name does not have.
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

    /// Evaluates an exported value: a name, or an object or call with nothing known but its value.
    fn find_exported_value(&mut self, at: At) -> Vec<Found> {
        match self.expr(at) {
            Expr::Name(_) | Expr::Member(..) => self.find(at, None),
            _ => self.evaluate(at, None).into_iter().map(Found::Value).collect(),
        }
    }

    /// Returns what a module exports as a whole: `module.exports = …`.
    pub(crate) fn whole_export(&mut self, module: Module) -> Vec<Found> {
        match module {
            Module::File(file) => self.exported_name(file, "="),
            Module::Folder { .. } | Module::Package(_) => Vec::new(),
        }
    }

    /// Returns a member of a module; `Unknown` if there is no such member.
    pub(crate) fn member_of_module(&mut self, module: Module, name: &'r str) -> Vec<Found> {
        let rules = match module {
            Module::File(file) | Module::Folder { file, .. } => self.rules(file),
            Module::Package(package) => super::rules::of_family(self.repository.packages().family(package)),
        };
        let mut found = match module {
            Module::File(file) => self.exported_name(file, name),
            Module::Folder { .. } => Vec::new(),
            Module::Package(package) => self.name_in_package(self.file, package, name),
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
            let is_foreign = matches!(module, Module::Package(_)) && rules.free_names == FreeNames::Builtin;
            found.push(if is_foreign { Found::Value(Value::External) } else { Found::Unknown });
        }
        found
    }
}

/// Checks whether a name is that of a constant, in languages where the first letter says so.
pub(crate) fn is_constant(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// Returns the meaning of a name that nothing in the repository binds.
pub(crate) fn free_name(rules: &Rules, maybe_inherited: bool) -> Found {
    match rules.free_names {
        FreeNames::Builtin if !maybe_inherited => Found::Value(Value::External),
        _ => Found::Unknown,
    }
}

/// Removes duplicates and keeps at most [`RESULTS_MAX`].
fn distinct(all: Vec<Found>) -> Vec<Found> {
    let mut distinct: Vec<Found> = Vec::with_capacity(all.len().min(RESULTS_MAX));
    for one in all {
        if distinct.len() < RESULTS_MAX && !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}
