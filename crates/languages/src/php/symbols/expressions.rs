//! Expressions of PHP: calls, reads and writes.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Builder, Expr, New, SymbolKind, TreeWalk, UseKind};

impl<'t> Walk<'t> {
    /// Visits a node that is not a declaration.
    pub(super) fn visit_expression(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: &str) {
        match kind {
            "function_call_expression" => self.function_call(b, node),
            "member_call_expression" | "nullsafe_member_call_expression" => {
                self.member(b, node, UseKind::Call);
                self.visit_field(b, node, "arguments");
            }
            "member_access_expression" | "nullsafe_member_access_expression" => {
                self.member(b, node, UseKind::Read);
            }
            "scoped_call_expression" => {
                self.scoped(b, node, UseKind::Call);
                self.visit_field(b, node, "arguments");
            }
            "scoped_property_access_expression" => self.scoped(b, node, UseKind::Read),
            "class_constant_access_expression" => self.class_constant(b, node),
            "object_creation_expression" => self.creation(b, node),
            "assignment_expression"
            | "augmented_assignment_expression"
            | "reference_assignment_expression" => {
                self.assignment(b, node);
            }
            "foreach_statement" => self.foreach(b, node),
            "catch_clause" => self.catch(b, node),
            "attribute" => {
                if let Some(name) = node.named_child(0) {
                    self.type_use(b, name, UseKind::Type);
                }
                self.visit_field(b, node, "parameters");
            }
            "argument" => {
                let label = node.child_by_field_name("name");
                b.each_child(node, |b, child| {
                    if Some(child.id()) != label.map(|label| label.id()) {
                        self.visit(b, child);
                    }
                });
            }
            "global_declaration" | "list_literal" => b.each_child(node, |b, child| self.target(b, child)),
            "static_variable_declaration" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.local(b, name, None, New::default());
                }
                self.visit_field(b, node, "value");
            }
            "array_creation_expression" => {
                self.callable(b, node);
                self.each(b, node);
            }
            "name" | "qualified_name" => {
                let is_word =
                    matches!(b.text(node), "self" | "static" | "parent" | "true" | "false" | "null");
                if !is_word {
                    self.type_use(b, node, UseKind::Read);
                }
            }
            "variable_name" => {}
            _ => self.each(b, node),
        }
    }

    fn function_call(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if let Some(function) = node.child_by_field_name("function") {
            b.descend(|b| match function.kind() {
                "name" | "qualified_name" | "relative_name" => self.type_use(b, function, UseKind::Call),
                _ => self.visit(b, function),
            });
            if b.text(function).eq_ignore_ascii_case("define") {
                self.define_constant(b, node);
            }
        }
        self.visit_field(b, node, "arguments");
    }

    /// `define('NAME', …)`.
    fn define_constant(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
        let Some(text) =
            first.and_then(|argument| argument.named_child(0)).filter(|of| of.kind() == "string")
        else {
            return;
        };
        let name = b.text(text).trim_matches(['"', '\'']);
        if !name.contains('\\') {
            let new = New { exported: true, ..New::default() };
            b.define_in(0, name, text.start_byte() + 1, SymbolKind::Variable, new);
        }
    }

    /// `$a->b` and `$a->b()`.
    fn member(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let (Some(object), Some(name)) =
            (node.child_by_field_name("object"), node.child_by_field_name("name"))
        else {
            return self.each(b, node);
        };
        if name.kind() == "name" {
            let of = self.value(b, object);
            let expr = b.member(of, b.text(name));
            b.used(kind, expr, name);
        } else {
            b.descend(|b| self.visit(b, name));
        }
        b.descend(|b| self.visit(b, object));
    }

    /// `A::b()` and `A::$b`.
    fn scoped(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let (Some(scope), Some(name)) = (node.child_by_field_name("scope"), node.child_by_field_name("name"))
        else {
            return self.each(b, node);
        };
        let named = match name.kind() {
            "variable_name" => name.named_child(0),
            "name" => Some(name),
            _ => None,
        };
        if let Some(named) = named {
            let of = self.scope_value(b, scope);
            let expr = b.member(of, b.text(named));
            b.used(kind, expr, named);
        } else {
            b.descend(|b| self.visit(b, name));
        }
        self.scope_use(b, scope);
    }

    fn class_constant(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (Some(scope), Some(name)) = (node.named_child(0), node.named_child(1)) else {
            return self.each(b, node);
        };
        if name.kind() == "name" && b.text(name) != "class" {
            let of = self.scope_value(b, scope);
            let expr = b.member(of, b.text(name));
            b.used(UseKind::Read, expr, name);
        }
        self.scope_use(b, scope);
    }

    /// Reports the name before `::`.
    fn scope_use(&mut self, b: &mut Builder<'t>, scope: Node<'t>) {
        match scope.kind() {
            "name" | "qualified_name" | "relative_name" => self.type_use(b, scope, UseKind::Type),
            "relative_scope" => {}
            _ => b.descend(|b| self.visit(b, scope)),
        }
    }

    /// `new A(…)`.
    fn creation(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut is_first = true;
        b.each_child(node, |b, child| {
            let is_name = matches!(child.kind(), "name" | "qualified_name" | "relative_name");
            if !std::mem::take(&mut is_first) || !is_name {
                return self.visit(b, child);
            }
            let of = self.named(b, child);
            match b.expr(of) {
                Expr::ThisType | Expr::Super => {
                    let expr = b.member(of, "__construct");
                    b.used(UseKind::Call, expr, child);
                }
                _ => self.type_use(b, child, UseKind::Call),
            }
        });
    }

    fn assignment(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        else {
            return self.each(b, node);
        };
        b.descend(|b| self.visit(b, right));
        b.descend(|b| match left.kind() {
            "variable_name" => {
                let value = Some(self.value(b, right)).filter(|value| *b.expr(*value) != Expr::Unknown);
                self.local(b, left, Some(right), New { value, ..New::default() });
            }
            "member_access_expression" => {
                let own = left.child_by_field_name("object").is_some_and(|object| b.text(object) == "$this");
                let name = left.child_by_field_name("name").filter(|_| own);
                let value = name.and_then(|_| self.closed_value(b, right));
                if let (Some(name), Some(value), Some(class)) = (name, value, self.classes.last_mut()) {
                    class.assigned.push((b.text(name), value));
                }
                self.member(b, left, UseKind::Write);
            }
            _ => self.target(b, left),
        });
    }

    /// Visits the target of an assignment whose value is unknown.
    fn target(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "variable_name" => self.local(b, node, None, New::default()),
            "list_literal" | "by_ref" | "pair" => b.each_child(node, |b, child| self.target(b, child)),
            "member_access_expression" => self.member(b, node, UseKind::Write),
            "scoped_property_access_expression" => self.scoped(b, node, UseKind::Write),
            _ => self.visit(b, node),
        }
    }

    fn foreach(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut at = 0;
        let body = node.child_by_field_name("body");
        b.each_child(node, |b, child| {
            at += 1;
            match body.is_some_and(|body| body.id() == child.id()) || at == 1 {
                true => self.visit(b, child),
                false => self.target(b, child),
            }
        });
    }

    fn catch(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        self.visit_field(b, node, "type");
        let declared = node.child_by_field_name("type").and_then(|of| self.type_of(b, of));
        if let Some(name) = node.child_by_field_name("name") {
            self.local(b, name, None, New { declared, ..New::default() });
        }
        self.visit_field(b, node, "body");
    }

    /// `[$this, 'method']` and `[A::class, 'method']` name a method.
    fn callable(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if node.named_child_count() != 2 {
            return;
        }
        let element = |at: u32| node.named_child(at).filter(|of| of.named_child_count() == 1)?.named_child(0);
        let (Some(object), Some(method)) = (element(0), element(1)) else { return };
        let name = b.text(method).trim_matches(['"', '\'']);
        if method.kind() != "string"
            || name.is_empty()
            || !name.chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            return;
        }
        let of = match object.kind() {
            "variable_name" if b.text(object) == "$this" => b.add(Expr::This),
            "class_constant_access_expression" if b.text(object).ends_with("::class") => {
                match object.named_child(0) {
                    Some(scope) => self.named(b, scope),
                    None => return,
                }
            }
            _ => return,
        };
        let expr = b.member(of, name);
        b.used_at(UseKind::Read, expr, method.start_byte() + 1);
    }
}
