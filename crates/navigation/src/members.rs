//! Finds members: of types with their bases, of instances, of modules and namespaces.

use std::rc::Rc;

use languages::symbols::{Expr, ScopeId, ScopeKind, SymbolKind};

use super::evaluate::instance;
use super::reference::Target;
use super::repository::last_name;
use super::rules::{Merging, Sight};
use super::session::{Question, RESULTS_MAX, Session};
use super::value::{ANYWHERE, At, Found, Module, Receiver, Type, Value};

/// Maximum number of definitions that are one type together.
const PARTS_MAX: usize = 128;
/// Maximum number of types, with all their bases, that are searched for a member.
const TYPES_MAX: usize = 64;

/// The members of a class: its own, those of its instances, or both in languages without a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Class,
    Instance,
    Both,
}

impl<'r> Session<'r> {
    /// Finds a member of a value. Never empty: `Unknown` if it has no known one.
    pub(crate) fn member(&mut self, value: Value, name: &'r str) -> Vec<Found> {
        let found = self.deeper(|session| match value {
            Value::Unknown | Value::Gives(_) => vec![Found::Unknown],
            // Something that is read like a field of its generic owner.
            Value::Content(at) => {
                let values = session.argument(at).into_iter();
                values.flat_map(|value| session.member(instance(value), name)).collect()
            }
            Value::External => vec![Found::Value(Value::External)],
            Value::Type(Type { of: None, .. }) => vec![Found::Value(Value::External)],
            Value::Instance(Type { of: None, arguments }) => session.foreign_member(arguments, name),
            Value::Type(of) => session.member_of_type(of, name, false, Side::Class),
            Value::Instance(of) => {
                let found = session.member_of_type(of, name, false, Side::Instance);
                match found.as_slice() {
                    [Found::Unknown | Found::Value(Value::External)] => {
                        session.member_behind(of, name).unwrap_or(found)
                    }
                    _ => found,
                }
            }
            Value::Super(of) => session.member_of_type(of, name, true, Side::Both),
            Value::Function(of, _) if session.rules(of.file).functions_are_types => {
                session.member_of_type(Type::plain(of), name, false, Side::Both)
            }
            Value::Function(..) => vec![Found::Unknown],
            Value::Namespace(target) => session.member_of_namespace(target, name),
            Value::Module(module) => session.member_of_module(module, name),
        });
        found.filter(|found| !found.is_empty()).unwrap_or_else(|| vec![Found::Unknown])
    }

    /// Returns a member that an instance has although its type does not define it: one of the type that it points to, or one that gives the
    /// instance itself.
    fn member_behind(&mut self, of: Type, name: &'r str) -> Option<Vec<Found>> {
        let rules = self.rules(of.of?.file);
        if rules.transparent_members.contains(&name) {
            return Some(vec![Found::Value(Value::Gives(of))]);
        }
        let target = rules.target_type.filter(|target| *target != name)?;
        let declared = self.member_of_type(of, target, false, Side::Both);
        let values = self.values_of(&declared, None);
        let pointed =
            values.into_iter().find(|value| matches!(value, Value::Type(Type { of: Some(_), .. })))?;
        let found = self.member(instance(pointed), name);
        found.iter().any(|one| matches!(one, Found::Symbol(..))).then_some(found)
    }

    /// Returns a member of an instance of a foreign type.
    fn foreign_member(&mut self, arguments: Option<At>, name: &str) -> Vec<Found> {
        if let (Some(at), Ok(number)) = (arguments, name.parse::<usize>()) {
            return self.part_of_tuple(at, number);
        }
        match arguments {
            Some(at) if self.rules(at.file).content_members.contains(&name) => {
                vec![Found::Value(Value::Content(at))]
            }
            Some(at) if self.rules(at.file).same_members.contains(&name) => {
                vec![Found::Value(Value::Gives(Type { of: None, arguments }))]
            }
            _ => vec![Found::Value(Value::External)],
        }
    }

    /// Returns a numbered member of a tuple, which is a foreign generic type of its parts.
    fn part_of_tuple(&mut self, at: At, number: usize) -> Vec<Found> {
        let part = match self.expr(at) {
            Expr::Apply(_, parts) => parts.get(number).copied(),
            _ => None,
        };
        let values = part.map(|expr| self.evaluate(At { expr, ..at }, None)).unwrap_or_default();
        values.into_iter().map(|value| Found::Value(instance(value))).collect()
    }

