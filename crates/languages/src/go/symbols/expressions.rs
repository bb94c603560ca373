//! Expressions and types of Go.

use tree_sitter::Node;

use super::definitions::{elements, several};
use super::{Walk, parts};
use crate::symbols::{Builder, Expr, ExprId, LocalWalk, UseKind};

/// Types that the language itself defines; uses of them are not reported.
const PREDECLARED: &[&str] = &[
    "any", "bool", "byte", "comparable", "complex128", "complex64", "error", "float32", "float64", "int",
    "int16", "int32", "int64", "int8", "rune", "string", "uint", "uint16", "uint32", "uint64", "uint8",
    "uintptr",
];

impl<'t> Walk<'t> {
    /// Visits a type; `None` if the node is not one.
    pub(super) fn type_of(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        let kind = if kind == UseKind::Read { UseKind::Type } else { kind };
        Some(match node.kind() {
            "type_identifier" => {
                let text = b.text(node);
                let name = b.name(text);
                if !self.locals.has(text) && !PREDECLARED.contains(&text) {
                    b.used(kind, name, node);
                }
                name
            }
            "qualified_type" => {
                let (package, name) =
                    (node.child_by_field_name("package")?, node.child_by_field_name("name")?);
                let of = b.name(b.text(package));
                self.locals.mention(b.text(package), package.start_byte());
                let member = b.member(of, b.text(name));
                b.used(kind, member, name);
                member
            }
            "generic_type" => {
                let of = node.child_by_field_name("type").map(|of| self.visit_as(b, of, kind))?;
                let listed = node.child_by_field_name("type_arguments").map(parts).unwrap_or_default();
                let arguments = listed.into_iter().map(|one| self.visit(b, one)).collect();
                b.add(Expr::Apply(of, arguments))
            }
            "pointer_type" | "parenthesized_type" | "type_elem" | "negated_type" => {
                let mut first = None;
                for part in parts(node) {
                    let of = self.visit_as(b, part, kind);
                    first.get_or_insert(of);
                }
                first?
            }
            "slice_type" | "array_type" | "implicit_length_array_type" => {
                self.field(b, node, "length");
                let element = self.field(b, node, "element")?;
                elements(b, vec![element])
            }
            "map_type" => {
                let (key, value) = (self.field(b, node, "key")?, self.field(b, node, "value")?);
                elements(b, vec![key, value])
            }
            "channel_type" => {
                let value = self.field(b, node, "value")?;
                elements(b, vec![value])
            }
            "function_type" | "method_elem" => {
                let parameters = node.child_by_field_name("parameters");
                self.parameter_types(b, parameters);
                let result = node.child_by_field_name("result");
                let all = self.parameter_types(b, result);
                callback(b, all)
            }
            _ => return None,
        })
    }

    /// Visits the types of parameters that have no body in which their names could be used.
    fn parameter_types(&mut self, b: &mut Builder<'t>, list: Option<Node<'t>>) -> Vec<ExprId> {
        let Some(list) = list else { return Vec::new() };
        if list.kind() != "parameter_list" {
            return vec![self.visit(b, list)];
        }
        parts(list).into_iter().filter_map(|one| self.field(b, one, "type")).collect()
    }

    /// Visits an expression.
    pub(super) fn expression(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        let found = match node.kind() {
            "identifier" => Some(self.name(b, node, kind)),
            "selector_expression" => self.selector(b, node, kind),
            "call_expression" => self.call(b, node),
            "func_literal" => {
                let result = self.function(b, node, None, |_, _| {});
                let of = callback(b, result.into_iter().collect());
                Some(b.add(Expr::Instance(of)))
            }
            "type_conversion_expression" => self.conversion(b, node),
            "type_instantiation_expression" => {
                let mut first = None;
                for (at, part) in parts(node).into_iter().enumerate() {
                    let of = self.visit_as(b, part, if at == 0 { kind } else { UseKind::Read });
                    first.get_or_insert(of);
                }
                first
            }
            "composite_literal" => self.composite(b, node),
            "parenthesized_expression" => parts(node).first().map(|inner| self.visit_as(b, *inner, kind)),
            "unary_expression" => self.unary(b, node),
            "binary_expression" => {
                self.binary(b, node);
                None
            }
            "index_expression" if kind == UseKind::Type => self.generic_name(b, node),
            "index_expression" => {
                let operand = self.field(b, node, "operand");
                self.field(b, node, "index");
                operand.map(|operand| b.add(Expr::Inside(operand)))
            }
            "slice_expression" => {
                let operand = self.field(b, node, "operand");
                for part in ["start", "end", "capacity"] {
                    self.field(b, node, part);
                }
                operand
            }
            "type_assertion_expression" => {
                self.field(b, node, "operand");
                self.field(b, node, "type").map(|of| b.add(Expr::Instance(of)))
            }
            _ => {
                self.children(b, node);
                None
            }
        };
        found.unwrap_or_else(|| b.unknown())
    }

