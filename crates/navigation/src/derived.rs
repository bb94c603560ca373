//! Finds the types of a file that derive from a base, by the scope in which the base is named.

use std::collections::HashMap;
use std::rc::Rc;

use languages::symbols::{Arena, Expr, ExprId, ScopeId, ScopeKind};

use super::reference::Target;
use super::session::{DerivedScopes, Session};

/// Maximum number of generic types around the name of a base.
const BASE_DEPTH_MAX: usize = 8;

impl<'r> Session<'r> {
    /// Returns the scopes of types that have bases.
    pub(crate) fn derived_types(&mut self) -> Rc<DerivedScopes<'r>> {
        if let Some(scopes) = &self.derived.scopes {
            return Rc::clone(scopes);
        }
        let mut found: DerivedScopes<'r> = HashMap::new();
        let count = [false, true]
            .into_iter()
            .filter_map(|body| self.half(self.file, body))
            .map(|half| half.scopes.len());
        for number in 0..count.sum::<usize>() as ScopeId {
            let Some(scope) = self.scope(self.file, number).filter(|scope| scope.kind == ScopeKind::Type)
            else {
                continue;
            };
            for name in self.bases_of(number) {
                found.entry((scope.parent, name)).or_default().push(number);
            }
        }
        let found = Rc::new(found);
        self.derived.scopes = Some(Rc::clone(&found));
        found
    }

    /// Counts one more base of this name in a scope, and returns how many came before it.
    pub(crate) fn next_base(&mut self, scope: ScopeId, name: &'r str) -> usize {
        let named = self.derived.named.entry((scope, name)).or_default();
        *named += 1;
        *named - 1
    }

    /// Returns the last names of the bases of a type, by its scope.
    pub(crate) fn bases_of(&self, number: ScopeId) -> Vec<&'r str> {
        let Some(scope) = self.scope(self.file, number) else { return Vec::new() };
        let of_scope = self.half(self.file, self.scope_in_body(self.file, number));
        let mut names: Vec<&str> = of_scope
            .into_iter()
            .flat_map(|half| scope.bases.iter().filter_map(|base| last_name(half.arena, *base)))
            .collect();
        let symbol = scope.symbol.and_then(|symbol| self.symbol(Target { file: self.file, symbol }));
        names.extend(
            symbol
                .into_iter()
                .flat_map(|(symbol, arena)| symbol.bases.iter().filter_map(|base| last_name(arena, *base))),
        );
        names
    }
}

/// Returns the last name of a base type, without its type arguments.
fn last_name(arena: &Arena, mut base: ExprId) -> Option<&str> {
    for _ in 0..BASE_DEPTH_MAX {
        match arena.expr(base) {
            Expr::Name(name) | Expr::Member(_, name) => return Some(arena.text(*name)),
            Expr::Apply(of, _) | Expr::Call(of) | Expr::Instance(of) | Expr::Inside(of) => base = *of,
            _ => return None,
        }
    }
    None
}
