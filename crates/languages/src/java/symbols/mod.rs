//! Symbols of Java: the definitions, imports and uses of a file.

use tree_sitter::Node;

mod declarations;
mod types;

use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolKind, UseKind, child_of, children, field};
use declarations::{declaration, formal_parameters, variables};
use types::{type_name, types};

/// Methods of the standard library whose result holds the same elements as their receiver.
const SAME_ELEMENTS: &[&str] = &[
    "stream", "parallelStream", "filter", "sorted", "distinct", "limit", "skip", "peek", "iterator",
    "values", "descendingIterator", "listIterator",
];
/// Methods of the standard library that call a lambda with an element.
const EACH_ELEMENT: &[&str] = &[
    "forEach", "filter", "map", "flatMap", "anyMatch", "allMatch", "noneMatch", "removeIf", "ifPresent",
    "mapToInt", "mapToLong", "peek",
];

/// Reports the symbols of a file.
pub(super) fn extract<'t>(b: &mut Builder<'t>, root: Node<'t>) {
    b.visit_with(walk);
    b.functions_apart();
    b.each(root);
}

/// Walks a declaration, statement or expression. Returns the value of an expression.
fn walk<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match node.kind() {
        "identifier" | "type_identifier" => return name(b, node, UseKind::Read),
        "field_access" => return field_access(b, node, UseKind::Read),
        "method_invocation" => return call(b, node),
        "object_creation_expression" => return creation(b, node),
        "this" => return b.add(Expr::This),
        "super" => return b.add(Expr::Super),
        "parenthesized_expression" => {
            return children(node).into_iter().fold(0, |_, child| b.value(child));
        }
        "cast_expression" => {
            let of = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
            b.value_of(field(node, "value"));
            return of.map_or(0, |of| b.add(Expr::Instance(of)));
        }
        "ternary_expression" => {
            b.value_of(field(node, "condition"));
            let either = ["consequence", "alternative"].map(|name| b.value_of(field(node, name)));
            return b.add(Expr::Either(either.to_vec()));
        }
        "array_access" => {
            let of = b.value_of(field(node, "array"));
            b.value_of(field(node, "index"));
            return b.add(Expr::Inside(of));
        }
        "array_creation_expression" => return array(b, node),
        "assignment_expression" => assignment(b, node),
        "update_expression" => {
            for child in children(node) {
                assigned(b, child);
            }
        }
        "instanceof_expression" | "type_pattern" | "record_pattern" | "record_pattern_component" => {
            return pattern(b, node);
        }
        "method_reference" => method_reference(b, node),
        "class_literal" | "catch_type" | "throws" | "permits" | "type_arguments" => types(b, node),
        "lambda_expression" => lambda(b, node, None),
        _ => statement(b, node),
    }
    b.unknown()
}

fn statement<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "local_variable_declaration" => variables(b, node, SymbolKind::Local),
        "block" | "switch_block_statement_group" | "switch_rule" | "catch_clause" => block(b, node),
        "for_statement" | "try_with_resources_statement" => block(b, node),
        "if_statement" | "while_statement" => condition(b, node),
        "enhanced_for_statement" => b.within(ScopeKind::Block, None, |b| for_each(b, node)),
        "resource" | "catch_formal_parameter" => resource(b, node),
        "switch_expression" => switch(b, node),
        "explicit_constructor_invocation" => constructor_call(b, node),
        "labeled_statement" => {
            children(node).into_iter().skip(1).for_each(|child| {
                b.value(child);
            });
        }
        "break_statement" | "continue_statement" => {}
        _ => declaration(b, node),
    }
}

fn block<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    b.within(ScopeKind::Block, None, |b| b.each(node));
}

/// Reports the use of a name on its own, except for reads of local names.
fn name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let text = b.text(node);
    let expr = b.name(text);
    if !b.is_local(text) {
        b.used(kind, expr, node);
    }
    expr
}

fn field_access<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let of = b.value_of(field(node, "object"));
    let Some(name) = field(node, "field") else { return b.unknown() };
    if name.kind() == "this" {
        return b.add(Expr::Instance(of));
    }
    let expr = b.member(of, b.text(name));
    b.used(kind, expr, name);
    expr
}