    fn member_of_namespace(&mut self, namespace: Target, name: &'r str) -> Vec<Found> {
        let inside = self.symbol(namespace).and_then(|(symbol, _)| symbol.inside);
        let mut found = Vec::new();
        if let Some(scope) = inside {
            let symbols = self.symbols_in(namespace.file, scope, name);
            found = self.defined(symbols, None);
            if found.is_empty() {
                for (body, import) in self.imports_in(namespace.file, scope, name) {
                    found.extend(self.imported(namespace.file, body, import));
                }
            }
        }
        if found.is_empty()
            && let Some(package) = self.package_of_namespace(namespace)
        {
            found = self.member_of_module(Module::Package(package), name);
        }
        found
    }

    /// Finds a member of a type or of its bases. `bases_only` skips the type itself.
    fn member_of_type(&mut self, of: Type, name: &'r str, bases_only: bool, side: Side) -> Vec<Found> {
        let Some(target) = of.of else { return vec![Found::Unknown] };
        let side = if self.rules(target.file).sides { side } else { Side::Both };
        let mut seen: Vec<Target> = Vec::new();
        // Types still to be searched, the next one last.
        let mut open = vec![(of, side)];
        let (mut foreign, mut unknown) = (false, false);
        while let Some((next, side)) = open.pop() {
            let Some(type_target) = next.of else { continue };
            if seen.contains(&type_target) || seen.len() >= TYPES_MAX {
                continue;
            }
            seen.push(type_target);
            if !bases_only || type_target != target {
                let symbols = self.own_members(type_target, name);
                let symbols = self.of_side(symbols, side);
                if !symbols.is_empty() {
                    return self.defined(symbols, Some(Receiver { this: of, owner: next }));
                }
            }
            for base in self.bases(type_target).iter().rev() {
                match *base {
                    // A class that is extended with a module has the methods of the module's instances.
                    Value::Instance(_) if side == Side::Instance => {}
                    Value::Instance(base) if base.of.is_some() && side == Side::Class => {
                        open.push((base, Side::Instance));
                    }
                    Value::Type(base) | Value::Instance(base) if base.of.is_some() => open.push((base, side)),
                    Value::Unknown => unknown = true,
                    _ => foreign = true,
                }
            }
        }
        match foreign && !unknown {
            true => vec![Found::Value(Value::External)],
            false => vec![Found::Unknown],
        }
    }

    /// Keeps the members that belong to one side of a type. Constants belong to both.
    fn of_side(&self, mut symbols: Vec<Target>, side: Side) -> Vec<Target> {
        let is_static = |target: &Target| self.symbol(*target).is_some_and(|(symbol, _)| symbol.is_static);
        match side {
            Side::Both => {}
            Side::Class => symbols.retain(|target| {
                let kind = self.kind(*target);
                is_static(target) || !matches!(kind, Some(SymbolKind::Function | SymbolKind::Field))
            }),
            Side::Instance if symbols.iter().all(is_static) => {}
            Side::Instance => symbols.retain(|target| !is_static(target)),
        }
        symbols
    }

    /// Returns the members of a name that a type has itself, in all parts of it.
    pub(crate) fn own_members(&mut self, of: Target, name: &'r str) -> Vec<Target> {
        if let Some(known) = self.members.get(&(of, name)) {
            return known.to_vec();
        }
        let before = self.given_up;
        let found = self.find_own_members(of, name);
        if before == self.given_up {
            self.members.insert((of, name), Rc::from(found.as_slice()));
        }
        found
    }

    fn find_own_members(&mut self, of: Target, name: &'r str) -> Vec<Target> {
        if self.rules(of.file).types_are_packages
            && let Some(package) = self.package_of_namespace(of)
        {
            return self.repository.packages().members(package, name).to_vec();
        }
        let mut found = self.members_of_parts(of, name);
        let (of_type, of_bases) = self.members_of_extensions(of, name);
        found.extend(of_type);
        if found.is_empty() { of_bases } else { found }
    }

