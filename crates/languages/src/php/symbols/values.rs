//! The values of PHP expressions, as far as names determine them.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Builder, Expr, ExprId};

/// Maximum nesting of an expression whose value is determined.
const PARTS_MAX: u32 = 24;

impl<'t> Walk<'t> {
    pub(super) fn value(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        self.value_within(b, node, PARTS_MAX)
    }

    /// Returns the value, if it is known outside of the function.
    pub(super) fn closed_value(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let before = std::mem::replace(&mut self.closed, true);
        let value = self.value(b, node);
        self.closed = before;
        Some(value).filter(|value| *b.expr(*value) != Expr::Unknown)
    }

    /// Returns the value before `::`: a class, or a value whose class is meant.
    pub(super) fn scope_value(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        match node.kind() {
            "name" | "qualified_name" | "relative_name" | "relative_scope" => self.named(b, node),
            _ => self.value(b, node),
        }
    }

    fn value_within(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        if depth == 0 {
            return b.unknown();
        }
        match node.kind() {
            "variable_name" => self.variable(b, node),
            "name" | "qualified_name" | "relative_name" => self.named(b, node),
            "member_access_expression" | "nullsafe_member_access_expression" => {
                self.member_value(b, node, "object", depth)
            }
            "member_call_expression" | "nullsafe_member_call_expression" => {
                let member = self.member_value(b, node, "object", depth);
                called(b, member)
            }
            "scoped_call_expression" => {
                let member = self.member_value(b, node, "scope", depth);
                called(b, member)
            }
            "scoped_property_access_expression" => self.member_value(b, node, "scope", depth),
            "class_constant_access_expression" => match (node.named_child(0), node.named_child(1)) {
                (Some(scope), Some(name)) if b.text(name) != "class" => {
                    let of = self.scope_value(b, scope);
                    member_of(b, of, name)
                }
                (Some(scope), _) => self.scope_value(b, scope),
                _ => b.unknown(),
            },
            "function_call_expression" => match node.child_by_field_name("function") {
                Some(function) if function.kind() != "variable_name" => {
                    let of = self.value_within(b, function, depth - 1);
                    called(b, of)
                }
                _ => b.unknown(),
            },
            "object_creation_expression" => match node.named_child(0) {
                Some(name) if matches!(name.kind(), "name" | "qualified_name" | "relative_name") => {
                    let of = self.named(b, name);
                    b.add(Expr::Instance(of))
                }
                _ => b.unknown(),
            },
            "parenthesized_expression" | "clone_expression" => match node.named_child(0) {
                Some(inner) => self.value_within(b, inner, depth - 1),
                None => b.unknown(),
            },
            "assignment_expression" => match node.child_by_field_name("right") {
                Some(right) => self.value_within(b, right, depth - 1),
                None => b.unknown(),
            },
            "subscript_expression" => {
                let of = node.named_child(0).map(|of| self.value_within(b, of, depth - 1));
                match of.filter(|of| *b.expr(*of) != Expr::Unknown) {
                    Some(of) => b.add(Expr::Inside(of)),
                    None => b.unknown(),
                }
            }
            "conditional_expression" => {
                let first =
                    node.child_by_field_name("body").or_else(|| node.child_by_field_name("condition"));
                self.either(b, first, node.child_by_field_name("alternative"), depth)
            }
            "binary_expression"
                if node.child_by_field_name("operator").is_some_and(|of| of.kind() == "??") =>
            {
                self.either(b, node.child_by_field_name("left"), node.child_by_field_name("right"), depth)
            }
            _ => b.unknown(),
        }
    }

    fn variable(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        let name = b.text(node);
        if name == "$this" {
            return b.add(Expr::This);
        }
        if !self.closed {
            return b.name(name);
        }
        let known = self.locals.iter().rev().find_map(|names| names.get(name)).copied().flatten();
        known.unwrap_or_else(|| b.unknown())
    }

    fn either(
        &mut self,
        b: &mut Builder<'t>,
        first: Option<Node<'t>>,
        second: Option<Node<'t>>,
        depth: u32,
    ) -> ExprId {
        let [first, second] = [first, second].map(|node| match node {
            Some(node) => self.value_within(b, node, depth / 2),
            None => b.unknown(),
        });
        match (*b.expr(first) == Expr::Unknown, *b.expr(second) == Expr::Unknown) {
            (true, _) => second,
            (_, true) => first,
            _ => b.add(Expr::Either(vec![first, second])),
        }
    }

    fn member_value(&mut self, b: &mut Builder<'t>, node: Node<'t>, field: &str, depth: u32) -> ExprId {
        let (Some(object), Some(name)) = (node.child_by_field_name(field), node.child_by_field_name("name"))
        else {
            return b.unknown();
        };
        let of = match field {
            "scope" => self.scope_value(b, object),
            _ => self.value_within(b, object, depth - 1),
        };
        let name = if name.kind() == "variable_name" { name.named_child(0).unwrap_or(name) } else { name };
        member_of(b, of, name)
    }
}

fn member_of(b: &mut Builder<'_>, of: ExprId, name: Node<'_>) -> ExprId {
    match name.kind() == "name" && *b.expr(of) != Expr::Unknown {
        true => b.member(of, b.text(name)),
        false => b.unknown(),
    }
}

fn called(b: &mut Builder<'_>, of: ExprId) -> ExprId {
    if *b.expr(of) == Expr::Unknown { of } else { b.add(Expr::Call(of)) }
}