fn call<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let Some(name) = field(node, "name") else { return b.unknown() };
    let text = b.text(name);
    let of = field(node, "object").map(|object| b.value(object));
    let around = of.is_some() && child_of(node, "super").is_some() && !is_super(b, of);
    let expr = match of {
        // `Interface.super.method()`
        Some(of) if around => {
            let of = b.add(Expr::Instance(of));
            b.member(of, text)
        }
        Some(of) => b.member(of, text),
        None => b.name(text),
    };
    b.used(UseKind::Call, expr, name);
    if let Some(arguments) = field(node, "type_arguments") {
        types(b, arguments);
    }
    let element = of.filter(|_| EACH_ELEMENT.contains(&text)).map(|of| b.add(Expr::Inside(of)));
    if let Some(arguments) = field(node, "arguments") {
        b.each_child(arguments, |b, argument| match argument.kind() {
            "lambda_expression" => lambda(b, argument, element),
            _ => {
                walk(b, argument);
            }
        });
    }
    let result = b.add(Expr::Call(expr));
    match of {
        Some(of) if SAME_ELEMENTS.contains(&text) => b.add(Expr::Either(vec![result, of])),
        _ => result,
    }
}

fn is_super(b: &Builder<'_>, of: Option<ExprId>) -> bool {
    of.is_some_and(|of| *b.expr(of) == Expr::Super)
}

fn creation<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let Some(created) = field(node, "type") else { return b.unknown() };
    let before = |child: &Node<'_>| child.end_byte() <= created.start_byte();
    for outer in children(node).into_iter().filter(before) {
        b.value(outer);
    }
    let of = type_name(b, created, UseKind::Call);
    if let Some(arguments) = field(node, "arguments") {
        b.each(arguments);
    }
    if let Some(body) = child_of(node, "class_body") {
        anonymous(b, of, body);
    }
    b.add(Expr::Instance(of))
}

/// The body of a class without a name, which derives from a type.
fn anonymous<'t>(b: &mut Builder<'t>, base: ExprId, body: Node<'t>) {
    let none = b.unknown();
    b.within_target(none, vec![base], |b| b.each(body));
}

fn array<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let element = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
    for child in children(node).into_iter().filter(|child| !child.kind().contains("type")) {
        b.value(child);
    }
    let array = b.unknown();
    let of = b.add(Expr::Apply(array, element.into_iter().collect()));
    b.add(Expr::Instance(of))
}

fn assignment<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(left) = field(node, "left") {
        assigned(b, left);
    }
    b.value_of(field(node, "right"));
}

/// Something to which a value is assigned.
fn assigned<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "identifier" => {
            name(b, node, UseKind::Write);
        }
        "field_access" => b.descend(|b| {
            field_access(b, node, UseKind::Write);
        }),
        _ => {
            b.value(node);
        }
    }
}

fn method_reference<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let parts = children(node);
    let Some(first) = parts.first() else { return };
    let of = match first.kind() {
        "generic_type" | "array_type" | "scoped_type_identifier" => type_name(b, *first, UseKind::Type),
        _ => b.value(*first),
    };
    match parts.last() {
        Some(last) if parts.len() > 1 && last.kind() == "identifier" => {
            let expr = b.member(of, b.text(*last));
            b.used(UseKind::Read, expr, *last);
        }
        // `Type::new`
        _ => {
            if let Some(new) = child_of(node, "new") {
                b.used(UseKind::Call, of, new);
            }
        }
    }
}

fn lambda<'t>(b: &mut Builder<'t>, node: Node<'t>, element: Option<ExprId>) {
    b.within(ScopeKind::Function, None, |b| {
        if let Some(parameters) = field(node, "parameters") {
            match parameters.kind() {
                "formal_parameters" => formal_parameters(b, parameters),
                "identifier" => {
                    b.define(parameters, SymbolKind::Parameter, valued(element));
                }
                _ => {
                    for (at, name) in children(parameters).into_iter().enumerate() {
                        let element = element.filter(|_| at == 0);
                        b.define(name, SymbolKind::Parameter, valued(element));
                    }
                }
            }
        }
        b.value_of(field(node, "body"));
    });
}

