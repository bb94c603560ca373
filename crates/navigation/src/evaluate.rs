//! Evaluates expressions: the type of a value, the result of a call.

use std::rc::Rc;

use languages::symbols::{Expr, ExprId, ScopeKind, SymbolKind};

use super::reference::Target;
use super::rules::Sight;
use super::session::{Question, RESULTS_MAX, Session};
use super::value::{At, Found, Receiver, Type, Value, Wanted};

impl<'r> Session<'r> {
    /// Evaluates an expression to its possible values, without duplicates. Never empty.
    pub(crate) fn evaluate(&mut self, at: At, receiver: Option<Receiver>) -> Vec<Value> {
        let values = self.deeper(|session| session.evaluate_kind(at, receiver));
        distinct(values.unwrap_or_default(), Value::Unknown)
    }

    fn evaluate_kind(&mut self, at: At, receiver: Option<Receiver>) -> Vec<Value> {
        let part = |expr: ExprId| At { expr, ..at };
        match self.expr(at) {
            Expr::Unknown => vec![Value::Unknown],
            Expr::Name(_) | Expr::Member(..) => {
                let found = self.find(at, receiver);
                let mut values = self.values_of(&found, receiver);
                let is_type = |value: &Value| matches!(value, Value::Type(_));
                if self.rules(at.file).types_are_packages && values.iter().all(is_type) {
                    // All parts of an open class have the same members.
                    values.truncate(1);
                }
                self.of_arity(values, 0)
            }
            Expr::Call(of) => {
                let callees = match self.expr(part(*of)) {
                    Expr::Name(_) => {
                        let found = self.find_as(part(*of), receiver, Wanted::Function);
                        self.values_of(&found, receiver)
                    }
                    _ => self.evaluate(part(*of), receiver),
                };
                callees.into_iter().flat_map(|callee| self.call(callee)).collect()
            }
            Expr::Instance(of) => {
                let of = self.evaluate_type(part(*of), receiver);
                of.into_iter().map(|value| self.made_of(value)).collect()
            }
            Expr::Apply(of, arguments) => {
                let knows_content = self.rules(at.file).sight == Sight::Included;
                let apply = |value| match value {
                    Value::Type(of) => Value::Type(Type { arguments: Some(at), ..of }),
                    Value::External => Value::Type(Type { of: None, arguments: Some(at) }),
                    // A pointer or a template whose type is unknown still shows what it contains.
                    Value::Unknown if knows_content => Value::Type(Type { of: None, arguments: Some(at) }),
                    value => value,
                };
                let values = match self.expr(part(*of)) {
                    // An array, or another type of the language itself.
                    Expr::Unknown => vec![Value::External],
                    _ => self.evaluate_named(part(*of), receiver, arguments.len()),
                };
                values.into_iter().map(apply).collect()
            }
            Expr::Inside(of) => {
                let whole = self.evaluate(part(*of), receiver);
                whole.into_iter().flat_map(|value| self.inside(value)).collect()
            }
            Expr::Either(all) => {
                all.iter().take(RESULTS_MAX).flat_map(|one| self.evaluate(part(*one), receiver)).collect()
            }
            Expr::Given(of, number) => self.given(part(*of), *number, receiver),
            Expr::This => {
                vec![self.this(at.file, at.scope, receiver).map_or(Value::Unknown, Value::Instance)]
            }
            Expr::ThisType => {
                vec![self.this(at.file, at.scope, receiver).map_or(Value::Unknown, Value::Type)]
            }
            Expr::Super => {
                // The bases are those of the type that has the method, not of the instance.
                let of = self.this(at.file, at.scope, None);
                let nameless =
                    self.type_scope(at.file, at.scope).is_some_and(|of| self.is_nameless(at.file, of));
                vec![of.map_or(Value::Unknown, if nameless { Value::Instance } else { Value::Super })]
            }
        }
    }

    /// Makes an instance of a type, or of a function that serves as a type, as JavaScript allows.
    fn made_of(&self, value: Value) -> Value {
        match value {
            Value::Function(target, _) if self.rules(target.file).functions_are_types => {
                Value::Instance(Type::plain(target))
            }
            value => instance(value),
        }
    }

    /// Like [`evaluate`](Self::evaluate), for an expression that has to be a type.
    pub(crate) fn evaluate_type(&mut self, at: At, receiver: Option<Receiver>) -> Vec<Value> {
        self.deeper(|session| session.evaluate_named(at, receiver, 0)).unwrap_or_else(|| vec![Value::Unknown])
    }

    /// Returns the types of a name with this number of arguments; evaluates any other expression as it is.
    fn evaluate_named(&mut self, at: At, receiver: Option<Receiver>, arguments: usize) -> Vec<Value> {
        match self.expr(at) {
            Expr::Name(_) | Expr::Member(..) => {
                let found = self.find_as(at, receiver, Wanted::Type);
                let values = self.values_of(&found, receiver);
                self.of_arity(values, arguments)
            }
            _ => self.evaluate(at, receiver),
        }
    }

