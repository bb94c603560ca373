//! Expressions of C and C++: calls, reads and writes, and the types of values as far as names determine them.

use tree_sitter::Node;

use super::{Walk, children};
use crate::symbols::{Builder, Expr, ExprId, TreeWalk, UseKind};

/// Maximum nesting of an expression whose type is determined.
const PARTS_MAX: u32 = 24;
/// Calls whose result is that of their template's argument, held by a pointer.
const MAKERS: &[&str] = &["make_unique", "make_shared", "make_intrusive", "allocate_shared"];
/// Calls that return their argument.
const PASSERS: &[&str] = &["move", "forward", "ref", "cref", "as_const"];

impl<'t> Walk<'t> {
    /// Visits a node that is not a declaration.
    pub(super) fn visit_expression(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: &str) {
        match kind {
            "identifier" => self.read(b, node, UseKind::Read),
            "call_expression" => self.call(b, node),
            "field_expression" => self.field(b, node, UseKind::Read),
            "qualified_identifier" => self.qualified_use(b, node, UseKind::Read),
            "template_function" | "template_method" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.read(b, name, UseKind::Read);
                }
                self.visit_field(b, node, "arguments");
            }
            "assignment_expression" => {
                if let Some(left) = node.child_by_field_name("left") {
                    b.descend(|b| self.write(b, left));
                }
                self.visit_field(b, node, "right");
            }
            "update_expression" => {
                if let Some(argument) = node.child_by_field_name("argument") {
                    b.descend(|b| self.write(b, argument));
                }
            }
            "compound_literal_expression" => {
                if let Some(named) = node.child_by_field_name("type") {
                    let kind = if named.kind() == "type_descriptor" { UseKind::Type } else { UseKind::Call };
                    b.descend(|b| self.type_use(b, named, kind));
                }
                self.visit_field(b, node, "value");
            }
            _ => self.each(b, node),
        }
    }

    /// Reports the use of a name on its own.
    fn read(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let name = b.text(node);
        if kind == UseKind::Call || !self.is_local(name) {
            let expr = b.name(name);
            b.used(kind, expr, node);
        }
    }

    fn write(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "identifier" => self.read(b, node, UseKind::Write),
            "field_expression" => self.field(b, node, UseKind::Write),
            "qualified_identifier" => self.qualified_use(b, node, UseKind::Write),
            _ => self.visit(b, node),
        }
    }

    /// A member of a value: `a.b`, `a->b`.
    fn field(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let (Some(argument), Some(field)) =
            (node.child_by_field_name("argument"), node.child_by_field_name("field"))
        else {
            return self.each(b, node);
        };
        let (name, arguments) = field_name(field);
        if let Some(name) = name {
            let of = self.holder(b, node, argument, PARTS_MAX);
            let expr = b.member(of, b.text(name));
            b.used(kind, expr, name);
        }
        if let Some(arguments) = arguments {
            b.descend(|b| self.visit(b, arguments));
        }
        b.descend(|b| self.visit(b, argument));
    }

    /// Returns the value that owns the member which a field expression names.
    fn holder(&mut self, b: &mut Builder<'t>, node: Node<'t>, argument: Node<'t>, depth: u32) -> ExprId {
        let of = self.value(b, argument, depth - 1);
        let is_arrow = node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "->");
        if is_arrow && *b.expr(of) != Expr::This { inside(b, of) } else { of }
    }

    fn call(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(function) = node.child_by_field_name("function") else { return self.each(b, node) };
        b.descend(|b| match function.kind() {
            "identifier" => self.read(b, function, UseKind::Call),
            "field_expression" => self.field(b, function, UseKind::Call),
            "qualified_identifier" => self.qualified_use(b, function, UseKind::Call),
            "template_function" => self.template_call(b, function),
            "primitive_type" => {}
            _ => self.visit(b, function),
        });
        self.visit_field(b, node, "arguments");
    }

    /// A call of a template: `f<T>(x)`, `static_cast<T>(x)`, `make_unique<T>(x)`.
    fn template_call(&mut self, b: &mut Builder<'t>, function: Node<'t>) {
        let Some(name) = function.child_by_field_name("name") else { return };
        if !b.text(name).ends_with("_cast") {
            self.read(b, name, UseKind::Call);
        }
        self.made_type(b, function);
        self.visit_field(b, function, "arguments");
    }

    /// Reports that `make_unique<T>` and its like make a `T`.
    pub(super) fn made_type(&mut self, b: &mut Builder<'t>, function: Node<'t>) {
        let made = self.maker_argument(b, function);
        if let Some(named) = made.and_then(|made| made.child_by_field_name("type")) {
            b.descend(|b| self.type_use(b, named, UseKind::Call));
        }
    }

    /// The first argument of the template, if it is one that makes what its argument names.
    fn maker_argument(&self, b: &Builder<'t>, function: Node<'t>) -> Option<Node<'t>> {
        let name = function.child_by_field_name("name")?;
        if function.kind() != "template_function" || !MAKERS.contains(&b.text(name)) {
            return None;
        }
        children(function.child_by_field_name("arguments")?).map(|(_, argument)| argument).next()
    }

    /// A name with scopes before it.
    pub(super) fn qualified_use(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let (mut last, mut depth) = (node, 0);
        while last.kind() == "qualified_identifier" && depth < PARTS_MAX {
            if let Some(scope) = last.child_by_field_name("scope") {
                self.scope_use(b, scope);
            }
            let Some(name) = last.child_by_field_name("name") else { return };
            last = name;
            depth += 1;
        }
        let named = match last.kind() {
            "template_type" | "template_function" => {
                if kind == UseKind::Call {
                    self.made_type(b, last);
                }
                self.visit_field(b, last, "arguments");
                last.child_by_field_name("name").unwrap_or(last)
            }
            "dependent_name" => last.named_child(0).unwrap_or(last),
            _ => last,
        };
        let expr = self.type_of(b, node);
        let expr = if let Expr::Apply(of, _) = b.expr(expr) { *of } else { expr };
        b.used(kind, expr, named);
    }

    /// Reports the use of the first name before `::`; those after it are found through it.
    pub(super) fn scope_use(&mut self, b: &mut Builder<'t>, scope: Node<'t>) {
        let name = match scope.kind() {
            "template_type" => {
                self.visit_field(b, scope, "arguments");
                scope.child_by_field_name("name")
            }
            "namespace_identifier" | "type_identifier" | "identifier" => Some(scope),
            _ => None,
        };
        if let Some(name) = name.filter(|name| b.text(*name) != "std" && !self.is_local(b.text(*name))) {
            let expr = b.name(b.text(name));
            b.used(UseKind::Type, expr, name);
        }
    }

    /// The value of an expression.
    pub(crate) fn expr(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        self.value(b, node, PARTS_MAX)
    }

    fn value(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        if depth < 2 {
            return b.unknown();
        }
        match node.kind() {
            "identifier" => b.name(b.text(node)),
            "this" => b.add(Expr::This),
            "qualified_identifier" | "template_function" => self.type_of(b, node),
            "field_expression" => {
                let (Some(argument), Some(field)) =
                    (node.child_by_field_name("argument"), node.child_by_field_name("field"))
                else {
                    return b.unknown();
                };
                let of = self.holder(b, node, argument, depth);
                match field_name(field).0 {
                    Some(name) => b.member(of, b.text(name)),
                    None => b.unknown(),
                }
            }
            "call_expression" => self.result(b, node, depth),
            "subscript_expression" => {
                let of = self.value_of_field(b, node, "argument", depth);
                inside(b, of)
            }
            "pointer_expression" => self.indirection(b, node, depth),
            "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.value(b, inner, depth - 1),
                None => b.unknown(),
            },
            "cast_expression" | "compound_literal_expression" => self.instance(b, node),
            "new_expression" => {
                let made = self.instance(b, node);
                match b.expr(made) {
                    Expr::Instance(of) => {
                        let of = *of;
                        let pointer = self.pointer(b, of);
                        b.add(Expr::Instance(pointer))
                    }
                    _ => made,
                }
            }
            "conditional_expression" => {
                let first = self.value_of_field(b, node, "consequence", depth);
                let second = self.value_of_field(b, node, "alternative", depth);
                either(b, first, second)
            }
            "assignment_expression" => self.value_of_field(b, node, "right", depth),
            _ => b.unknown(),
        }
    }

    fn value_of_field(&mut self, b: &mut Builder<'t>, node: Node<'t>, field: &str, depth: u32) -> ExprId {
        match node.child_by_field_name(field) {
            Some(child) => self.value(b, child, depth - 1),
            None => b.unknown(),
        }
    }

    /// `*p` and `&x`.
    fn indirection(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        let is_content = node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "*");
        let of = self.value_of_field(b, node, "argument", depth);
        if !is_content {
            return b.unknown();
        }
        if *b.expr(of) == Expr::This { of } else { inside(b, of) }
    }

    /// An instance of the type that a node names.
    fn instance(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        let Some(named) = node.child_by_field_name("type") else { return b.unknown() };
        let of = self.type_of(b, named);
        if *b.expr(of) == Expr::Unknown { of } else { b.add(Expr::Instance(of)) }
    }

    /// The result of a call.
    fn result(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        let Some(function) = node.child_by_field_name("function") else { return b.unknown() };
        let last = last_of(function);
        let named = last.child_by_field_name("name").or_else(|| last.child_by_field_name("field"));
        let name = b.text(named.unwrap_or(last));
        let template =
            || children(last.child_by_field_name("arguments")?).map(|(_, argument)| argument).next();
        let argument =
            || children(node.child_by_field_name("arguments")?).map(|(_, argument)| argument).next();
        if last.kind() == "template_function" && (name.ends_with("_cast") || MAKERS.contains(&name)) {
            let Some(made) = template() else { return b.unknown() };
            let mut of = self.type_of(b, made);
            if MAKERS.contains(&name) {
                of = self.pointer(b, of);
            }
            return b.add(Expr::Instance(of));
        }
        if function.kind() == "qualified_identifier" && PASSERS.contains(&name) {
            return match argument() {
                Some(argument) => self.value(b, argument, depth - 1),
                None => b.unknown(),
            };
        }
        let of = self.value(b, function, depth - 1);
        let result = b.add(Expr::Call(of));
        // `get` of a smart pointer is a pointer to the same.
        let holder =
            function.child_by_field_name("argument").filter(|_| function.kind() == "field_expression");
        let (Some(holder), "get", None) = (holder, name, argument()) else { return result };
        let same = self.value(b, holder, depth - 1);
        either(b, result, same)
    }
}