    /// A generic type that is an argument, and looks like an element of something.
    fn generic_name(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let of = node.child_by_field_name("operand").map(|of| self.visit_as(b, of, UseKind::Type))?;
        let argument = node.child_by_field_name("index").map(|of| self.visit_as(b, of, UseKind::Type))?;
        Some(b.add(Expr::Apply(of, vec![argument])))
    }

    fn name(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        let text = b.text(node);
        let name = b.name(text);
        self.locals.mention(text, node.start_byte());
        if text != "_" && (kind == UseKind::Call || !self.locals.has(text)) {
            b.used(kind, name, node);
        }
        name
    }

    fn selector(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        let operand = self.field(b, node, "operand")?;
        let field = node.child_by_field_name("field")?;
        let member = b.member(operand, b.text(field));
        b.used(kind, member, field);
        Some(member)
    }

    fn call(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let function = node.child_by_field_name("function")?;
        let arguments = node.child_by_field_name("arguments").map(parts).unwrap_or_default();
        let text = if function.kind() == "identifier" { b.text(function) } else { "" };
        let builtin = matches!(text, "new" | "make" | "append") && !self.locals.has(text);
        let callee = if builtin { None } else { Some(self.visit_as(b, function, UseKind::Call)) };
        self.field(b, node, "type_arguments");
        let mut first = None;
        for (at, argument) in arguments.into_iter().enumerate() {
            // The first argument of `new` and `make` is a type, which looks like a name.
            let kind = if builtin && at == 0 && text != "append" { UseKind::Type } else { UseKind::Read };
            let value = self.visit_as(b, argument, kind);
            first.get_or_insert(value);
        }
        match (callee, text) {
            (Some(callee), _) => Some(b.add(Expr::Call(callee))),
            (None, "append") => first,
            (None, _) => first.map(|of| b.add(Expr::Instance(of))),
        }
    }

    /// A conversion. With one argument, a call of a generic function looks the same.
    fn conversion(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let of = node.child_by_field_name("type")?;
        let generic = of.kind() == "generic_type";
        let converted = self.visit_as(b, of, if generic { UseKind::Call } else { UseKind::Read });
        self.field(b, node, "operand");
        let called = match b.expr(converted) {
            Expr::Apply(called, _) if generic => *called,
            _ => return Some(b.add(Expr::Instance(converted))),
        };
        Some(b.add(Expr::Call(called)))
    }

    fn unary(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let operator = node.child_by_field_name("operator").map_or("", |operator| b.text(operator));
        let operand = self.field(b, node, "operand")?;
        match operator {
            "&" | "*" => Some(operand),
            "<-" => Some(b.add(Expr::Inside(operand))),
            _ => None,
        }
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

    fn composite(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let of = node.child_by_field_name("type")?;
        let is_named = matches!(of.kind(), "type_identifier" | "qualified_type" | "generic_type");
        let of = self.visit_as(b, of, if is_named { UseKind::Call } else { UseKind::Read });
        let value = b.add(Expr::Instance(of));
        if let Some(body) = node.child_by_field_name("body") {
            self.literal(b, body, value, is_named);
        }
        Some(value)
    }

    /// Visits the elements of a literal. If its type has a name, names as keys are fields.
    fn literal(&mut self, b: &mut Builder<'t>, body: Node<'t>, value: ExprId, has_fields: bool) {
        for element in parts(body) {
            if element.kind() != "keyed_element" {
                self.element(b, element, value);
                continue;
            }
            if let Some(key) = element.child_by_field_name("key") {
                match key.named_child(0).filter(|name| has_fields && name.kind() == "identifier") {
                    Some(name) => {
                        let member = b.member(value, b.text(name));
                        b.used(UseKind::Write, member, name);
                    }
                    None => self.element(b, key, value),
                }
            }
            if let Some(of) = element.child_by_field_name("value") {
                self.element(b, of, value);
            }
        }
    }

    fn element(&mut self, b: &mut Builder<'t>, element: Node<'t>, of: ExprId) {
        b.descend(|b| {
            for part in parts(element) {
                if part.kind() == "literal_value" {
                    let inside = b.add(Expr::Inside(of));
                    self.literal(b, part, inside, true);
                } else {
                    self.visit(b, part);
                }
            }
        });
    }
}

/// The type of a function that gives these: a generic type whose last argument a call gives.
fn callback(b: &mut Builder<'_>, results: Vec<ExprId>) -> ExprId {
    match several(b, results) {
        Some(result) => elements(b, vec![result]),
        None => b.unknown(),
    }
}

/// Returns the value that one of several names gets: its own value, or its part of the results of a single call. For other expressions with
/// several results, the first one is the value.
pub(super) fn value_of(b: &mut Builder<'_>, values: &[ExprId], at: usize, names: usize) -> Option<ExprId> {
    let first = *values.first()?;
    if values.len() == names {
        return values.get(at).copied();
    }
    match b.expr(first) {
        Expr::Call(_) => Some(b.member(first, &at.to_string())),
        _ => Some(first).filter(|_| at == 0),
    }
}