    /// Returns the values of everything that a name is bound to.
    pub(crate) fn values_of(&mut self, found: &[Found], around: Option<Receiver>) -> Vec<Value> {
        let mut values = Vec::new();
        for one in found.iter().take(RESULTS_MAX) {
            match *one {
                Found::Symbol(target, receiver) => values.extend(self.value_of(target, receiver.or(around))),
                Found::Module(module) => values.push(Value::Module(module)),
                Found::Value(value) => values.push(value),
                Found::Unknown => values.push(Value::Unknown),
            }
        }
        values
    }

    /// Returns the possible values of a symbol.
    pub(crate) fn value_of(&mut self, target: Target, receiver: Option<Receiver>) -> Vec<Value> {
        let Some((symbol, _)) = self.symbol(target) else { return vec![Value::Unknown] };
        match symbol.kind {
            SymbolKind::Type => return vec![Value::Type(Type::plain(target))],
            SymbolKind::Namespace => return vec![Value::Namespace(target)],
            SymbolKind::Function | SymbolKind::Constructor | SymbolKind::Macro => {
                return self.decorated(target, receiver);
            }
            SymbolKind::TypeParameter => return self.type_argument(target, receiver),
            _ => {}
        }
        if receiver.is_none()
            && let Some(known) = self.values.get(&target)
        {
            return known.to_vec();
        }
        let before = self.given_up;
        let values =
            self.once(Question::Value(target), |session| session.value_of_variable(target, receiver));
        let values = distinct(values.unwrap_or_default(), Value::Unknown);
        if receiver.is_none() && before == self.given_up {
            self.values.insert(target, Rc::from(values.as_slice()));
        }
        values
    }

    /// Returns a function, or the instance of a type of the repository that its decorators turn it into.
    fn decorated(&mut self, target: Target, receiver: Option<Receiver>) -> Vec<Value> {
        let function = vec![Value::Function(target, receiver)];
        let made = self.symbol(target).and_then(|(symbol, _)| symbol.bases.first().copied());
        let Some(made) = made.and_then(|made| self.at_symbol(target, made)) else { return function };
        let question = Question::Decorated(target);
        let values = self.once(question, |session| session.evaluate(made, None)).unwrap_or_default();
        let own = |value: &Value| matches!(value, Value::Instance(Type { of: Some(_), .. }));
        let instances: Vec<Value> = values.into_iter().filter(own).collect();
        if instances.is_empty() { function } else { instances }
    }

    fn value_of_variable(&mut self, target: Target, receiver: Option<Receiver>) -> Vec<Value> {
        let Some((symbol, _)) = self.symbol(target) else { return Vec::new() };
        // The members of an object that is written out where it is assigned.
        let inside = symbol.inside.and_then(|scope| self.scope(target.file, scope));
        if inside.is_some_and(|scope| scope.kind == ScopeKind::Type) {
            return vec![Value::Instance(Type::plain(target))];
        }
        let declared = symbol.declared.and_then(|declared| self.at_symbol(target, declared));
        let value = symbol.value.and_then(|value| self.at_symbol(target, value));
        match (symbol.kind, declared, value) {
            (SymbolKind::Alias, Some(at), _) | (SymbolKind::Alias, None, Some(at)) => {
                self.evaluate(at, receiver)
            }
            (_, Some(at), _) => self.evaluate_type(at, receiver).into_iter().map(instance).collect(),
            (_, None, Some(at)) => self.evaluate(at, receiver),
            (_, None, None) => Vec::new(),
        }
    }

    /// Returns the argument of the receiver's type for a type parameter, or else its bound.
    fn type_argument(&mut self, target: Target, receiver: Option<Receiver>) -> Vec<Value> {
        let argument = receiver.and_then(|receiver| self.argument_of(target, receiver.owner));
        if let Some(argument) = argument {
            return self.evaluate_type(argument, None);
        }
        let bound = self.symbol(target).and_then(|(symbol, _)| symbol.declared);
        match bound.and_then(|bound| self.at_symbol(target, bound)) {
            Some(bound) => self.evaluate_type(bound, None),
            None => vec![Value::Unknown],
        }
    }

    fn argument_of(&mut self, parameter: Target, owner: Type) -> Option<At> {
        let arguments = owner.arguments?;
        let scope = self.symbol(parameter)?.0.scope;
        // Type parameters of a scope that adds members to the type correspond to those of the type, in the same order.
        let row = self.scope(parameter.file, scope)?;
        let of = match row.symbol {
            Some(symbol) => Some(Target { symbol, ..parameter }),
            None if row.kind == ScopeKind::Type => self.type_of_scope(parameter.file, scope)?.of,
            None => None,
        };
        if of != owner.of {
            return None;
        }
        let all = self.all_symbols_in(parameter.file, scope);
        self.step(all.len());
        let parameters =
            all.into_iter().filter(|symbol| self.kind(*symbol) == Some(SymbolKind::TypeParameter));
        let mut numbered: Vec<u32> = parameters.map(|symbol| symbol.symbol).collect();
        numbered.sort_unstable();
        let at = numbered.iter().position(|symbol| *symbol == parameter.symbol)?;
        match self.expr(arguments) {
            Expr::Apply(_, all) => Some(At { expr: *all.get(at)?, ..arguments }),
            _ => None,
        }
    }

