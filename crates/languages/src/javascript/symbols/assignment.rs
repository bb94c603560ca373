//! Variables, destructuring and assignments of JavaScript and TypeScript.

use tree_sitter::Node;

use super::{Hint, Walk};
use crate::symbols::{Expr, ExprId, New, ScopeId, ScopeKind, SymbolKind, UseKind};

impl<'t> Walk<'_, 't> {
    pub(super) fn variables(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let is_var = node.kind() == "variable_declaration";
        let scope = if is_var { self.function_scope() } else { self.b.scope() };
        let mut cursor = node.walk();
        for declarator in
            node.named_children(&mut cursor).filter(|child| child.kind() == "variable_declarator")
        {
            if self.b.enter() {
                self.exported = exported;
                self.variable(declarator, scope);
                self.exported = false;
                self.b.leave();
            }
        }
    }

    fn variable(&mut self, node: Node<'t>, scope: ScopeId) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let (annotation, value) = (node.child_by_field_name("type"), node.child_by_field_name("value"));
        let declared = annotation.and_then(|annotation| self.named_type(annotation));
        let exported = std::mem::take(&mut self.exported);
        if name.kind() != "identifier" {
            self.destructured(name, scope, declared, value, exported);
            return;
        }
        let kind = match value.map_or("", |value| value.kind()) {
            "arrow_function" | "function_expression" | "function" | "generator_function" => {
                SymbolKind::Function
            }
            "class" => SymbolKind::Type,
            _ if self.is_inner(scope) => SymbolKind::Local,
            _ => SymbolKind::Variable,
        };
        let (text, at) = (self.b.text(name), name.start_byte());
        // `var` may declare a name several times.
        let known = self.b.find(scope, text).filter(|_| kind == SymbolKind::Local);
        let symbol = match known {
            Some(known) => Some(known),
            None => self.b.define_in(scope, text, at, kind, New { exported, declared, ..New::default() }),
        };
        let Some(value) = value else { return };
        match (kind, symbol) {
            (SymbolKind::Function, _) => {
                self.hint = declared.map(Hint::Type);
                self.function(value, symbol);
            }
            (SymbolKind::Type, _) => self.class(value, symbol),
            (_, Some(symbol)) if value.kind() == "object" => self.object(value, Some(symbol)),
            (_, Some(symbol)) => {
                let value = self.value(value);
                self.b.add_value(symbol, value);
            }
            (_, None) => {
                self.value(value);
            }
        }
    }

    fn destructured(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        declared: Option<ExprId>,
        value: Option<Node<'t>>,
        exported: bool,
    ) {
        if let Some(module) = value.and_then(|value| self.required(value))
            && pattern.kind() == "object_pattern"
        {
            self.import_pattern(pattern, module);
            return;
        }
        let value = value.map(|value| self.value(value));
        let declared = declared.map(|declared| self.b.add(Expr::Instance(declared)));
        self.exported = exported;
        self.bind(pattern, scope, None, declared.or(value));
        self.exported = false;
    }

    /// Binds the names of a pattern in a scope.
    pub(super) fn bind(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        declared: Option<ExprId>,
        value: Option<ExprId>,
    ) {
        if !self.b.enter() {
            return;
        }
        match pattern.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => {
                let kind = if self.is_inner(scope) { SymbolKind::Local } else { SymbolKind::Variable };
                let text = self.b.text(pattern);
                match self.b.find(scope, text).filter(|_| kind == SymbolKind::Local) {
                    Some(known) => {
                        if let Some(value) = value {
                            self.b.add_value(known, value);
                        }
                    }
                    None => {
                        let new = New { exported: self.exported, declared, value, ..New::default() };
                        self.b.define_in(scope, text, pattern.start_byte(), kind, new);
                    }
                }
            }
            "object_pattern" => {
                let mut cursor = pattern.walk();
                for part in pattern.named_children(&mut cursor) {
                    self.bind_property(part, scope, value);
                }
            }
            "array_pattern" => {
                let inside = value.map(|value| self.b.add(Expr::Inside(value)));
                let mut cursor = pattern.walk();
                for part in pattern.named_children(&mut cursor) {
                    self.bind(part, scope, None, inside);
                }
            }
            "assignment_pattern" => {
                let default = self.field(pattern, "right");
                if let Some(left) = pattern.child_by_field_name("left") {
                    let value = self.b.either(value.into_iter().chain(default).collect());
                    self.bind(left, scope, declared, value);
                }
            }
            "rest_pattern" => {
                if let Some(inner) = pattern.named_child(0) {
                    self.bind(inner, scope, None, None);
                }
            }
            "comment" => {}
            _ => {
                self.value_as(pattern, UseKind::Write);
            }
        }
        self.b.leave();
    }

    fn bind_property(&mut self, part: Node<'t>, scope: ScopeId, value: Option<ExprId>) {
        let member = |walk: &mut Self, name: Node<'t>| {
            let name = walk.key(name);
            value.map(|value| walk.b.member(value, name))
        };
        match part.kind() {
            "shorthand_property_identifier_pattern" => {
                let value = member(self, part);
                self.bind(part, scope, None, value);
            }
            "pair_pattern" => {
                let (key, target) = (part.child_by_field_name("key"), part.child_by_field_name("value"));
                let value = key.and_then(|key| member(self, key));
                if let Some(key) = key.filter(|key| key.kind() == "computed_property_name") {
                    self.children(key);
                }
                if let Some(target) = target {
                    self.bind(target, scope, None, value);
                }
            }
            "object_assignment_pattern" => {
                let left = part.child_by_field_name("left");
                let value = left.and_then(|left| member(self, left));
                let default = self.field(part, "right");
                if let Some(left) = left {
                    let value = self.b.either(value.into_iter().chain(default).collect());
                    self.bind(left, scope, None, value);
                }
            }
            _ => self.bind(part, scope, None, None),
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'t>) -> Option<ExprId> {
        let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
        match left.kind() {
            "member_expression" => self.assign_member(left, right),
            "identifier" => {
                let value = self.value(right);
                self.value_as(left, UseKind::Write);
                self.assigned(left, value);
                Some(value)
            }
            _ => {
                let value = self.value(right);
                self.value_as(left, UseKind::Write);
                Some(value)
            }
        }
    }

    /// A variable gets another value.
    fn assigned(&mut self, name: Node<'t>, value: ExprId) {
        let text = self.b.text(name);
        let known =
            self.b.open_scopes().rev().find_map(|(scope, _)| Some((scope, self.b.find(scope, text)?)));
        let Some((scope, symbol)) = known else { return };
        let kind = self.b.symbol(symbol).map(|symbol| symbol.kind);
        if matches!(kind, Some(SymbolKind::Local | SymbolKind::Variable)) {
            let value = if self.is_inner(scope) { value } else { self.b.outward(value) };
            self.b.add_value(symbol, value);
        }
    }

    fn assign_member(&mut self, left: Node<'t>, right: Node<'t>) -> Option<ExprId> {
        let (object, name) = (left.child_by_field_name("object")?, left.child_by_field_name("property")?);
        let whole = self.b.text(left);
        if whole == "module.exports" {
            return self.exports_all(right);
        }
        let is_function =
            matches!(right.kind(), "arrow_function" | "function_expression" | "generator_function");
        if matches!(self.b.text(object), "exports" | "module.exports") {
            return Some(self.exports_member(name, right, is_function));
        }
        if object.kind() == "this" {
            return Some(self.assign_own(left, name, right, is_function));
        }
        if is_function {
            // `Type.prototype.name = function …`, or a member of an object.
            let owner = match object.child_by_field_name("property") {
                Some(last) if self.b.text(last) == "prototype" => object.child_by_field_name("object")?,
                _ => object,
            };
            let target = self.value(owner);
            if self.b.open_target(target) {
                let symbol =
                    self.b.define(name, SymbolKind::Function, New { exported: true, ..New::default() });
                self.function(right, symbol);
                self.b.close();
            }
            return Some(self.b.unknown());
        }
        let value = self.value(right);
        self.value_as(left, UseKind::Write);
        Some(value)
    }

    /// `this.name = …` in a class defines a method or, if the class has no member of this name yet, a field. Outside of a class, it
    /// is only a write.
    fn assign_own(&mut self, left: Node<'t>, name: Node<'t>, right: Node<'t>, is_function: bool) -> ExprId {
        let class =
            self.b.open_scopes().rev().find(|(_, kind)| *kind == ScopeKind::Type).map(|(scope, _)| scope);
        let Some(class) = class else {
            let value = self.value(right);
            self.value_as(left, UseKind::Write);
            return value;
        };
        let text = self.b.text(name);
        let known = self.b.find(class, text);
        if is_function {
            let new = New { exported: true, ..New::default() };
            let symbol = self.b.define_in(class, text, name.start_byte(), SymbolKind::Function, new);
            self.function(right, symbol);
            return self.b.unknown();
        }
        let value = self.value(right);
        let outer = self.b.outward(value);
        match known {
            Some(known) => {
                self.value_as(left, UseKind::Write);
                if self
                    .b
                    .symbol(known)
                    .is_some_and(|known| known.kind == SymbolKind::Field && known.inside.is_none())
                {
                    self.b.add_value(known, outer);
                }
            }
            None => {
                let new = New { exported: true, value: Some(outer), ..New::default() };
                self.b.define_in(class, text, name.start_byte(), SymbolKind::Field, new);
            }
        }
        value
    }

    pub(super) fn augmented(&mut self, node: Node<'t>) -> Option<ExprId> {
        let value = self.field(node, "right")?;
        let left = node.child_by_field_name("left")?;
        let known = self.value_as(left, UseKind::Write);
        let operator = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
        if matches!(operator, "||=" | "??=" | "&&=") {
            if left.kind() == "identifier" {
                self.assigned(left, value);
            }
            return self.b.either(vec![known, value]);
        }
        Some(self.b.unknown())
    }
}
