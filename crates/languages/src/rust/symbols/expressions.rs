//! Expressions of Rust.

use tree_sitter::Node;

use super::patterns::contained;
use super::types::{POINTERS, anonymous};
use super::{Walk, is_capital, parts};
use crate::symbols::{Builder, Expr, ExprId, LocalWalk, New, ScopeKind, SymbolKind, UseKind};

/// Methods of iterators, options and results that pass their content to a closure as its first parameter.
const PASS_CONTENT: &[&str] = &[
    "all", "and_then", "any", "filter", "filter_map", "find", "find_map", "flat_map", "for_each", "inspect",
    "is_none_or", "is_ok_and", "is_some_and", "map", "map_while", "max_by_key", "min_by_key", "partition",
    "position", "retain", "skip_while", "sort_by_key", "take_while",
];

impl<'t> Walk<'t> {
    /// Visits an expression.
    pub(super) fn expression(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        let found = match node.kind() {
            "identifier" => Some(self.name(b, node, kind)),
            "self" => Some(b.add(Expr::This)),
            "scoped_identifier" | "crate" | "super" => Some(self.path(b, node, Some(kind))),
            "field_expression" => self.member(b, node, kind),
            "call_expression" => self.call(b, node),
            "generic_function" => {
                let of = node.child_by_field_name("function").map(|of| self.visit_as(b, of, kind));
                self.field(b, node, "type_arguments");
                of
            }
            "macro_invocation" => {
                self.macro_invocation(b, node);
                None
            }
            "struct_expression" => self.struct_expression(b, node),
            "closure_expression" => self.closure(b, node, None),
            "tuple_expression" => {
                let all = parts(node).into_iter().map(|part| self.visit(b, part)).collect();
                let of = anonymous(b, all);
                Some(b.add(Expr::Instance(of)))
            }
            "parenthesized_expression" => parts(node).first().map(|inner| self.visit_as(b, *inner, kind)),
            "await_expression" => {
                let inner = parts(node).first().map(|inner| self.visit(b, *inner));
                inner.map(|inner| awaited(b, inner))
            }
            "try_expression" => {
                let inner = parts(node).first().map(|inner| self.visit(b, *inner));
                inner.map(|inner| b.add(Expr::Inside(inner)))
            }
            "reference_expression" => self.field(b, node, "value"),
            "unary_expression" => {
                let inner = parts(node).first().map(|inner| self.visit(b, *inner));
                inner.filter(|_| node.child(0).is_some_and(|operator| operator.kind() == "*"))
            }
            "index_expression" => {
                let all: Vec<ExprId> = parts(node).into_iter().map(|part| self.visit(b, part)).collect();
                all.first().map(|of| b.add(Expr::Inside(*of)))
            }
            "type_cast_expression" => {
                self.field(b, node, "value");
                self.field(b, node, "type").map(|of| b.add(Expr::Instance(of)))
            }
            "assignment_expression" | "compound_assignment_expr" => {
                self.field(b, node, "right");
                if let Some(left) = node.child_by_field_name("left") {
                    self.visit_as(b, left, UseKind::Write);
                }
                None
            }
            "binary_expression" => {
                self.binary(b, node);
                None
            }
            _ => {
                self.scoped(b, node);
                None
            }
        };
        found.unwrap_or_else(|| b.unknown())
    }