fn valued(value: Option<ExprId>) -> New {
    New { value, ..New::default() }
}

/// `x instanceof T t`, and patterns in `case`.
fn pattern<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    if let Some(left) = field(node, "left") {
        b.value(left);
    }
    let right = if node.kind() == "instanceof_expression" { field(node, "right") } else { None };
    let parts = if node.kind() == "instanceof_expression" {
        [field(node, "name"), field(node, "pattern")].into_iter().flatten().collect()
    } else {
        children(node)
    };
    let mut declared = right.map(|of| type_name(b, of, UseKind::Type));
    for part in parts {
        match part.kind() {
            "identifier" if node.kind() == "record_pattern" => {
                type_name(b, part, UseKind::Type);
            }
            "identifier" => {
                b.define(part, SymbolKind::Local, New { declared, ..New::default() });
            }
            "record_pattern" | "record_pattern_component" | "record_pattern_body" => {
                b.value(part);
            }
            "underscore_pattern" => {}
            _ => declared = Some(type_name(b, part, UseKind::Type)),
        }
    }
    b.unknown()
}

/// A statement whose condition may bind names. They hold inside the statement, or after it where the condition denies something.
fn condition<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let denies = field(node, "condition").is_some_and(|condition| b.text(condition).contains('!'));
    if denies {
        b.each(node);
    } else {
        block(b, node);
    }
}

fn for_each<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let over = b.value_of(field(node, "value"));
    let declared = field(node, "type").filter(|of| b.text(*of) != "var");
    let declared = declared.map(|of| type_name(b, of, UseKind::Type));
    if let Some(name) = field(node, "name") {
        let value = Some(b.add(Expr::Inside(over)));
        b.define(name, SymbolKind::Local, New { declared, value, ..New::default() });
    }
    b.value_of(field(node, "body"));
}

/// Defines the resource of a `try`, or the exception of a `catch`: one name with a type.
fn resource<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let declared = field(node, "type").filter(|of| b.text(*of) != "var");
    let mut declared = declared.map(|of| type_name(b, of, UseKind::Type));
    if let Some(caught) = child_of(node, "catch_type") {
        let all: Vec<ExprId> =
            children(caught).into_iter().map(|of| type_name(b, of, UseKind::Type)).collect();
        declared = if let [one] = all[..] { Some(one) } else { Some(b.add(Expr::Either(all))) };
    }
    let value = field(node, "value").map(|node| b.value(node));
    b.define(name, SymbolKind::Local, New { declared, value, ..New::default() });
}

fn switch<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let subject = b.value_of(field(node, "condition"));
    let Some(body) = field(node, "body") else { return };
    b.each_child(body, |b, group| {
        b.within(ScopeKind::Block, None, |b| {
            b.each_child(group, |b, child| {
                if child.kind() == "switch_label" {
                    for label in children(child) {
                        case(b, subject, label);
                    }
                } else {
                    walk(b, child);
                }
            });
        });
    });
}

/// A `case`: a constant of the enum that is looked at, or another constant.
fn case<'t>(b: &mut Builder<'t>, subject: ExprId, label: Node<'t>) {
    if label.kind() != "identifier" {
        b.value(label);
        return;
    }
    let text = b.text(label);
    for expr in [b.member(subject, text), b.name(text)] {
        b.used(UseKind::Read, expr, label);
    }
}

/// `this(…)` and `super(…)` at the beginning of a constructor.
fn constructor_call<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let own = b.enclosing_type();
    if let (Some(which), Some(own)) = (field(node, "constructor"), own) {
        let called = if which.kind() == "this" {
            b.own_name(own)
        } else {
            let base = b.symbol_mut(own).and_then(|own| own.bases.first().copied());
            base.map(|base| b.without_arguments(base))
        };
        if let Some(called) = called {
            b.used(UseKind::Call, called, which);
        }
    }
    if let Some(arguments) = field(node, "arguments") {
        b.each(arguments);
    }
}