    /// Returns the members of a name in the definitions of a type.
    fn members_of_parts(&mut self, of: Target, name: &'r str) -> Vec<Target> {
        let mut found = Vec::new();
        for part in self.parts(of).iter().copied() {
            let inside = self.symbol(part).and_then(|(symbol, _)| symbol.inside);
            let members = |scope: &ScopeId| {
                let kind = self.scope(part.file, *scope).map(|scope| scope.kind);
                matches!(kind, Some(ScopeKind::Type | ScopeKind::Namespace))
            };
            if let Some(scope) = inside.filter(members) {
                let symbols = self.symbols_in(part.file, scope, name).into_iter();
                let own_name = self.name_of(part);
                found.extend(symbols.filter(|symbol| match self.kind(*symbol) {
                    Some(SymbolKind::TypeParameter) => false,
                    // A constructor that has the name of its type cannot be named as a member.
                    Some(SymbolKind::Constructor) => self.name_of(*symbol) != own_name,
                    _ => true,
                }));
            }
        }
        found
    }

    /// Returns the members of a name that are added to a type elsewhere: those of the type itself, and those that implement a base.
    fn members_of_extensions(&mut self, of: Target, name: &'r str) -> (Vec<Target>, Vec<Target>) {
        let (mut of_type, mut of_bases) = (Vec::new(), Vec::new());
        for (file, scope) in self.extensions_of(of).iter().copied() {
            let Some(row) = self.scope(file, scope) else { continue };
            if let Some(symbol) = row.symbol {
                let extension = Target { file, symbol };
                if self.name_of(extension) == name && self.is_seen(extension) {
                    of_type.push(extension);
                }
                continue;
            }
            let members = if row.bases.is_empty() { &mut of_type } else { &mut of_bases };
            members.extend(self.symbols_in(file, scope, name));
        }
        (of_type, of_bases)
    }

    /// Checks whether the file that is being resolved can see a symbol of a package.
    fn is_seen(&self, target: Target) -> bool {
        let file = self.repository.files().get(target.file as usize);
        let symbol = self.symbol(target).map(|(symbol, _)| symbol);
        target.file == self.file
            || file
                .zip(symbol)
                .is_some_and(|(file, symbol)| (self.rules(target.file).in_package)(file, symbol))
    }

    /// Returns the bases of a type, in order, in all parts of it.
    pub(crate) fn bases(&mut self, of: Target) -> Vec<Value> {
        if let Some(known) = self.bases.get(&of) {
            return known.to_vec();
        }
        let before = self.given_up;
        let found = self.find_bases(of);
        if before == self.given_up {
            self.bases.insert(of, Rc::from(found.as_slice()));
        }
        found
    }

    fn find_bases(&mut self, of: Target) -> Vec<Value> {
        let mut ats = Vec::new();
        for part in self.parts(of).iter().copied() {
            if let Some((symbol, _)) = self.symbol(part) {
                let bases = symbol.bases.iter().take(RESULTS_MAX);
                ats.extend(bases.filter_map(|base| self.at_symbol(part, *base)));
            }
        }
        for (file, scope) in self.extensions_of(of).iter().copied().take(TYPES_MAX) {
            if let Some(row) = self.scope(file, scope) {
                let body = self.scope_in_body(file, scope);
                let at = |expr: &u32| At { file, body, scope: row.parent, expr: *expr, place: ANYWHERE };
                ats.extend(row.bases.iter().take(RESULTS_MAX).map(at));
            }
        }
        ats.truncate(TYPES_MAX);
        ats.into_iter().flat_map(|at| self.evaluate_type(at, None)).collect()
    }

    /// Checks whether one of the bases of a type is unknown, so that it may have any member.
    pub(crate) fn has_unknown_base(&mut self, of: Type) -> bool {
        let mut seen: Vec<Target> = Vec::new();
        let mut open: Vec<Target> = of.of.into_iter().collect();
        while let Some(next) = open.pop() {
            if seen.contains(&next) {
                continue;
            }
            if seen.len() >= TYPES_MAX {
                return true;
            }
            seen.push(next);
            for base in self.bases(next) {
                match base {
                    Value::Type(base) | Value::Instance(base) => open.extend(base.of),
                    Value::Unknown => return true,
                    _ => {}
                }
            }
        }
        false
    }

