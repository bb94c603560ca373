//! Infers the parameters of functions that are passed, returned or assigned, such as in `app.get('/', (c) => c.text())`, from the function
//! type that is expected there.

use languages::symbols::{Expr, FUNCTION_TYPE, SymbolKind};

use super::evaluate::instance;
use super::reference::Target;
use super::session::{RESULTS_MAX, Session};
use super::value::{At, Found, Receiver, Type, Value, Wanted};

impl Session<'_> {
    /// Returns the argument that a function of a type receives for a parameter. Unknown if the type is one of several that disagree.
    pub(crate) fn given(&mut self, of: At, number: u32, receiver: Option<Receiver>) -> Vec<Value> {
        let mut functions = Vec::new();
        self.function_types(of, receiver, Wanted::Type, &mut functions);
        let mut agreed: Option<(Vec<Target>, Vec<Value>)> = None;
        for function in functions {
            let Some(parameter) = self.parameter_type(function, number) else { return vec![Value::Unknown] };
            let types = self.evaluate_type(parameter, None);
            let known = |value: &Value| match value {
                Value::Type(Type { of: Some(of), .. }) => Some(*of),
                _ => None,
            };
            let mut targets: Vec<Target> = types.iter().filter_map(known).collect();
            targets.sort_unstable();
            targets.dedup();
            match &agreed {
                Some((others, _)) if *others != targets => return vec![Value::Unknown],
                Some(_) => {}
                None => {
                    let values = types.into_iter().filter(|value| known(value).is_some()).map(instance);
                    agreed = Some((targets, values.collect()));
                }
            }
        }
        agreed.map(|(_, values)| values).unwrap_or_default()
    }

    /// Returns the type of a parameter of a function type.
    fn parameter_type(&self, function: At, number: u32) -> Option<At> {
        match self.expr(function) {
            Expr::Apply(_, arguments) if (number as usize) + 1 < arguments.len() => {
                Some(At { expr: *arguments.get(number as usize)?, ..function })
            }
            _ => None,
        }
    }

    /// Returns the function types that an expression names, through aliases and types that can be called; with `Wanted::Value`, those of
    /// the value.
    fn function_types(&mut self, at: At, receiver: Option<Receiver>, wanted: Wanted, found: &mut Vec<At>) {
        self.deeper(|session| session.function_types_of(at, receiver, wanted, found));
    }

    fn function_types_of(&mut self, at: At, receiver: Option<Receiver>, wanted: Wanted, found: &mut Vec<At>) {
        if found.len() >= RESULTS_MAX {
            return;
        }
        let part = |expr: u32| At { expr, ..at };
        match self.expr(at) {
            Expr::Apply(of, arguments) => {
                let is_function = match self.expr(part(*of)) {
                    Expr::Name(name) => self.text(at, *name) == FUNCTION_TYPE,
                    _ => false,
                };
                match is_function && !arguments.is_empty() {
                    true if found.contains(&at) => {}
                    true => found.push(at),
                    false => self.function_types(part(*of), receiver, wanted, found),
                }
            }
            Expr::Either(all) => {
                for one in all.iter().take(RESULTS_MAX) {
                    self.function_types(part(*one), receiver, wanted, found);
                }
            }
            Expr::Instance(of) => self.function_types(part(*of), receiver, Wanted::Type, found),
            Expr::Given(of, number) => {
                let mut outer = Vec::new();
                self.function_types(part(*of), receiver, Wanted::Value, &mut outer);
                for function in outer {
                    if let Some(parameter) = self.parameter_type(function, *number) {
                        self.function_types(parameter, None, Wanted::Type, found);
                    }
                }
            }
            Expr::Name(_) | Expr::Member(..) => {
                for one in self.find_as(at, receiver, wanted) {
                    let Found::Symbol(target, _) = one else { continue };
                    self.function_types_of_symbol(target, found);
                }
            }
            _ => {}
        }
    }

    fn function_types_of_symbol(&mut self, target: Target, found: &mut Vec<At>) {
        let Some((symbol, _)) = self.symbol(target) else { return };
        let says = matches!(
            symbol.kind,
            SymbolKind::Alias
                | SymbolKind::Type
                | SymbolKind::Field
                | SymbolKind::Variable
                | SymbolKind::Local
                | SymbolKind::Parameter
        );
        let declared = symbol.declared.filter(|_| says).and_then(|declared| self.at_symbol(target, declared));
        if let Some(declared) = declared {
            self.function_types(declared, None, Wanted::Type, found);
        }
    }
}
