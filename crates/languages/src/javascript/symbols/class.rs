//! Classes, interfaces and enums of JavaScript and TypeScript.

use tree_sitter::Node;

use super::{Hint, Walk};
use crate::symbols::{Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind};

impl<'t> Walk<'_, 't> {
    pub(super) fn class_declaration(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let Some(name) = node.child_by_field_name("name") else {
            self.class(node, None);
            return;
        };
        let symbol = self.b.define(name, SymbolKind::Type, New { exported, ..New::default() });
        self.class(node, symbol);
    }

    /// The heritage and the members of a class.
    pub(super) fn class(&mut self, node: Node<'t>, symbol: Option<SymbolId>) {
        let mut cursor = node.walk();
        let mut bases = Vec::new();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "decorator" => self.decorator(child),
                "class_heritage" => bases = self.heritage(child),
                _ => {}
            }
        }
        if let Some(symbol) = symbol.and_then(|symbol| self.b.symbol_mut(symbol)) {
            symbol.bases = bases;
        }
        if !self.b.open(ScopeKind::Type, symbol) {
            return;
        }
        if node.kind() == "class" {
            self.own_name(node, symbol);
        }
        self.type_parameters(node);
        if let Some(body) = node.child_by_field_name("body") {
            self.members(body);
        }
        self.b.close();
    }

    /// Base classes and interfaces.
    fn heritage(&mut self, node: Node<'t>) -> Vec<ExprId> {
        let mut bases = Vec::new();
        let mut cursor = node.walk();
        for clause in node.named_children(&mut cursor) {
            match clause.kind() {
                "extends_clause" => bases.extend(self.extends(clause)),
                "implements_clause" => {
                    let mut types = clause.walk();
                    for named in clause.named_children(&mut types) {
                        bases.extend(self.base(named));
                    }
                }
                _ => bases.push(self.value_as(clause, UseKind::Inherit)),
            }
        }
        bases
    }

    fn extends(&mut self, clause: Node<'t>) -> Option<ExprId> {
        let base = clause.child_by_field_name("value")?;
        let base = self.value_as(base, UseKind::Inherit);
        Some(match clause.child_by_field_name("type_arguments") {
            Some(arguments) => {
                let arguments = self.type_list(arguments);
                self.b.add(Expr::Apply(base, arguments))
            }
            None => base,
        })
    }

    /// A type that another one extends or implements.
    fn base(&mut self, node: Node<'t>) -> Option<ExprId> {
        self.named_type_as(node, UseKind::Inherit)
    }

    /// The members of a class, an interface or an object type.
    pub(super) fn members(&mut self, body: Node<'t>) {
        let mut cursor = body.walk();
        for member in body.named_children(&mut cursor) {
            if self.b.enter() {
                self.member_of(member, body.kind() == "class_body");
                self.b.leave();
            }
        }
    }

    fn member_of(&mut self, member: Node<'t>, in_class: bool) {
        match member.kind() {
            "method_definition" => self.method(member),
            "method_signature" | "abstract_method_signature" => {
                let overload = in_class && member.kind() == "method_signature";
                self.define_method(member, overload);
            }
            "public_field_definition" | "field_definition" => self.class_field(member),
            "property_signature" => {
                let annotation = member.child_by_field_name("type");
                let declared = annotation.and_then(|annotation| self.named_type(annotation));
                if let Some(name) = member.child_by_field_name("name") {
                    let new = New { exported: true, declared, ..New::default() };
                    self.define_key(name, SymbolKind::Field, new);
                }
            }
            "class_static_block" => {
                if self.b.open(ScopeKind::Function, None) {
                    self.children(member);
                    self.b.close();
                }
            }
            "decorator" => self.decorator(member),
            "call_signature" => self.call_signature(member),
            "index_signature" | "construct_signature" => self.function(member, None),
            _ => {
                self.value(member);
            }
        }
    }

    /// Defines the property that a key names.
    fn define_key(&mut self, key: Node<'t>, kind: SymbolKind, new: New) -> Option<SymbolId> {
        if key.kind() == "computed_property_name" {
            self.children(key);
        }
        self.b.define_in(self.b.scope(), self.key(key), key.start_byte(), kind, new)
    }

    pub(super) fn method(&mut self, node: Node<'t>) {
        self.define_method(node, false);
    }

    fn define_method(&mut self, node: Node<'t>, is_declaration: bool) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let (mut is_static, mut accessor) = (false, false);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).take_while(|child| child.id() != name.id()) {
            match child.kind() {
                "static" => is_static = true,
                "get" | "set" => accessor = true,
                "decorator" => self.decorator(child),
                _ => {}
            }
        }
        let kind = match (accessor, self.b.text(name)) {
            (true, _) => SymbolKind::Field,
            (false, "constructor") => SymbolKind::Constructor,
            _ => SymbolKind::Function,
        };
        let new = New { exported: true, is_static, is_declaration, ..New::default() };
        let symbol = self.define_key(name, kind, new);
        self.function(node, symbol);
    }

    fn class_field(&mut self, node: Node<'t>) {
        let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
        let Some(name) = name else { return };
        let mut cursor = node.walk();
        let mut is_static = false;
        for child in node.children(&mut cursor) {
            match child.kind() {
                "static" => is_static = true,
                "decorator" => self.decorator(child),
                _ => {}
            }
        }
        let annotation = node.child_by_field_name("type");
        let declared = annotation.and_then(|annotation| self.named_type(annotation));
        let value = node.child_by_field_name("value");
        let is_function = value.is_some_and(|value| {
            matches!(value.kind(), "arrow_function" | "function_expression" | "generator_function")
        });
        let kind = if is_function { SymbolKind::Function } else { SymbolKind::Field };
        let new = New { exported: true, is_static, declared, ..New::default() };
        let symbol = self.define_key(name, kind, new);
        match (value, symbol) {
            (Some(value), Some(symbol)) if is_function => self.function_field(value, symbol, declared),
            (Some(value), Some(symbol)) if value.kind() == "object" => self.object(value, Some(symbol)),
            (Some(value), symbol) => {
                let value = self.value(value);
                if let Some(symbol) = symbol {
                    self.b.add_value(symbol, value);
                }
            }
            (None, _) => {}
        }
    }

    /// A field whose value is a function: its declared type, if it has one, says what calling it gives.
    fn function_field(&mut self, value: Node<'t>, symbol: SymbolId, declared: Option<ExprId>) {
        self.hint = declared.map(Hint::Type);
        self.function(value, Some(symbol));
        if let Some(declared) = declared {
            let instance = self.b.add(Expr::Instance(declared));
            let called = self.b.add(Expr::Call(instance));
            if let Some(symbol) = self.b.symbol_mut(symbol) {
                symbol.value.get_or_insert(called);
            }
        }
    }

    pub(super) fn interface(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let Some(name) = node.child_by_field_name("name") else { return };
        let mut bases = Vec::new();
        let mut cursor = node.walk();
        for clause in node.named_children(&mut cursor).filter(|child| child.kind() == "extends_type_clause") {
            let mut types = clause.walk();
            for named in clause.named_children(&mut types) {
                bases.extend(self.base(named));
            }
        }
        let symbol = self.b.define(name, SymbolKind::Type, New { exported, bases, ..New::default() });
        if self.b.open(ScopeKind::Type, symbol) {
            self.type_parameters(node);
            if let Some(body) = node.child_by_field_name("body") {
                self.type_members(body, symbol);
            }
            self.b.close();
        }
    }

    pub(super) fn enumeration(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let Some(name) = node.child_by_field_name("name") else { return };
        let symbol = self.b.define(name, SymbolKind::Type, New { exported, ..New::default() });
        let Some(body) = node.child_by_field_name("body") else { return };
        if !self.b.open(ScopeKind::Type, symbol) {
            return;
        }
        let this = self.b.add(Expr::This);
        let mut cursor = body.walk();
        for member in body.named_children(&mut cursor) {
            let key = match member.kind() {
                "comment" => continue,
                "enum_assignment" => {
                    self.field(member, "value");
                    member.child_by_field_name("name")
                }
                _ => Some(member),
            };
            if let Some(key) = key {
                let new = New { exported: true, is_static: true, value: Some(this), ..New::default() };
                self.define_key(key, SymbolKind::Field, new);
            }
        }
        self.b.close();
    }
}
