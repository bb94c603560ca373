//! Types of TypeScript.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Expr, ExprId, FUNCTION_TYPE, New, ScopeKind, SymbolKind, UseKind};

/// Generic types that say only something of their first argument.
const TRANSPARENT: &[&str] = &[
    "Awaited", "DeepPartial", "Exclude", "Extract", "InstanceType", "NoInfer", "NonNullable", "Omit",
    "Partial", "Pick", "Prettify", "Readonly", "Required", "Simplify",
];
/// Maximum number of arguments and alternatives of a type that are kept.
const PARTS_MAX: usize = 16;

impl<'t> Walk<'_, 't> {
    /// The type that a node names; `None` if it names none, such as `any`.
    pub(super) fn named_type(&mut self, node: Node<'t>) -> Option<ExprId> {
        self.named_type_as(node, UseKind::Type)
    }

    pub(super) fn named_type_as(&mut self, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        if !self.b.enter() {
            return None;
        }
        let named = self.type_of(node, kind);
        self.b.leave();
        named
    }

    /// The first of the types that are children of a node.
    pub(super) fn types_in(&mut self, node: Node<'t>) -> Option<ExprId> {
        let mut found = None;
        let mut cursor = node.walk();
        for inner in node.named_children(&mut cursor) {
            let named = self.named_type(inner);
            found = found.or(named);
        }
        found
    }

    /// The types that a list of arguments names.
    pub(super) fn type_list(&mut self, node: Node<'t>) -> Vec<ExprId> {
        let mut all = Vec::new();
        let mut cursor = node.walk();
        for inner in node.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
            let named = self.named_type(inner);
            if all.len() < PARTS_MAX {
                all.push(named.unwrap_or_else(|| self.b.unknown()));
            }
        }
        all
    }

    fn type_of(&mut self, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        match node.kind() {
            "type_identifier" | "identifier" => {
                let name = self.b.name(self.b.text(node));
                self.b.used(kind, name, node);
                Some(name)
            }
            "nested_type_identifier" => {
                let of = node.child_by_field_name("module").map(|module| self.nested(module))?;
                let name = node.child_by_field_name("name")?;
                let member = self.b.member(of, self.b.text(name));
                self.b.used(kind, member, name);
                Some(member)
            }
            "generic_type" => self.generic(node, kind),
            "union_type" | "intersection_type" => {
                let mut all = Vec::new();
                let mut cursor = node.walk();
                for one in node.named_children(&mut cursor) {
                    all.extend(self.named_type(one));
                }
                all.truncate(PARTS_MAX);
                self.b.either(all)
            }
            "array_type" | "tuple_type" | "rest_type" => {
                let inner = self.types_in(node).unwrap_or_else(|| self.b.unknown());
                let array = self.b.name("Array");
                Some(self.b.add(Expr::Apply(array, vec![inner])))
            }
            "this_type" | "this" => Some(self.b.add(Expr::ThisType)),
            "type_query" => node.named_child(0).map(|value| self.value(value)),
            "function_type" | "constructor_type" => self.function_type(node),
            "object_type" => {
                if self.b.open(ScopeKind::Type, None) {
                    self.members(node);
                    self.b.close();
                }
                None
            }
            "conditional_type" => self.conditional(node),
            "lookup_type" => self.lookup(node),
            "type_predicate_annotation" | "type_predicate" | "asserts_annotation" | "asserts" => {
                self.predicate(node);
                Some(self.b.name("boolean"))
            }
            "comment" | "property_identifier" | "string" | "number" | "existential_type" => None,
            "required_parameter" | "optional_parameter" => {
                node.child_by_field_name("type").and_then(|named| self.named_type(named))
            }
            "extends_clause" | "call_expression" | "member_expression" => {
                self.value(node);
                None
            }
            _ => self.simple_type(node),
        }
    }

    /// Types without names of their own, and what binds a name inside of a type.
    fn simple_type(&mut self, node: Node<'t>) -> Option<ExprId> {
        match node.kind() {
            "predefined_type" => match self.b.text(node) {
                "any" | "unknown" | "void" | "never" | "object" => None,
                name => Some(self.b.name(name)),
            },
            "literal_type" => match node.named_child(0).map_or("", |literal| literal.kind()) {
                "string" => Some(self.b.name("string")),
                "number" => Some(self.b.name("number")),
                "true" | "false" => Some(self.b.name("boolean")),
                _ => None,
            },
            "template_literal_type" => {
                self.types_in(node);
                Some(self.b.name("string"))
            }
            "infer_type" => {
                if let Some(name) = node.named_child(0) {
                    self.b.define(name, SymbolKind::TypeParameter, New::default());
                }
                None
            }
            "mapped_type_clause" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.b.define(name, SymbolKind::TypeParameter, New::default());
                }
                if let Some(of) = node.child_by_field_name("type") {
                    self.named_type(of);
                }
                None
            }
            _ => self.types_in(node),
        }
    }

    /// The value of a name with those before it: `a`, `a.b`.
    pub(super) fn nested(&mut self, node: Node<'t>) -> ExprId {
        if node.kind() == "nested_identifier" && self.b.enter() {
            let of = node.child_by_field_name("object").map(|object| self.nested(object));
            self.b.leave();
            if let (Some(of), Some(name)) = (of, node.child_by_field_name("property")) {
                let member = self.b.member(of, self.b.text(name));
                self.b.used(UseKind::Read, member, name);
                return member;
            }
        }
        self.value(node)
    }

    fn generic(&mut self, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        let name = node.child_by_field_name("name")?;
        let of = self.named_type_as(name, kind)?;
        let arguments = node.child_by_field_name("type_arguments").map(|list| self.type_list(list));
        let arguments = arguments.unwrap_or_default();
        match self.b.text(name) {
            name if TRANSPARENT.contains(&name) => arguments.first().copied(),
            "ReturnType" => arguments.first().map(|function| self.b.add(Expr::Call(*function))),
            _ => Some(self.b.add(Expr::Apply(of, arguments))),
        }
    }

    /// The type of a function, whose only argument is its result.
    fn function_type(&mut self, node: Node<'t>) -> Option<ExprId> {
        if !self.b.open(ScopeKind::Block, None) {
            return None;
        }
        self.type_parameters(node);
        let mut arguments = self.parameter_types(node);
        let result = node.child_by_field_name("return_type").or_else(|| node.child_by_field_name("type"));
        let result = result.and_then(|result| self.named_type(result));
        self.b.close();
        let function = self.b.name(FUNCTION_TYPE);
        arguments.push(result.unwrap_or_else(|| self.b.unknown()));
        Some(self.b.add(Expr::Apply(function, arguments)))
    }

    fn conditional(&mut self, node: Node<'t>) -> Option<ExprId> {
        for field in ["left", "right"] {
            if let Some(part) = node.child_by_field_name(field) {
                self.named_type(part);
            }
        }
        let mut all = Vec::new();
        for field in ["consequence", "alternative"] {
            if let Some(part) = node.child_by_field_name(field) {
                all.extend(self.named_type(part));
            }
        }
        self.b.either(all)
    }

    /// `T['name']` is the type of the member.
    fn lookup(&mut self, node: Node<'t>) -> Option<ExprId> {
        let of = node.named_child(0).and_then(|of| self.named_type(of));
        let index = node.named_child(1)?;
        match (of, index.named_child(0)) {
            (Some(of), Some(text)) if text.kind() == "string" => {
                let (of, name) = (self.b.add(Expr::Instance(of)), self.string(text));
                Some(self.b.member(of, name))
            }
            (of, _) => {
                self.named_type(index);
                of.map(|of| self.b.add(Expr::Inside(of)))
            }
        }
    }

    fn predicate(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for inner in node.named_children(&mut cursor) {
            match inner.kind() {
                "identifier" | "this" => {}
                _ => {
                    self.named_type(inner);
                }
            }
        }
    }
}
