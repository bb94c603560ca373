//! Expressions of Python.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Expr, ExprId, ScopeKind, UseKind};

/// Maximum number of elements of a list whose values are kept.
const ELEMENTS_MAX: usize = 8;

impl<'t> Walk<'_, 't> {
    /// Visits an expression, and returns its value.
    pub(super) fn value(&mut self, node: Node<'t>) -> ExprId {
        self.value_as(node, UseKind::Read)
    }

    /// As [`value`](Self::value), for a name that is not just read.
    pub(super) fn value_as(&mut self, node: Node<'t>, kind: UseKind) -> ExprId {
        if !self.b.enter() {
            return self.b.unknown();
        }
        let value = self.value_kind(node, kind);
        self.b.leave();
        value
    }

    fn value_kind(&mut self, node: Node<'t>, kind: UseKind) -> ExprId {
        match node.kind() {
            "identifier" => {
                let name = self.b.name(self.b.text(node));
                self.b.used(kind, name, node);
                name
            }
            "attribute" => self.attribute(node, kind),
            "call" => self.call(node),
            "await" | "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.value(inner),
                None => self.b.unknown(),
            },
            "assignment" => self.assignment(node),
            "augmented_assignment" => self.augmented(node),
            "named_expression" => self.walrus(node),
            "conditional_expression" => self.one_of(node, &[0, 2]),
            "boolean_operator" => self.one_of(node, &[0, 1]),
            "lambda" => {
                self.lambda(node);
                self.b.unknown()
            }
            "list_comprehension"
            | "set_comprehension"
            | "dictionary_comprehension"
            | "generator_expression" => {
                self.comprehension(node);
                self.container("list")
            }
            "subscript" => self.subscript(node),
            "list" | "set" | "tuple" | "expression_list" => self.elements(node),
            "dictionary" => {
                self.children(node);
                self.container("dict")
            }
            "string" | "concatenated_string" => {
                self.strings(node);
                self.builtin("str")
            }
            "integer" => self.builtin("int"),
            "float" => self.builtin("float"),
            "comparison_operator" | "not_operator" | "true" | "false" => {
                self.children(node);
                self.builtin("bool")
            }
            "yield" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.yields = true;
                }
                self.children(node);
                self.b.unknown()
            }
            "keyword_argument" => match node.child_by_field_name("value") {
                Some(value) => self.value(value),
                None => self.b.unknown(),
            },
            "binary_operator" => self.operator(node),
            "function_definition" | "class_definition" | "decorated_definition" => {
                self.statement(node);
                self.b.unknown()
            }
            "comment" | "none" | "ellipsis" | "string_content" | "escape_sequence" => self.b.unknown(),
            _ => {
                self.children(node);
                self.b.unknown()
            }
        }
    }

    /// An instance of a builtin type.
    fn builtin(&mut self, name: &str) -> ExprId {
        let name = self.b.name(name);
        self.b.add(Expr::Instance(name))
    }

    /// A builtin container whose content is unknown, and may be anything in the repository.
    fn container(&mut self, name: &str) -> ExprId {
        let (whole, inner) = (self.b.name(name), self.b.unknown());
        let whole = self.b.add(Expr::Apply(whole, vec![inner]));
        self.b.add(Expr::Instance(whole))
    }

    fn children(&mut self, node: Node<'t>) {
        self.each(node, |walk, child| {
            walk.value(child);
        });
    }

    /// The expressions inside of formatted strings.
    fn strings(&mut self, node: Node<'t>) {
        if !self.b.enter() {
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "interpolation" => self.children(child),
                "string" => self.strings(child),
                _ => {}
            }
        }
        self.b.leave();
    }

    fn attribute(&mut self, node: Node<'t>, kind: UseKind) -> ExprId {
        let (object, name) = (node.child_by_field_name("object"), node.child_by_field_name("attribute"));
        let (Some(object), Some(name)) = (object, name) else { return self.b.unknown() };
        let of = self.value(object);
        let member = self.b.member(of, self.b.text(name));
        self.b.used(kind, member, name);
        member
    }

    fn call(&mut self, node: Node<'t>) -> ExprId {
        let (function, arguments) =
            (node.child_by_field_name("function"), node.child_by_field_name("arguments"));
        let Some(function) = function else { return self.b.unknown() };
        let name = self.b.text(function);
        if function.kind() == "identifier" && name == "super" && self.method_of().is_some() {
            if let Some(arguments) = arguments {
                self.children(arguments);
            }
            return self.b.add(Expr::Super);
        }
        if matches!(name, "cast" | "t.cast" | "typing.cast" | "te.cast") {
            self.value(function);
            return self.cast(arguments);
        }
        let callee = match function.kind() {
            "subscript" => {
                let of =
                    function.child_by_field_name("value").map(|value| self.value_as(value, UseKind::Call));
                let of = of.unwrap_or_else(|| self.b.unknown());
                let types = self.subscripts_as_types(function);
                self.b.add(Expr::Apply(of, types))
            }
            _ => self.value_as(function, UseKind::Call),
        };
        let mut first = None;
        if let Some(arguments) = arguments {
            // A generator that is the only argument takes the place of the list of arguments.
            if arguments.kind() == "generator_expression" {
                first = Some(self.value(arguments));
            } else {
                let mut cursor = arguments.walk();
                for argument in arguments.named_children(&mut cursor) {
                    let value = self.value(argument);
                    first.get_or_insert(value);
                }
            }
        }
        match (name, first) {
            // The results of these contain the same as their argument.
            (
                "list" | "set" | "tuple" | "iter" | "sorted" | "reversed" | "frozenset" | "deque",
                Some(first),
            ) => first,
            ("list" | "set" | "dict" | "deque", None) => self.container("list"),
            ("next" | "min" | "max", Some(first)) => self.b.add(Expr::Inside(first)),
            ("type", Some(first)) => self.b.member(first, "__class__"),
            _ => self.b.add(Expr::Call(callee)),
        }
    }

    /// `cast(T, x)` is an instance of `T`.
    fn cast(&mut self, arguments: Option<Node<'t>>) -> ExprId {
        let mut named = None;
        if let Some(arguments) = arguments {
            let mut cursor = arguments.walk();
            for (at, argument) in arguments.named_children(&mut cursor).enumerate() {
                if at == 0 {
                    named = self.annotation(argument);
                } else {
                    self.value(argument);
                }
            }
        }
        match named {
            Some(named) => self.b.add(Expr::Instance(named)),
            None => self.b.unknown(),
        }
    }

    fn augmented(&mut self, node: Node<'t>) -> ExprId {
        if let Some(right) = node.child_by_field_name("right") {
            self.value(right);
        }
        let Some(left) = node.child_by_field_name("left") else { return self.b.unknown() };
        if self.b.scope_kind() == ScopeKind::File && self.b.text(left) == "__all__" {
            return self.b.unknown();
        }
        match left.kind() {
            "identifier" if self.binding_scope().1 != ScopeKind::Function => {
                self.value_as(left, UseKind::Write)
            }
            "identifier" => {
                self.bind(left, None, None);
                self.b.unknown()
            }
            _ => self.value_as(left, UseKind::Write),
        }
    }

    fn walrus(&mut self, node: Node<'t>) -> ExprId {
        let value = node.child_by_field_name("value").map(|value| self.assigned(value));
        if let Some(name) = node.child_by_field_name("name") {
            self.bind(name, None, value);
        }
        value.unwrap_or_else(|| self.b.unknown())
    }

    /// One of the children with these numbers, which are all visited.
    fn one_of(&mut self, node: Node<'t>, wanted: &[usize]) -> ExprId {
        let mut values = Vec::new();
        let mut cursor = node.walk();
        for (at, child) in node.named_children(&mut cursor).enumerate() {
            let value = self.value(child);
            if wanted.contains(&at) && child.kind() != "none" {
                values.push(value);
            }
        }
        match self.b.either(values) {
            Some(value) => value,
            None => self.b.unknown(),
        }
    }

    fn subscript(&mut self, node: Node<'t>) -> ExprId {
        let mut cursor = node.walk();
        let mut of = None;
        for child in node.named_children(&mut cursor) {
            let value = self.value(child);
            of.get_or_insert(value);
        }
        match of {
            Some(of) => self.b.add(Expr::Inside(of)),
            None => self.b.unknown(),
        }
    }

    fn elements(&mut self, node: Node<'t>) -> ExprId {
        let mut values = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let value = self.value(child);
            if values.len() < ELEMENTS_MAX && child.kind() != "none" {
                values.push(value);
            }
        }
        if values.is_empty() {
            return self.container("list");
        }
        let whole = self.b.name("list");
        let inner = self.b.add(Expr::Either(values));
        let whole = self.b.add(Expr::Apply(whole, vec![inner]));
        self.b.add(Expr::Instance(whole))
    }

    fn operator(&mut self, node: Node<'t>) -> ExprId {
        let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let is_string = left.is_some_and(|left| matches!(left.kind(), "string" | "concatenated_string"));
        for side in [left, right].into_iter().flatten() {
            self.value(side);
        }
        if is_string { self.builtin("str") } else { self.b.unknown() }
    }
}