    /// Returns the scopes that add members to a type.
    pub(crate) fn extensions_of(&mut self, of: Target) -> Rc<[(u32, ScopeId)]> {
        if let Some(known) = self.extensions.get(&of) {
            return Rc::clone(known);
        }
        let before = self.given_up;
        let found = self.once(Question::Extensions(of), |session| session.find_extensions(of));
        let found: Rc<[_]> = Rc::from(found.unwrap_or_default());
        if before == self.given_up {
            self.extensions.insert(of, Rc::clone(&found));
        }
        found
    }

    fn find_extensions(&mut self, of: Target) -> Vec<(u32, ScopeId)> {
        let mut found = Vec::new();
        let (name, repository) = (self.name_of(of), self.repository);
        let candidates = repository.extensions(self.family(of.file), name).iter().copied();
        let in_body = self.half(self.file, true).filter(|_| self.family(self.file) == self.family(of.file));
        let first = repository.interface(self.file).map_or(0, |(half, _)| half.scopes.len() as ScopeId);
        let own = in_body.into_iter().flat_map(|half| {
            (first..)
                .zip(half.scopes)
                .filter_map(move |(id, row)| (last_name(half.arena, row.target?)? == name).then_some(id))
        });
        let own: Vec<_> = own.map(|scope| (self.file, scope)).collect();
        for (file, scope) in candidates.chain(own) {
            let is_it = self
                .type_of_scope(file, scope)
                .and_then(|found| found.of)
                .is_some_and(|found| found == of || self.parts(of).contains(&found));
            if is_it {
                found.push((file, scope));
            }
        }
        found
    }

    /// Returns the definitions that are one type together.
    pub(crate) fn parts(&mut self, of: Target) -> Rc<[Target]> {
        if let Some(known) = self.parts.get(&of) {
            return Rc::clone(known);
        }
        let found: Rc<[Target]> = Rc::from(self.find_parts(of));
        self.parts.insert(of, Rc::clone(&found));
        found
    }

    fn find_parts(&mut self, of: Target) -> Vec<Target> {
        let Some((symbol, arena)) = self.symbol(of) else { return Vec::new() };
        let name = arena.text(symbol.name);
        let mut parts = match self.rules(of.file).merging {
            Merging::Apart => return vec![of],
            Merging::InScope => self.symbols_in(of.file, symbol.scope, name),
            Merging::InPackage => {
                let package = self.package_of_scope(of.file, symbol.scope);
                package.map_or_else(Vec::new, |package| {
                    self.repository.packages().members(package, name).to_vec()
                })
            }
        };
        parts.retain(|part| {
            matches!(self.kind(*part), Some(SymbolKind::Type | SymbolKind::Namespace)) || *part == of
        });
        if self.rules(of.file).sight == Sight::Included && !self.is_declaration(of) {
            // A class is defined once; another one of its name is an alternative for another platform.
            parts.retain(|part| *part == of || self.is_declaration(*part));
        }
        // Types of one name that differ in the number of their parameters are different types.
        if parts.len() > 1 && self.kind(of) == Some(SymbolKind::Type) {
            let arity = self.arity(of);
            parts.retain(|part| self.arity(*part) == arity);
        }
        if !parts.contains(&of) {
            parts.push(of);
        }
        parts.truncate(PARTS_MAX);
        parts
    }

    /// Returns the number of type parameters of a type.
    fn arity(&mut self, of: Target) -> usize {
        let inside = self.symbol(of).and_then(|(symbol, _)| symbol.inside);
        let Some(scope) = inside else { return 0 };
        let all = self.all_symbols_in(of.file, scope).into_iter();
        let parameters = all.filter(|symbol| self.kind(*symbol) == Some(SymbolKind::TypeParameter));
        parameters.count()
    }

    /// Keeps the types with this number of parameters, if there are any.
    pub(crate) fn of_arity(&mut self, values: Vec<Value>, count: usize) -> Vec<Value> {
        let is_type = |value: &Value| matches!(value, Value::Type(Type { of: Some(_), .. }));
        if values.iter().filter(|value| is_type(value)).count() < 2 {
            return values;
        }
        let mut fits = |value: &Value| match value {
            Value::Type(Type { of: Some(of), .. }) => self.arity(*of) == count,
            _ => true,
        };
        let fitting: Vec<Value> = values.iter().copied().filter(&mut fits).collect();
        if fitting.iter().any(is_type) { fitting } else { values }
    }
}
