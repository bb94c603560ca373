//! Statements and expressions of JavaScript and TypeScript.

use tree_sitter::Node;

use super::function::is_function;
use super::{Hint, Walk};
use crate::symbols::{Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind};

/// Methods of arrays that call their argument with an element.
const ELEMENT_CALLBACKS: &[&str] =
    &["every", "filter", "find", "findIndex", "findLast", "flatMap", "forEach", "map", "some", "sort"];
/// Methods whose anonymous argument is a definition of its own; see `definitions.scm`.
const HANDLED: &[&str] = &[
    "get", "post", "put", "patch", "delete", "del", "head", "options", "all", "use", "on", "once", "ws",
    "addEventListener", "addListener",
];
/// Builtin types that contain the values put into them.
const CONTAINERS: &[&str] = &["Array", "Map", "Set", "WeakMap", "WeakSet"];
/// Maximum number of elements of an array whose values are kept.
const ELEMENTS_MAX: usize = 8;

impl<'t> Walk<'_, 't> {
    /// Visits a statement or an expression, and returns its value.
    pub(super) fn value(&mut self, node: Node<'t>) -> ExprId {
        self.value_as(node, UseKind::Read)
    }

    /// As [`value`](Self::value), for a name that is not just read.
    pub(super) fn value_as(&mut self, node: Node<'t>, kind: UseKind) -> ExprId {
        if !self.b.enter() {
            return self.b.unknown();
        }
        let value = match self.expression(node, kind) {
            Some(value) => value,
            None => {
                self.statement(node);
                self.b.unknown()
            }
        };
        self.b.leave();
        value
    }

    /// Visits an expression. Returns `None` if the node is not an expression with a known value.
    fn expression(&mut self, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        Some(match node.kind() {
            "identifier" | "shorthand_property_identifier" => {
                let name = self.b.name(self.b.text(node));
                self.b.used(kind, name, node);
                name
            }
            "this" => self.b.add(Expr::This),
            "super" => self.b.add(Expr::Super),
            "member_expression" => self.member(node, kind),
            "subscript_expression" => self.subscript(node),
            "call_expression" => self.call(node),
            "new_expression" => self.instantiation(node),
            "instantiation_expression" => {
                let of = node.child_by_field_name("function").or_else(|| node.named_child(0))?;
                let of = self.value_as(of, kind);
                if let Some(arguments) = node.child_by_field_name("type_arguments") {
                    self.types_in(arguments);
                }
                of
            }
            "await_expression" => {
                let awaited = node.named_child(0).map(|inner| self.value(inner))?;
                let inside = self.b.add(Expr::Inside(awaited));
                self.b.add(Expr::Either(vec![inside, awaited]))
            }
            "parenthesized_expression" | "non_null_expression" => {
                let inner = node.named_child(0)?;
                self.value_as(inner, kind)
            }
            "as_expression" | "satisfies_expression" => self.cast(node)?,
            "type_assertion" => {
                let named = node.named_child(0).and_then(|list| self.types_in(list));
                let inner = node.named_child(1).map(|inner| self.value(inner));
                named.map(|named| self.b.add(Expr::Instance(named))).or(inner)?
            }
            "ternary_expression" => {
                self.field(node, "condition");
                let branches = ["consequence", "alternative"]
                    .iter()
                    .filter_map(|field| self.field(node, field))
                    .collect();
                self.b.either(branches)?
            }
            "binary_expression" => self.operator(node)?,
            "sequence_expression" => {
                let mut cursor = node.walk();
                let mut last = None;
                for inner in node.named_children(&mut cursor) {
                    last = Some(self.value(inner));
                }
                last?
            }
            "assignment_expression" => self.assignment(node)?,
            "augmented_assignment_expression" => self.augmented(node)?,
            _ => return self.written(node),
        })
    }

    /// Literals, functions and classes that are written out.
    fn written(&mut self, node: Node<'t>) -> Option<ExprId> {
        Some(match node.kind() {
            "string" => self.builtin("string"),
            "template_string" => {
                self.children(node);
                self.builtin("string")
            }
            "number" => self.builtin("number"),
            "true" | "false" => self.builtin("boolean"),
            "regex" => self.builtin("RegExp"),
            "array" => self.array(node),
            "object" => {
                self.object(node, None);
                self.b.unknown()
            }
            "arrow_function" | "function_expression" | "function" | "generator_function" => {
                self.function(node, None);
                self.b.unknown()
            }
            "class" => {
                self.class(node, None);
                self.b.unknown()
            }
            _ => return None,
        })
    }

    fn statement(&mut self, node: Node<'t>) {
        match node.kind() {
            "comment"
            | "undefined"
            | "null"
            | "property_identifier"
            | "statement_identifier"
            | "string_fragment"
            | "hash_bang_line"
            | "meta_property" => {}
            "function_declaration" | "generator_function_declaration" => self.function_declaration(node),
            "function_signature" => self.function_signature(node),
            "class_declaration" | "abstract_class_declaration" => self.class_declaration(node),
            "interface_declaration" => self.interface(node),
            "enum_declaration" => self.enumeration(node),
            "type_alias_declaration" => self.type_alias(node),
            "internal_module" | "module" => self.namespace(node),
            "lexical_declaration" | "variable_declaration" => self.variables(node),
            "import_statement" => self.import(node),
            "import_alias" => self.import_alias(node),
            "export_statement" => self.export(node),
            "return_statement" => self.returned(node),
            "yield_expression" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.yields = true;
                }
                self.children(node);
            }
            "for_in_statement" => self.for_in(node),
            "for_statement" | "statement_block" | "switch_body" => self.block(node),
            "catch_clause" => self.catch(node),
            "update_expression" => {
                if let Some(target) = node.child_by_field_name("argument") {
                    self.value_as(target, UseKind::Write);
                }
            }
            "decorator" => self.decorator(node),
            "jsx_opening_element" | "jsx_self_closing_element" => self.element(node),
            "jsx_closing_element" | "jsx_namespace_name" | "jsx_text" => {}
            "type_arguments" | "type_annotation" => {
                self.types_in(node);
            }
            _ => self.children(node),
        }
    }

    /// An instance of a builtin type.
    pub(super) fn builtin(&mut self, name: &str) -> ExprId {
        let name = self.b.name(name);
        self.b.add(Expr::Instance(name))
    }

    fn member(&mut self, node: Node<'t>, kind: UseKind) -> ExprId {
        let (object, name) = (node.child_by_field_name("object"), node.child_by_field_name("property"));
        let (Some(object), Some(name)) = (object, name) else { return self.b.unknown() };
        let of = self.value(object);
        let member = self.b.member(of, self.b.text(name));
        self.b.used(kind, member, name);
        member
    }

    fn subscript(&mut self, node: Node<'t>) -> ExprId {
        let of = self.field(node, "object").unwrap_or_else(|| self.b.unknown());
        match node.child_by_field_name("index") {
            Some(index) if index.kind() == "string" => {
                let name = self.string(index);
                self.b.member(of, name)
            }
            index => {
                if let Some(index) = index {
                    self.value(index);
                }
                self.b.add(Expr::Inside(of))
            }
        }
    }

    fn call(&mut self, node: Node<'t>) -> ExprId {
        let (function, arguments) =
            (node.child_by_field_name("function"), node.child_by_field_name("arguments"));
        let Some(function) = function else { return self.b.unknown() };
        if let Some(module) = self.required(node) {
            return self.import_as_value(module);
        }
        let mut callee = match function.kind() {
            "import" => self.b.unknown(),
            // With type arguments, the grammar takes the awaited expression for the callee.
            "await_expression" => match function.named_child(0) {
                Some(awaited) => self.value_as(awaited, UseKind::Call),
                None => self.b.unknown(),
            },
            _ => self.value_as(function, UseKind::Call),
        };
        let generic = node.child_by_field_name("type_arguments");
        if let Some(types) = generic.map(|generic| self.type_list(generic)) {
            callee = self.b.add(Expr::Apply(callee, types));
        }
        if let Some(arguments) = arguments {
            let element = self.element_hint(callee, function);
            let handler = self.handler(node, function, arguments);
            let mut cursor = arguments.walk();
            let all = arguments.named_children(&mut cursor).filter(|child| child.kind() != "comment");
            let mut spread = false;
            for (number, argument) in (0..).zip(all) {
                spread |= argument.kind() == "spread_element";
                self.hint = match element {
                    _ if !is_function(argument) => None,
                    Some(element) => Some(Hint::First(element)),
                    None if spread => None,
                    None => Some(Hint::Type(self.b.add(Expr::Given(callee, number)))),
                };
                match handler {
                    Some((handler, symbol)) if handler.id() == argument.id() => {
                        self.function(argument, symbol)
                    }
                    _ => {
                        self.value(argument);
                    }
                }
            }
            self.hint = None;
        }
        match *self.b.expr(callee) {
            // `super(…)` gives nothing.
            Expr::Super => self.b.unknown(),
            _ if function.kind() == "await_expression" => {
                let called = self.b.add(Expr::Call(callee));
                let inside = self.b.add(Expr::Inside(called));
                self.b.add(Expr::Either(vec![inside, called]))
            }
            _ => self.b.add(Expr::Call(callee)),
        }
    }

    /// The anonymous function that a statement passes to a call such as `app.get('/x', …)`, with a symbol that is named after the call:
    /// `definitions.scm` lists it as a definition.
    fn handler(
        &mut self,
        node: Node<'t>,
        function: Node<'t>,
        arguments: Node<'t>,
    ) -> Option<(Node<'t>, Option<SymbolId>)> {
        let name = self.b.text(function.child_by_field_name("property")?);
        if !HANDLED.contains(&name) || node.parent()?.kind() != "expression_statement" {
            return None;
        }
        let is_function = |node: &Node<'t>| matches!(node.kind(), "arrow_function" | "function_expression");
        let first = arguments.named_child(0)?;
        let handler = match first.kind() {
            "string" | "template_string" | "regex" => {
                arguments.named_children(&mut arguments.walk()).find(is_function)?
            }
            _ if name == "use" && is_function(&first) => first,
            _ => return None,
        };
        let symbol = self.b.define(function, SymbolKind::Function, New::default());
        Some((handler, symbol))
    }

    /// Returns the value that an array's method passes to its callback.
    fn element_hint(&mut self, callee: ExprId, function: Node<'t>) -> Option<ExprId> {
        let name = self.b.text(function.child_by_field_name("property")?);
        match *self.b.expr(callee) {
            Expr::Member(of, _) if ELEMENT_CALLBACKS.contains(&name) => Some(self.b.add(Expr::Inside(of))),
            _ => None,
        }
    }

    fn instantiation(&mut self, node: Node<'t>) -> ExprId {
        let Some(constructor) = node.child_by_field_name("constructor") else { return self.b.unknown() };
        let mut of = self.value_as(constructor, UseKind::Call);
        let generic = node.child_by_field_name("type_arguments");
        let types = match generic {
            Some(generic) => self.type_list(generic),
            None if CONTAINERS.contains(&self.b.text(constructor)) => vec![self.b.unknown()],
            None => Vec::new(),
        };
        if !types.is_empty() {
            of = self.b.add(Expr::Apply(of, types));
        }
        self.field(node, "arguments");
        self.b.add(Expr::Instance(of))
    }

    fn cast(&mut self, node: Node<'t>) -> Option<ExprId> {
        let mut cursor = node.walk();
        let parts: Vec<Node<'t>> = node.named_children(&mut cursor).take(2).collect();
        let value = parts.first().map(|value| self.value(*value))?;
        let Some(named) = parts.get(1) else { return Some(value) };
        let declared = self.named_type(*named);
        match (node.kind(), declared) {
            ("as_expression", Some(declared)) => Some(self.b.add(Expr::Instance(declared))),
            ("as_expression", None) => Some(self.b.unknown()),
            _ => Some(value),
        }
    }

    fn operator(&mut self, node: Node<'t>) -> Option<ExprId> {
        let operator = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
        let (left, right) = (self.field(node, "left"), self.field(node, "right"));
        match operator {
            "||" | "??" | "&&" => self.b.either(left.into_iter().chain(right).collect()),
            "===" | "!==" | "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "instanceof" => {
                Some(self.builtin("boolean"))
            }
            _ => Some(self.b.unknown()),
        }
    }

    fn array(&mut self, node: Node<'t>) -> ExprId {
        let mut values = Vec::new();
        let mut cursor = node.walk();
        for element in node.named_children(&mut cursor) {
            let value = self.value(element);
            if values.len() < ELEMENTS_MAX {
                values.push(value);
            }
        }
        let whole = self.b.name("Array");
        // The content of an empty array is unknown: it may be anything in the repository.
        let inner = self.b.either(values).unwrap_or_else(|| self.b.unknown());
        let whole = self.b.add(Expr::Apply(whole, vec![inner]));
        self.b.add(Expr::Instance(whole))
    }

    fn returned(&mut self, node: Node<'t>) {
        let Some(returned) = node.named_child(0) else { return };
        let declared = self.frames.last().and_then(|frame| frame.declared);
        self.hint = declared.filter(|_| is_function(returned)).map(Hint::Type);
        let value = self.value(returned);
        self.returns(value);
    }

    /// Adds a value that the innermost function returns.
    pub(super) fn returns(&mut self, value: ExprId) {
        let value = self.b.outward(value);
        if let Some(frame) = self.frames.last_mut().filter(|frame| frame.returns.len() < ELEMENTS_MAX) {
            frame.returns.push(value);
        }
    }

    fn for_in(&mut self, node: Node<'t>) {
        let right = self.field(node, "right");
        if !self.b.open(ScopeKind::Block, None) {
            return;
        }
        let of = node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "of");
        let value = right.filter(|_| of).map(|right| self.b.add(Expr::Inside(right)));
        if let Some(left) = node.child_by_field_name("left") {
            match node.child_by_field_name("kind") {
                Some(kind) => {
                    let scope = if kind.kind() == "var" { self.function_scope() } else { self.b.scope() };
                    self.bind(left, scope, None, value);
                }
                None => {
                    self.value_as(left, UseKind::Write);
                }
            }
        }
        self.field(node, "body");
        self.b.close();
    }

    fn catch(&mut self, node: Node<'t>) {
        if !self.b.open(ScopeKind::Block, None) {
            return;
        }
        if let Some(parameter) = node.child_by_field_name("parameter") {
            self.bind(parameter, self.b.scope(), None, None);
        }
        if let Some(body) = node.child_by_field_name("body") {
            self.children(body);
        }
        self.b.close();
    }

    pub(super) fn decorator(&mut self, node: Node<'t>) {
        if let Some(inner) = node.named_child(0) {
            self.value_as(inner, UseKind::Call);
        }
    }

    /// A JSX element uses its component like a call.
    fn element(&mut self, node: Node<'t>) {
        let name = node.child_by_field_name("name");
        if let Some(name) = name {
            let text = self.b.text(name);
            if name.kind() == "member_expression" || text.starts_with(|c: char| c.is_uppercase()) {
                self.value_as(name, UseKind::Call);
            }
        }
        self.children_except(node, &[name]);
    }
}