/// The name of a field, and the arguments of the template that it is.
fn field_name(field: Node<'_>) -> (Option<Node<'_>>, Option<Node<'_>>) {
    let field = if field.kind() == "dependent_name" { field.named_child(0).unwrap_or(field) } else { field };
    match field.kind() {
        "field_identifier" | "destructor_name" => (Some(field), None),
        "template_method" => (field.child_by_field_name("name"), field.child_by_field_name("arguments")),
        _ => (None, None),
    }
}

/// The last part of a name with scopes.
fn last_of(node: Node<'_>) -> Node<'_> {
    let mut last = node;
    for _ in 0..PARTS_MAX {
        match last.child_by_field_name("name").filter(|_| last.kind() == "qualified_identifier") {
            Some(name) => last = name,
            None => break,
        }
    }
    last
}

fn inside(b: &mut Builder<'_>, of: ExprId) -> ExprId {
    if *b.expr(of) == Expr::Unknown { of } else { b.add(Expr::Inside(of)) }
}

fn either(b: &mut Builder<'_>, first: ExprId, second: ExprId) -> ExprId {
    match (*b.expr(first) == Expr::Unknown, *b.expr(second) == Expr::Unknown) {
        (true, _) => second,
        (_, true) => first,
        _ if first == second => first,
        _ => b.add(Expr::Either(vec![first, second])),
    }
}
