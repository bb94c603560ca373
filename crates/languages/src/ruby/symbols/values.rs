//! The values of Ruby expressions, as far as names determine them.

use tree_sitter::Node;

use super::{Myself, Walk};
use crate::symbols::{Builder, Expr, ExprId};

/// Maximum nesting of an expression whose value is determined.
const PARTS_MAX: u32 = 24;
/// Methods that give their receiver, or a copy of it.
const PASSERS: &[&str] = &["freeze", "dup", "clone", "tap", "itself"];

impl<'t> Walk<'t> {
    pub(super) fn value(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        self.value_within(b, node, PARTS_MAX)
    }

    /// Returns the expression for `self` at the current place.
    pub(super) fn myself_expr(&mut self, b: &mut Builder<'t>) -> ExprId {
        match self.myself {
            Myself::Top => b.unknown(),
            Myself::Class => b.add(Expr::ThisType),
            Myself::Instance => b.add(Expr::This),
        }
    }

    /// Returns the result of a method, if its last expression determines it without naming local variables.
    pub(super) fn result(&mut self, b: &mut Builder<'t>, body: Node<'t>) -> Option<ExprId> {
        let last = match body.kind() {
            "body_statement" | "block_body" => {
                let mut at = body.named_child_count() as u32;
                loop {
                    at = at.checked_sub(1)?;
                    let child = body.named_child(at)?;
                    match child.kind() {
                        "comment" | "heredoc_body" => {}
                        "rescue" | "ensure" | "else" => return None,
                        _ => break child,
                    }
                }
            }
            _ => body,
        };
        let last = match last.kind() {
            "return" => last.named_child(0).and_then(|list| list.named_child(0))?,
            _ => last,
        };
        self.closed = true;
        let value = self.value(b, last);
        self.closed = false;
        Some(value).filter(|value| *b.expr(*value) != Expr::Unknown)
    }

    fn value_within(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        if depth == 0 {
            return b.unknown();
        }
        match node.kind() {
            "self" => self.myself_expr(b),
            "constant" => b.name(b.text(node)),
            "scope_resolution" => {
                let of = match node.child_by_field_name("scope") {
                    Some(scope) => self.value_within(b, scope, depth - 1),
                    None => b.name("::"),
                };
                match node.child_by_field_name("name") {
                    Some(name) => b.member(of, b.text(name)),
                    None => b.unknown(),
                }
            }
            "identifier" => {
                let name = b.text(node);
                match self.is_local(name) {
                    true if self.closed => self.local_value(name).unwrap_or_else(|| b.unknown()),
                    true => b.name(name),
                    false if name == "new" && self.myself == Myself::Class => {
                        let of = b.add(Expr::ThisType);
                        b.add(Expr::Instance(of))
                    }
                    false => {
                        let of = b.name(name);
                        b.add(Expr::Call(of))
                    }
                }
            }
            "instance_variable" => {
                let of = b.add(Expr::This);
                b.member(of, b.text(node))
            }
            "class_variable" => {
                let of = b.add(Expr::ThisType);
                b.member(of, b.text(node))
            }
            "global_variable" => b.name(b.text(node)),
            "parenthesized_statements" if node.named_child_count() == 1 => match node.named_child(0) {
                Some(inner) => self.value_within(b, inner, depth - 1),
                None => b.unknown(),
            },
            "assignment" | "operator_assignment" => match node.child_by_field_name("right") {
                Some(right) => self.value_within(b, right, depth - 1),
                None => b.unknown(),
            },
            "binary"
                if node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "||") =>
            {
                self.either(b, node, ["left", "right"], depth)
            }
            "conditional" => self.either(b, node, ["consequence", "alternative"], depth),
            "call" => self.call_value(b, node, depth),
            _ => b.unknown(),
        }
    }

    fn either(&mut self, b: &mut Builder<'t>, node: Node<'t>, fields: [&str; 2], depth: u32) -> ExprId {
        let [first, second] = fields.map(|field| match node.child_by_field_name(field) {
            Some(child) => self.value_within(b, child, depth / 2),
            None => b.unknown(),
        });
        match (b.expr(first) == &Expr::Unknown, b.expr(second) == &Expr::Unknown) {
            (true, _) => second,
            (_, true) => first,
            _ => b.add(Expr::Either(vec![first, second])),
        }
    }

    /// The value of a call.
    fn call_value(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        let Some(method) = node.child_by_field_name("method") else { return b.unknown() };
        let name = b.text(method);
        let Some(receiver) = node.child_by_field_name("receiver") else {
            return match name {
                "new" if self.myself == Myself::Class => {
                    let of = b.add(Expr::ThisType);
                    b.add(Expr::Instance(of))
                }
                _ if method.kind() == "super" => b.unknown(),
                _ => {
                    let of = b.name(name);
                    b.add(Expr::Call(of))
                }
            };
        };
        if name == "class" && receiver.kind() == "self" {
            return b.add(Expr::ThisType);
        }
        let of = self.value_within(b, receiver, depth - 1);
        if PASSERS.contains(&name) || *b.expr(of) == Expr::Unknown {
            return of;
        }
        if name == "new" {
            return b.add(Expr::Instance(of));
        }
        let member = b.member(of, name);
        b.add(Expr::Call(member))
    }
}