    /// Returns the result of calling a value.
    fn call(&mut self, callee: Value) -> Vec<Value> {
        match callee {
            Value::Type(of) => vec![Value::Instance(of)],
            Value::Function(target, receiver) => self.result_of(target, receiver),
            Value::Content(at) => self.argument(at).into_iter().map(instance).collect(),
            // A value of a foreign generic type that is called is a callback, and its last argument the result.
            Value::Instance(Type { of: None, arguments: Some(at) }) => {
                self.argument(at).into_iter().map(instance).collect()
            }
            Value::Instance(of) => match of.of.and_then(|target| self.rules(target.file).call_member) {
                Some(name) => {
                    let found = self.member(Value::Instance(of), name);
                    let callees = self.values_of(&found, None);
                    let called = callees.into_iter().filter(|callee| matches!(callee, Value::Function(..)));
                    called.collect::<Vec<_>>().into_iter().flat_map(|callee| self.call(callee)).collect()
                }
                None => vec![Value::Unknown],
            },
            Value::Module(module) => {
                let found = self.whole_export(module);
                let values = self.values_of(&found, None);
                let values = values.into_iter().filter(|value| !matches!(value, Value::Module(_)));
                values.collect::<Vec<_>>().into_iter().flat_map(|value| self.call(value)).collect()
            }
            Value::Gives(of) => vec![Value::Instance(of)],
            Value::External => vec![Value::External],
            Value::Unknown | Value::Super(_) | Value::Namespace(_) => vec![Value::Unknown],
        }
    }

    /// Returns the result of a function.
    fn result_of(&mut self, target: Target, receiver: Option<Receiver>) -> Vec<Value> {
        let Some((symbol, _)) = self.symbol(target) else { return vec![Value::Unknown] };
        if symbol.kind == SymbolKind::Constructor {
            let of = self.this(target.file, symbol.scope, receiver);
            return vec![of.map_or(Value::Unknown, Value::Instance)];
        }
        let declared = symbol.declared.and_then(|declared| self.at_symbol(target, declared));
        let value = symbol.value.and_then(|value| self.at_symbol(target, value));
        let result = self.once(Question::Value(target), |session| match (declared, value) {
            (Some(at), _) => session.evaluate_type(at, receiver).into_iter().map(instance).collect(),
            (None, Some(at)) => session.evaluate(at, receiver),
            (None, None) => Vec::new(),
        });
        distinct(result.unwrap_or_default(), Value::Unknown)
    }

    /// Returns the last argument of a generic type, as a type.
    pub(crate) fn argument(&mut self, at: At) -> Vec<Value> {
        match self.expr(at) {
            Expr::Apply(_, arguments) => match arguments.last() {
                Some(last) => self.evaluate_type(At { expr: *last, ..at }, None),
                None => vec![Value::Unknown],
            },
            _ => vec![Value::Unknown],
        }
    }

    /// Returns the content of a value.
    fn inside(&mut self, value: Value) -> Vec<Value> {
        match value {
            Value::External => vec![Value::External],
            Value::Type(of) => self.argument_inherited(of),
            Value::Instance(of) => self.argument_inherited(of).into_iter().map(instance).collect(),
            _ => vec![Value::Unknown],
        }
    }

    /// Returns the first type that `of` declares under one of these names.
    fn declared_content(&mut self, of: Type, names: &[&'static str]) -> Vec<Value> {
        for name in names {
            let found = self.member(Value::Type(of), name);
            let values = self.values_of(&found, None);
            if values.iter().any(|value| matches!(value, Value::Type(_))) {
                return values;
            }
        }
        vec![Value::Unknown]
    }

    /// Returns the last argument of a type or of the first of its bases that has one.
    fn argument_inherited(&mut self, mut of: Type) -> Vec<Value> {
        for _ in 0..8 {
            if let Some(at) = of.arguments {
                return self.argument(at);
            }
            let Some(target) = of.of else { return vec![Value::External] };
            let names = self.rules(target.file).content_types;
            if !names.is_empty() {
                return self.declared_content(of, names);
            }
            let bases = self.bases(target);
            let generic = bases.iter().find_map(|base| match base {
                Value::Type(base) if base.arguments.is_some() => Some(*base),
                _ => None,
            });
            let first = bases.iter().find_map(|base| match base {
                Value::Type(base) => Some(*base),
                _ => None,
            });
            match generic.or(first) {
                Some(base) => of = base,
                None => return vec![Value::Unknown],
            }
        }
        vec![Value::Unknown]
    }
}

/// Returns the instance of a type; any other value as it is.
pub(crate) fn instance(value: Value) -> Value {
    match value {
        Value::Type(of) => Value::Instance(of),
        value => value,
    }
}

/// Removes duplicates and keeps at most [`RESULTS_MAX`] values; `nothing` if there are no values.
fn distinct(values: Vec<Value>, nothing: Value) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::with_capacity(values.len().min(RESULTS_MAX));
    for value in values {
        if distinct.len() < RESULTS_MAX && !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    if distinct.is_empty() {
        distinct.push(nothing);
    }
    distinct
}
