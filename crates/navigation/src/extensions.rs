//! Finds extensions by their name, for values whose type is not defined in the repository.

use languages::symbols::{Expr, ScopeKind, SymbolKind};

use super::reference::Target;
use super::repository::last_name;
use super::session::Session;
use super::value::{ANYWHERE, At, Found, Type, Value, Wanted};

/// Types of which everything is an instance.
const ANYTHING: &[&str] = &["Any", "Object", "object"];
/// Most steps from a value to the name of its type.
const STEPS_MAX: u32 = 6;

impl<'r> Session<'r> {
    /// Extensions of a name that the file sees, for the value of the expression `of`, which is not known to have such a member.
    pub(crate) fn visible_extensions(&mut self, of: At, owners: &[Value], name: &'r str) -> Vec<Found> {
        let (family, rules) = (self.family(of.file), self.rules(of.file));
        let candidates = self.repository.extending(family, name);
        if candidates.is_empty() || !rules.visible_extensions {
            return Vec::new();
        }
        let foreign = |owner: &Value| {
            matches!(owner, Value::External | Value::Instance(Type { of: None, .. }) | Value::Content(_))
        };
        let is_foreign = owners.iter().any(foreign);
        // An instance of a type of the repository may be extended as anything can.
        let is_known = !is_foreign && !owners.contains(&Value::Unknown);
        if is_known && !owners.iter().any(|owner| matches!(owner, Value::Instance(_))) {
            return Vec::new();
        }
        let type_name = self.type_name_of(of, 0);
        let mut found = Vec::new();
        for (target, scope) in candidates.iter().copied() {
            self.step(1);
            let extended = self.extended_name(target, scope);
            let fits = match (type_name, extended.filter(|name| !ANYTHING.contains(name))) {
                (_, Some(_)) if is_known => false,
                (Some(one), Some(other)) => one == other,
                (None, Some(_)) => is_foreign && !rules.is_builtin_member(name),
                (_, None) => !rules.is_builtin_member(name),
            };
            if fits && self.sees_extension(of, target, name) {
                found.push(Found::Symbol(target, None));
            }
        }
        found
    }

    /// The last name of the type that an extension extends.
    fn extended_name(&self, target: Target, scope: u32) -> Option<&'r str> {
        let half = self.half(target.file, self.scope_in_body(target.file, scope))?;
        last_name(half.arena, self.scope(target.file, scope)?.target?)
    }

    /// The last name of the type of a value, where it is declared or plain.
    fn type_name_of(&mut self, at: At, steps: u32) -> Option<&'r str> {
        if steps > STEPS_MAX {
            return None;
        }
        if let Some(known) = self.type_names.get(&at) {
            return *known;
        }
        let before = self.given_up;
        let found = self.deeper(|session| session.find_type_name(at, steps)).flatten();
        if before == self.given_up {
            self.type_names.insert(at, found);
        }
        found
    }

    fn find_type_name(&mut self, at: At, steps: u32) -> Option<&'r str> {
        let part = |expr: u32| At { expr, ..at };
        match self.expr(at) {
            Expr::Instance(of) => last_name(self.half(at.file, at.body)?.arena, *of),
            Expr::Either(all) => self.type_name_of(part(*all.first()?), steps + 1),
            Expr::Name(_) | Expr::Member(..) => {
                let found = self.find(at, None);
                self.type_name_of_symbol(&found, steps)
            }
            Expr::Call(of) => {
                let found = self.find_as(part(*of), None, Wanted::Function);
                self.type_name_of_symbol(&found, steps)
            }
            _ => None,
        }
    }

    fn type_name_of_symbol(&mut self, found: &[Found], steps: u32) -> Option<&'r str> {
        let target = found.iter().find_map(|one| match one {
            Found::Symbol(target, _) => Some(*target),
            _ => None,
        })?;
        let (symbol, arena) = self.symbol(target)?;
        if symbol.kind == SymbolKind::Type {
            return Some(arena.text(symbol.name));
        }
        if let Some(declared) = symbol.declared {
            return last_name(arena, declared);
        }
        let value = self.at_symbol(target, symbol.value?)?;
        self.type_name_of(value, steps + 1)
    }

    /// Whether a file sees an extension: it imports it or its package, or is of the same package.
    fn sees_extension(&mut self, at: At, target: Target, name: &'r str) -> bool {
        if target.file == at.file {
            return true;
        }
        let Some((symbol, _)) = self.symbol(target) else { return false };
        let Some(scope) = self.scope(target.file, symbol.scope) else { return false };
        if scope.kind == ScopeKind::File {
            let found = self.find_name(at.file, 0, ANYWHERE, name, Wanted::Function);
            return found.iter().any(|one| matches!(one, Found::Symbol(seen, _) if *seen == target));
        }
        // A member of an extension without a name is seen like a name of the package.
        if scope.target.is_some() && scope.symbol.is_none() {
            return true;
        }
        // A static method of a class: the class has to be seen.
        let Some(class) = scope.symbol.map(|symbol| Target { symbol, ..target }) else { return false };
        let class_name = self.name_of(class);
        let found = self.find_name(at.file, at.scope, ANYWHERE, class_name, Wanted::Type);
        found.iter().any(|one| matches!(one, Found::Symbol(seen, _) if *seen == class))
    }
}