    /// Visits an expression that opens a scope, or one that matters only for its parts.
    fn scoped(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "block" if has_declarations(node) => {
                self.within(b, ScopeKind::Block, None, |walk, b| walk.children(b, node));
            }
            "if_expression" | "while_expression" => {
                let binds = node
                    .child_by_field_name("condition")
                    .is_some_and(|condition| matches!(condition.kind(), "let_condition" | "let_chain"));
                if binds {
                    self.within(b, ScopeKind::Block, None, |walk, b| walk.children(b, node));
                } else {
                    self.children(b, node);
                }
            }
            "let_condition" => {
                let value = self.field(b, node, "value");
                if let Some(pattern) = node.child_by_field_name("pattern") {
                    self.bind(b, pattern, SymbolKind::Local, New { value, ..New::default() });
                }
            }
            "match_expression" => {
                let value = self.field(b, node, "value");
                for arm in node.child_by_field_name("body").map(parts).unwrap_or_default() {
                    self.within(b, ScopeKind::Block, None, |walk, b| walk.arm(b, arm, value));
                }
            }
            "for_expression" => self.within(b, ScopeKind::Block, None, |walk, b| walk.for_loop(b, node)),
            "tuple_struct_pattern" | "struct_pattern" | "tuple_pattern" => {
                self.bind(b, node, SymbolKind::Local, New::default());
            }
            _ => self.children(b, node),
        }
    }

    /// Visits a name, in an expression or a type.
    pub(super) fn name(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        let text = b.text(node);
        if text == "Self" {
            return b.add(Expr::ThisType);
        }
        let name = b.name(text);
        self.locals.mention(text, node.start_byte());
        if kind == UseKind::Call || !self.locals.has(text) {
            b.used(kind, name, node);
        }
        name
    }

    fn member(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        let of = self.field(b, node, "value")?;
        let name = node.child_by_field_name("field")?;
        let member = b.member(of, b.text(name));
        b.used(kind, member, name);
        Some(member)
    }

    fn call(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let function = node.child_by_field_name("function")?;
        let callee = self.visit_as(b, function, UseKind::Call);
        let passed = self.passed(b, callee);
        let mut first = None;
        for argument in node.child_by_field_name("arguments").map(parts).unwrap_or_default() {
            if argument.kind() == "closure_expression" && passed.is_some() {
                b.descend(|b| {
                    self.closure(b, argument, passed);
                });
                continue;
            }
            let value = self.visit(b, argument);
            first.get_or_insert(value);
        }
        let Expr::Member(of, name) = *b.expr(callee) else { return Some(b.add(Expr::Call(callee))) };
        let (name, is_path) = (b.text_of(name).to_owned(), function.kind() == "scoped_identifier");
        let of_name = match b.expr(of) {
            Expr::Name(of) => b.text_of(*of),
            Expr::Member(_, of) => b.text_of(*of),
            Expr::ThisType => "Self",
            _ => "",
        };
        Some(match first {
            // A new pointer to a value.
            Some(first) if is_path && POINTERS.contains(&of_name) => first,
            // A variant makes a value of its enum; so does a derived default.
            _ if is_path && is_capital(of_name) && (is_capital(&name) || name == "default") => {
                b.add(Expr::Instance(of))
            }
            _ => b.add(Expr::Call(callee)),
        })
    }

    /// Returns the value that a method passes to a closure, as far as its name determines it.
    fn passed(&self, b: &mut Builder<'t>, callee: ExprId) -> Option<ExprId> {
        let Expr::Member(of, name) = *b.expr(callee) else { return None };
        PASS_CONTENT.binary_search(&b.text_of(name)).is_ok().then(|| b.add(Expr::Inside(of)))
    }

    /// Visits a closure. Its value is a function with the declared result.
    fn closure(&mut self, b: &mut Builder<'t>, node: Node<'t>, passed: Option<ExprId>) -> Option<ExprId> {
        let mut result = None;
        self.within(b, ScopeKind::Function, None, |walk, b| {
            let parameters = node.child_by_field_name("parameters").map(parts).unwrap_or_default();
            for (at, parameter) in parameters.into_iter().enumerate() {
                walk.parameter(b, parameter, passed.filter(|_| at == 0));
            }
            result = walk.field(b, node, "return_type");
            walk.field(b, node, "body");
        });
        let of = result.map(|result| anonymous(b, vec![result]))?;
        Some(b.add(Expr::Instance(of)))
    }

    fn struct_expression(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let of = node.child_by_field_name("name")?;
        let made = self.visit_as(b, of, UseKind::Call);
        let made = match *b.expr(made) {
            Expr::Apply(of, _) => of,
            _ => made,
        };
        let instance = b.add(Expr::Instance(made));
        for part in node.child_by_field_name("body").map(parts).unwrap_or_default() {
            let name = match part.kind() {
                "shorthand_field_initializer" => part.named_child(0),
                _ => part.child_by_field_name("field"),
            };
            if let Some(name) = name {
                let member = b.member(instance, b.text(name));
                b.used(UseKind::Write, member, name);
            }
            if part.kind() == "base_field_initializer" {
                self.children(b, part);
            }
            self.field(b, part, "value");
        }
        Some(instance)
    }

    fn arm(&mut self, b: &mut Builder<'t>, arm: Node<'t>, value: Option<ExprId>) {
        if let Some(pattern) = arm.child_by_field_name("pattern") {
            if let Some(inner) = parts(pattern).first() {
                self.bind(b, *inner, SymbolKind::Local, New { value, ..New::default() });
            }
            self.field(b, pattern, "condition");
        }
        self.field(b, arm, "value");
    }

    fn for_loop(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let value = self.field(b, node, "value");
        let inside = contained(b, &New { value, ..New::default() });
        if let Some(pattern) = node.child_by_field_name("pattern") {
            let pair = parts(pattern);
            let new = New { value: inside, ..New::default() };
            match pair[..] {
                // An element with its number, or the value of a map with its key.
                [key, element] if pattern.kind() == "tuple_pattern" && !is_zip(b, value) => {
                    self.bind(b, key, SymbolKind::Local, New::default());
                    self.bind(b, element, SymbolKind::Local, new);
                }
                _ => self.bind(b, pattern, SymbolKind::Local, new),
            }
        }
        self.field(b, node, "body");
    }

    /// Visits both sides. Long sums are nested on the left, and are walked without going deeper.
    fn binary(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (mut left, mut rights) = (Some(node), Vec::new());
        while let Some(one) = left.filter(|left| left.kind() == "binary_expression") {
            rights.extend(one.child_by_field_name("right"));
            left = one.child_by_field_name("left");
        }
        for part in left.into_iter().chain(rights.into_iter().rev()) {
            self.visit(b, part);
        }
    }
}

/// Returns the result of awaiting a value: the content of the future.
pub(super) fn awaited(b: &mut Builder<'_>, value: ExprId) -> ExprId {
    b.add(Expr::Inside(value))
}

/// Checks whether an iterator yields pairs of its own.
fn is_zip(b: &Builder<'_>, value: Option<ExprId>) -> bool {
    let Some(Expr::Call(callee)) = value.map(|value| b.expr(value)) else { return false };
    matches!(b.expr(*callee), Expr::Member(_, name) if matches!(b.text_of(*name), "zip" | "drain" | "windows"))
}

/// Checks whether a block defines names, and therefore needs a scope.
fn has_declarations(node: Node<'_>) -> bool {
    parts(node).into_iter().any(|part| part.kind() == "let_declaration" || part.kind().ends_with("_item"))
}
