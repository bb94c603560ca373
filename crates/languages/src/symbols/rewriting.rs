//! Joins and rewrites expressions while a file is walked through.

use std::collections::HashSet;

use super::builder::Builder;
use super::table::{Expr, ExprId, ScopeKind, SymbolId, SymbolKind};

/// Maximum number of values of a symbol that are kept.
const VALUES_MAX: usize = 6;
/// Maximum number of alternatives and arguments that are rewritten.
const PARTS_MAX: usize = 8;
/// Deepest expression that is rewritten.
const DEPTH_MAX: u32 = 24;
/// The depth that a local name counts for.
const NAME_DEPTH: u32 = 8;
/// Maximum number of parts of an expression that are rewritten.
const STEPS_MAX: u32 = 200;

impl Builder<'_> {
    /// One of several expressions; `None` of none.
    pub(crate) fn either(&mut self, mut all: Vec<ExprId>) -> Option<ExprId> {
        let mut seen = HashSet::new();
        all.retain(|one| seen.insert(*one));
        match all.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => Some(self.add(Expr::Either(all))),
        }
    }

    /// Adds another value to the known ones of a symbol.
    pub(crate) fn add_value(&mut self, symbol: SymbolId, value: ExprId) {
        let Some(known) = self.symbol(symbol).map(|symbol| symbol.value) else { return };
        let merged = match known {
            None => value,
            Some(known) if known == value => return,
            Some(known) => {
                let mut all = match self.expr(known) {
                    Expr::Either(all) => all.clone(),
                    _ => vec![known],
                };
                if all.len() >= VALUES_MAX || all.contains(&value) {
                    return;
                }
                all.push(value);
                self.add(Expr::Either(all))
            }
        };
        if let Some(symbol) = self.symbol_mut(symbol) {
            symbol.value = Some(merged);
        }
    }

    /// The symbol of a name in the innermost function or block around that has one.
    pub(crate) fn local(&self, name: &str) -> Option<SymbolId> {
        let scopes = self.open_scopes().rev();
        let inner = scopes.take_while(|(_, kind)| matches!(kind, ScopeKind::Function | ScopeKind::Block));
        inner.into_iter().find_map(|(scope, _)| self.find(scope, name))
    }

    /// An expression as it can be understood outside of the enclosing functions: their parameters and local names are replaced by what they
    /// are, as far as it is known until here.
    pub(crate) fn outward(&mut self, expr: ExprId) -> ExprId {
        let mut steps = 0;
        self.rewrite(expr, 0, &mut steps)
    }

    fn rewrite(&mut self, expr: ExprId, depth: u32, steps: &mut u32) -> ExprId {
        *steps += 1;
        if depth > DEPTH_MAX || *steps > STEPS_MAX {
            return self.unknown();
        }
        match self.expr(expr).clone() {
            Expr::Name(name) => {
                let name = self.text_of(name).to_owned();
                self.rewrite_name(&name, expr, depth, steps)
            }
            Expr::Member(of, name) => {
                let of = self.rewrite(of, depth + 1, steps);
                let name = self.text_of(name).to_owned();
                self.member(of, &name)
            }
            Expr::Call(of) => {
                let of = self.rewrite(of, depth + 1, steps);
                self.add(Expr::Call(of))
            }
            Expr::Instance(of) => {
                let of = self.rewrite(of, depth + 1, steps);
                self.add(Expr::Instance(of))
            }
            Expr::Inside(of) => {
                let of = self.rewrite(of, depth + 1, steps);
                self.add(Expr::Inside(of))
            }
            Expr::Given(of, number) => {
                let of = self.rewrite(of, depth + 1, steps);
                self.add(Expr::Given(of, number))
            }
            Expr::Apply(of, arguments) => {
                let of = self.rewrite(of, depth + 1, steps);
                let arguments = self.rewrite_all(arguments, depth, steps);
                self.add(Expr::Apply(of, arguments))
            }
            Expr::Either(all) => {
                let all = self.rewrite_all(all, depth, steps);
                self.add(Expr::Either(all))
            }
            Expr::Unknown | Expr::This | Expr::ThisType | Expr::Super => expr,
        }
    }

    fn rewrite_all(&mut self, all: Vec<ExprId>, depth: u32, steps: &mut u32) -> Vec<ExprId> {
        all.into_iter().take(PARTS_MAX).map(|one| self.rewrite(one, depth + 1, steps)).collect()
    }

    fn rewrite_name(&mut self, name: &str, expr: ExprId, depth: u32, steps: &mut u32) -> ExprId {
        let Some(local) = self.local(name) else { return expr };
        let Some(symbol) = self.symbol(local) else { return expr };
        match (symbol.kind, symbol.declared, symbol.value) {
            (SymbolKind::Parameter | SymbolKind::Local, Some(declared), _) => {
                self.add(Expr::Instance(declared))
            }
            (SymbolKind::Parameter | SymbolKind::Local, None, Some(value)) if value != expr => {
                self.rewrite(value, depth + NAME_DEPTH, steps)
            }
            _ => self.unknown(),
        }
    }
}
