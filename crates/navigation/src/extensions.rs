//! Finds extensions by their name, for values whose type is not defined in the repository.

use languages::symbols::{Expr, ScopeKind, SymbolKind};

use super::reference::Target;
use super::repository::{Extending, last_name};
use super::session::Session;
use super::value::{ANYWHERE, At, Found, Type, Value, Wanted};

/// Types that everything is an instance of.
const ANYTHING: &[&str] = &["Any", "Object", "object"];
/// Maximum number of steps from a value to the name of its type.
const STEPS_MAX: u32 = 6;
/// Maximum number of traits that one scope implements.
const BASES_MAX: usize = 16;

impl<'r> Session<'r> {
    /// Returns extensions of a name that the file sees, for the value of the expression `of`, which is not known to have such a member.
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
        // An instance of a type of the repository can still be extended by extensions of all types.
        let is_known = !is_foreign && !owners.contains(&Value::Unknown);
        if is_known && !owners.iter().any(|owner| matches!(owner, Value::Instance(_))) {
            return Vec::new();
        }
        let type_name = self.type_name_of(of, 0);
        let is_builtin = rules.is_builtin_member(name);
        let mut found = Vec::new();
        // Set if an extension is for another type, which may be a base of the value's type.
        let mut may_be = false;
        for extending in candidates.iter().copied() {
            self.step(1);
            let extended = self.extended_name(extending);
            let fits = match (type_name, extended.filter(|name| !ANYTHING.contains(name))) {
                (_, Some(_)) if is_known => false,
                (Some(one), Some(other)) => one == other,
                (None, Some(_)) => is_foreign && !is_builtin,
                (_, None) => !is_builtin,
            };
            if (!fits && (!is_foreign || is_builtin)) || !self.is_implemented(extending, name) {
                continue;
            }
            let is_seen = self.sees_extension(of, extending, name);
            if fits && is_seen {
                found.push(Found::Symbol(extending.member, None));
            }
            may_be |= is_seen || (fits && rules.bases_by_scope);
        }
        if found.is_empty() && may_be && is_foreign {
            found.push(Found::Unknown);
        }
        found
    }

    /// Returns the last name of the type that an extension extends; `None` if it is a type parameter, so that all types are extended.
    fn extended_name(&mut self, extending: Extending) -> Option<&'r str> {
        let (file, scope) = extending.by;
        let half = self.half(file, self.scope_in_body(file, scope))?;
        let name = last_name(half.arena, self.scope(file, scope)?.target?)?;
        let own =
            if self.rules(file).bases_by_scope { self.symbols_in(file, scope, name) } else { Vec::new() };
        let is_parameter = |target: &Target| self.kind(*target) == Some(SymbolKind::TypeParameter);
        (!own.iter().any(is_parameter)).then_some(name)
    }

    /// Checks whether a scope gets a method from a trait: it implements that very trait, and does not define the method itself.
    fn is_implemented(&mut self, extending: Extending, name: &'r str) -> bool {
        let (file, scope) = extending.by;
        let Some((symbol, _)) = self.symbol(extending.member) else { return false };
        if !self.rules(file).bases_by_scope || (extending.member.file, symbol.scope) == (file, scope) {
            return true;
        }
        self.symbols_in(file, scope, name).is_empty()
            && self.bases_of_scope(file, scope).iter().any(|base| {
                base.file == extending.member.file
                    && self.symbol(*base).is_some_and(|(base, _)| base.inside == Some(symbol.scope))
            })
    }

    /// Returns the types of the repository that a scope implements.
    fn bases_of_scope(&mut self, file: u32, scope: u32) -> Vec<Target> {
        let Some(row) = self.scope(file, scope) else { return Vec::new() };
        let body = self.scope_in_body(file, scope);
        let at = |expr: &u32| At { file, body, scope: row.parent, expr: *expr, place: ANYWHERE };
        let bases: Vec<At> = row.bases.iter().take(BASES_MAX).map(at).collect();
        let values = bases.into_iter().flat_map(|base| self.evaluate_type(base, None));
        values.filter_map(|value| if let Value::Type(of) = value { of.of } else { None }).collect()
    }

    /// Returns the last name of the type of a value, where it is declared or plain.
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

    /// Checks whether a file sees an extension: it imports the extension or its package, or belongs to the same package.
    fn sees_extension(&mut self, at: At, extending: Extending, name: &'r str) -> bool {
        let target = extending.member;
        if self.rules(at.file).bases_by_scope {
            // The methods of a trait are seen where the trait is.
            let (file, scope) = extending.by;
            return self.bases_of_scope(file, scope).into_iter().any(|base| {
                let found = self.find_name(at.file, at.scope, ANYWHERE, self.name_of(base), Wanted::Type);
                found.iter().any(|one| matches!(one, Found::Symbol(seen, _) if *seen == base))
            });
        }
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
