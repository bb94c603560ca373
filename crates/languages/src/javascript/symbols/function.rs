//! Functions of JavaScript and TypeScript.

use tree_sitter::Node;

use super::{Frame, Hint, Walk};
use crate::symbols::{Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind};

impl<'t> Walk<'_, 't> {
    pub(super) fn function_declaration(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let symbol = node.child_by_field_name("name").and_then(|name| {
            // A function in a block is bound there, as in strict mode.
            self.b.define(name, SymbolKind::Function, New { exported, ..New::default() })
        });
        self.function(node, symbol);
    }

    /// An overload or a declaration without a body.
    pub(super) fn function_signature(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let Some(name) = node.child_by_field_name("name") else { return };
        let new = New { exported, is_declaration: true, ..New::default() };
        let symbol = self.b.define(name, SymbolKind::Function, new);
        self.function(node, symbol);
    }

    /// The inside of a function of any form. `symbol` gets its result.
    pub(super) fn function(&mut self, node: Node<'t>, symbol: Option<SymbolId>) {
        let hint = self.hint.take();
        if !self.b.open(ScopeKind::Function, symbol) {
            return;
        }
        self.frames.push(Frame::default());
        if matches!(node.kind(), "function_expression" | "generator_function") {
            self.own_name(node, symbol);
        }
        self.type_parameters(node);
        self.parameters(node, hint);
        let returned = node.child_by_field_name("return_type");
        let declared = returned.and_then(|returned| self.named_type(returned));
        if let Some(frame) = self.frames.last_mut() {
            frame.declared = declared;
        }
        if let Some(body) = node.child_by_field_name("body") {
            if body.kind() == "statement_block" {
                self.children(body);
            } else {
                self.hint = declared.filter(|_| is_function(body)).map(Hint::Type);
                let value = self.value(body);
                self.returns(value);
            }
        }
        let frame = self.frames.pop();
        self.b.close();
        let returns = frame.filter(|frame| !frame.yields).map(|frame| frame.returns).unwrap_or_default();
        let value = match declared {
            None => self.result(node, returns),
            Some(_) => None,
        };
        if let Some(symbol) = symbol.and_then(|symbol| self.b.symbol_mut(symbol)) {
            (symbol.declared, symbol.value) = (declared, value);
        }
    }

    /// The name of a function or class expression, which only its inside knows: `const a = function b() { b() }`. `symbol` is what it
    /// is assigned to.
    pub(super) fn own_name(&mut self, node: Node<'t>, symbol: Option<SymbolId>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let assigned = symbol.and_then(|symbol| self.b.symbol(symbol));
        let is_same = assigned.is_some_and(|assigned| {
            self.b.text_of(assigned.name) == self.b.text(name)
                && self.b.kind_of_scope(assigned.scope) != ScopeKind::Type
        });
        if !is_same {
            self.b.define(name, SymbolKind::Local, New::default());
        }
    }

    /// Returns the result of a function that declares none; that of an asynchronous function is a promise.
    fn result(&mut self, node: Node<'t>, returns: Vec<ExprId>) -> Option<ExprId> {
        let value = self.b.either(returns)?;
        let is_async = node.children(&mut node.walk()).take(6).any(|child| child.kind() == "async");
        if !is_async {
            return Some(value);
        }
        let promise = self.b.name("Promise");
        let promise = self.b.add(Expr::Apply(promise, vec![value]));
        Some(self.b.add(Expr::Instance(promise)))
    }

    fn parameters(&mut self, node: Node<'t>, hint: Option<Hint>) {
        if let Some(only) = node.child_by_field_name("parameter") {
            let value = self.given(hint, 0);
            self.b.define(only, SymbolKind::Parameter, New { value, ..New::default() });
        }
        let Some(list) = node.child_by_field_name("parameters") else { return };
        let mut cursor = list.walk();
        let parameters = list.named_children(&mut cursor).filter(|child| child.kind() != "comment");
        for (number, parameter) in (0..).zip(parameters) {
            let hint = self.given(hint, number);
            match parameter.kind() {
                "required_parameter" | "optional_parameter" => self.typed_parameter(parameter, hint),
                _ => self.bind_parameter(parameter, None, hint),
            }
        }
    }

    /// Returns the value that the context of a function gives to one of its parameters.
    fn given(&mut self, hint: Option<Hint>, number: u32) -> Option<ExprId> {
        match hint? {
            Hint::First(first) => (number == 0).then_some(first),
            Hint::Type(of) => Some(self.b.add(Expr::Given(of, number))),
        }
    }

    fn typed_parameter(&mut self, node: Node<'t>, hint: Option<ExprId>) {
        let Some(pattern) = node.child_by_field_name("pattern") else { return };
        let mut is_property = false;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "decorator" => self.decorator(child),
                "accessibility_modifier" | "override_modifier" | "readonly" => is_property = true,
                _ => {}
            }
        }
        let annotation = node.child_by_field_name("type");
        let declared = annotation.and_then(|annotation| self.named_type(annotation));
        let default = self.field(node, "value");
        // `constructor(private store: Store)` defines a field, too.
        let class = self.b.open_scopes().rev().nth(1).filter(|(_, kind)| *kind == ScopeKind::Type);
        if let (true, Some((class, _)), "identifier") = (is_property, class, pattern.kind()) {
            let new = New { declared, exported: true, ..New::default() };
            self.b.define_in(class, self.b.text(pattern), pattern.start_byte(), SymbolKind::Field, new);
        }
        self.bind_parameter(pattern, declared, default.or(hint));
    }

    fn bind_parameter(&mut self, pattern: Node<'t>, declared: Option<ExprId>, value: Option<ExprId>) {
        match pattern.kind() {
            "identifier" => {
                self.b.define(pattern, SymbolKind::Parameter, New { declared, value, ..New::default() });
            }
            "assignment_pattern" => {
                let default = self.field(pattern, "right");
                if let Some(left) = pattern.child_by_field_name("left") {
                    self.bind_parameter(left, declared, default.or(value));
                }
            }
            "rest_pattern" => {
                if let Some(inner) = pattern.named_child(0) {
                    self.bind(inner, self.b.scope(), declared, None);
                }
            }
            "this" => {}
            _ => {
                let whole = declared.map(|declared| self.b.add(Expr::Instance(declared))).or(value);
                self.bind(pattern, self.b.scope(), None, whole);
            }
        }
    }
}

/// Checks whether a node is a function expression.
pub(super) fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}
