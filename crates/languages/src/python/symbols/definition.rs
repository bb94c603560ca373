//! Functions, classes and imports of Python.

use std::collections::HashSet;

use tree_sitter::Node;

use super::{Frame, Walk};
use crate::symbols::{Expr, ExprId, New, ScopeKind, SymbolKind, UseKind};

/// Decorators that make a function an attribute.
const PROPERTIES: &[&str] = &[
    "property", "cached_property", "setter", "getter", "deleter", "abstractproperty", "hybrid_property",
    "classproperty",
];

/// A decorator: its last name, and the expression.
pub(super) type Decorator<'t> = (&'t str, ExprId);

impl<'t> Walk<'_, 't> {
    pub(super) fn decorated(&mut self, node: Node<'t>) {
        let mut decorators = Vec::new();
        let mut cursor = node.walk();
        for decorator in node.children(&mut cursor).filter(|child| child.kind() == "decorator") {
            let Some(expression) = decorator.named_child(0) else { continue };
            let value = self.value(expression);
            let callee = match expression.kind() {
                "call" => expression.child_by_field_name("function"),
                _ => Some(expression),
            };
            let name = callee.and_then(|callee| match callee.kind() {
                "attribute" => callee.child_by_field_name("attribute"),
                _ => Some(callee),
            });
            if expression.kind() != "call"
                && let Some(name) = name
            {
                // Without parentheses, the decorator is called with the definition.
                self.b.used(UseKind::Call, value, name);
            }
            decorators.push((name.map_or("", |name| self.b.text(name)), value));
        }
        let Some(definition) = node.child_by_field_name("definition") else { return };
        match definition.kind() {
            "function_definition" => self.function(definition, &decorators),
            "class_definition" => self.class(definition),
            _ => self.statement(definition),
        }
    }

    pub(super) fn function(&mut self, node: Node<'t>, decorators: &[Decorator<'t>]) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let has = |wanted: &str| decorators.iter().any(|(name, _)| *name == wanted);
        let is_property = decorators.iter().any(|(name, _)| PROPERTIES.contains(name));
        let (scope, kind) = self.binding_scope();
        let symbol_kind = if is_property { SymbolKind::Field } else { SymbolKind::Function };
        let returned = node.child_by_field_name("return_type");
        let declared = returned.and_then(|returned| self.annotation(returned));
        let made: Vec<ExprId> =
            decorators.iter().take(1).map(|(_, value)| self.b.add(Expr::Call(*value))).collect();
        let new = New {
            bases: if is_property || kind == ScopeKind::Type { Vec::new() } else { made },
            exported: !self.b.text(name).starts_with('_'),
            is_static: has("staticmethod") || has("classmethod"),
            is_declaration: has("overload"),
            declared,
            ..New::default()
        };
        let text = self.b.text(name);
        let symbol = self.b.define_in(scope, text, name.start_byte(), symbol_kind, new);
        let parameters = node.child_by_field_name("parameters");
        let parameters = parameters.map_or_else(Vec::new, |parameters| self.parameters(parameters));
        if !self.b.open(ScopeKind::Function, symbol) {
            return;
        }
        let is_type =
            has("classmethod") || matches!(text, "__new__" | "__init_subclass__" | "__class_getitem__");
        let own = (kind == ScopeKind::Type && !has("staticmethod")).then(|| parameters.first()).flatten();
        let own = own.map(|parameter| (self.b.text(parameter.name), is_type));
        self.frames.push(Frame {
            scope: self.b.scope(),
            own,
            foreign: HashSet::new(),
            returns: Vec::new(),
            yields: false,
            branches: 0,
            outer_loop: None,
        });
        self.type_parameters(node);
        self.define_parameters(parameters, own);
        if let Some(body) = node.child_by_field_name("body") {
            self.block(body);
        }
        let frame = self.frames.pop();
        self.b.close();
        let returns = frame.filter(|frame| !frame.yields).map(|frame| frame.returns).unwrap_or_default();
        if let (None, Some(symbol)) = (declared, symbol) {
            let value = self.b.either(returns);
            if let (Some(value), Some(symbol)) = (value, self.b.symbol_mut(symbol)) {
                symbol.value = Some(value);
            }
        }
    }

    /// Visits annotations and default values of parameters, which are evaluated outside of the function.
    fn parameters(&mut self, node: Node<'t>) -> Vec<Parameter<'t>> {
        let mut parameters = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if self.b.enter() {
                parameters.extend(self.parameter(child));
                self.b.leave();
            }
        }
        parameters
    }

    fn parameter(&mut self, node: Node<'t>) -> Option<Parameter<'t>> {
        let declared = node.child_by_field_name("type").and_then(|annotation| self.annotation(annotation));
        let default = node.child_by_field_name("value").filter(|value| value.kind() != "none");
        let value = default.map(|default| self.value(default));
        let (name, splat) = match node.kind() {
            "identifier" => (node, None),
            "default_parameter" | "typed_default_parameter" => (node.child_by_field_name("name")?, None),
            "typed_parameter" => match node.named_child(0)? {
                splat if splat.kind() != "identifier" => (splat.named_child(0)?, Some(splat.kind())),
                name => (name, None),
            },
            "list_splat_pattern" | "dictionary_splat_pattern" => (node.named_child(0)?, Some(node.kind())),
            _ => return None,
        };
        let declared = match splat {
            None => declared,
            Some(kind) => {
                let whole = self.b.name(if kind == "list_splat_pattern" { "tuple" } else { "dict" });
                declared.map(|declared| self.b.add(Expr::Apply(whole, vec![declared])))
            }
        };
        (name.kind() == "identifier").then_some(Parameter { name, declared, value })
    }

    fn define_parameters(&mut self, parameters: Vec<Parameter<'t>>, own: Option<(&'t str, bool)>) {
        for (number, Parameter { name, declared, value }) in parameters.into_iter().enumerate() {
            let value = match own {
                Some((_, true)) if number == 0 => Some(self.b.add(Expr::ThisType)),
                Some((_, false)) if number == 0 => Some(self.b.add(Expr::This)),
                _ => value,
            };
            let new = New { declared, value, ..New::default() };
            self.b.define(name, SymbolKind::Parameter, new);
        }
    }

    /// Defines the type parameters of a function or class in the innermost scope: `def f[T]`.
    fn type_parameters(&mut self, node: Node<'t>) {
        let Some(parameters) = node.child_by_field_name("type_parameters") else { return };
        let mut cursor = parameters.walk();
        for parameter in parameters.named_children(&mut cursor) {
            let mut name = parameter;
            for _ in 0..4 {
                match name.named_child(0) {
                    Some(inner) if name.kind() != "identifier" => name = inner,
                    _ => break,
                }
            }
            if name.kind() == "identifier" {
                self.b.define(name, SymbolKind::TypeParameter, New::default());
            }
        }
    }

    pub(super) fn lambda(&mut self, node: Node<'t>) {
        let parameters = node.child_by_field_name("parameters");
        let parameters = parameters.map_or_else(Vec::new, |parameters| self.parameters(parameters));
        if !self.b.open(ScopeKind::Function, None) {
            return;
        }
        self.define_parameters(parameters, None);
        if let Some(body) = node.child_by_field_name("body") {
            self.value(body);
        }
        self.b.close();
    }

    pub(super) fn class(&mut self, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let mut bases = Vec::new();
        if let Some(list) = node.child_by_field_name("superclasses") {
            let mut cursor = list.walk();
            for base in list.named_children(&mut cursor) {
                match base.kind() {
                    "keyword_argument" => {
                        base.child_by_field_name("value").map(|value| self.value(value));
                    }
                    "comment" => {}
                    _ => bases.push(self.base(base)),
                }
            }
        }
        let (scope, _) = self.binding_scope();
        let text = self.b.text(name);
        let new = New { exported: !text.starts_with('_'), bases, ..New::default() };
        let symbol = self.b.define_in(scope, text, name.start_byte(), SymbolKind::Type, new);
        if self.b.open(ScopeKind::Type, symbol) {
            self.type_parameters(node);
            if let Some(body) = node.child_by_field_name("body") {
                self.block(body);
            }
            self.b.close();
        }
    }

    /// A base of a class: a name, possibly with type arguments, or a call.
    fn base(&mut self, node: Node<'t>) -> ExprId {
        match node.kind() {
            "identifier" | "attribute" => self.value_as(node, UseKind::Inherit),
            "subscript" => {
                let of =
                    node.child_by_field_name("value").map(|value| self.value_as(value, UseKind::Inherit));
                let arguments = self.subscripts_as_types(node);
                let of = of.unwrap_or_else(|| self.b.unknown());
                self.b.add(Expr::Apply(of, arguments))
            }
            _ => self.value(node),
        }
    }

    pub(super) fn type_alias(&mut self, node: Node<'t>) {
        let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let declared = right.and_then(|right| self.annotation(right));
        let mut name = left;
        while let Some(inner) = name.filter(|name| name.kind() != "identifier") {
            name = inner.named_child(0);
        }
        if let Some(name) = name {
            // The place of the definition is that of the whole left side.
            let exported = !self.b.text(name).starts_with('_');
            self.b.define(name, SymbolKind::Alias, New { exported, declared, ..New::default() });
        }
    }

    pub(super) fn import(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "dotted_name" => {
                    let module = self.dotted(child);
                    let first = module.split('.').next().unwrap_or_default().to_owned();
                    if first.len() < module.len() {
                        self.b.import(child, &module, None, None, None);
                    }
                    self.b.import(child, &first, None, Some(&first), None);
                }
                "aliased_import" => {
                    let (name, alias) =
                        (child.child_by_field_name("name"), child.child_by_field_name("alias"));
                    if let (Some(name), Some(alias)) = (name, alias) {
                        let (module, alias) = (self.dotted(name), self.b.text(alias));
                        self.b.import(name, &module, None, Some(alias), None);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn import_from(&mut self, node: Node<'t>) {
        let Some(module_node) = node.child_by_field_name("module_name") else { return };
        let module = self.dotted(module_node);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "wildcard_import" => self.b.import_all(module_node, &module, true),
                "aliased_import" => {
                    let (name, alias) =
                        (child.child_by_field_name("name"), child.child_by_field_name("alias"));
                    if let (Some(name), Some(alias)) = (name, alias) {
                        let (imported, alias) = (self.dotted(name), self.b.text(alias));
                        self.b.import(name, &module, Some(&imported), Some(alias), Some(alias));
                    }
                }
                "dotted_name" if child.id() != module_node.id() => {
                    let name = self.dotted(child);
                    self.b.import(child, &module, Some(&name), Some(&name), Some(&name));
                }
                _ => {}
            }
        }
    }

    /// A dotted name without the blanks that may be in it.
    fn dotted(&self, node: Node<'t>) -> String {
        self.b.text(node).chars().filter(|c| !c.is_whitespace() && *c != '\\').collect()
    }
}

/// A parameter before it is defined.
pub(super) struct Parameter<'t> {
    name: Node<'t>,
    declared: Option<ExprId>,
    value: Option<ExprId>,
}
