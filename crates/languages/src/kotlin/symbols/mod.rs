//! Symbols of Kotlin: the definitions, imports and uses of a file.

mod declarations;
mod lambdas;
mod properties;
mod types;

use tree_sitter::Node;

use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, all_children, child_of, children,
    field,
};
use declarations::{broken, declaration, parameters};
use lambdas::{call, lambda};
use properties::variables;
use types::{type_name, types};

/// Reports the symbols of a file.
pub(super) fn extract<'t>(b: &mut Builder<'t>, root: Node<'t>) {
    b.visit_with(walk);
    if root.is_error() {
        broken(b, &all_children(root));
    } else {
        b.each(root);
    }
}

/// Walks a declaration, statement or expression. Returns the value of an expression.
fn walk<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match node.kind() {
        "identifier" => return name(b, node, UseKind::Read),
        "navigation_expression" => return navigation(b, node, UseKind::Read),
        "call_expression" => return call(b, node),
        "this_expression" => return this(b, node),
        "super_expression" => return super_expression(b, node),
        "parenthesized_expression" | "block" | "annotated_expression" | "control_structure_body" => {
            return b.last_value(node);
        }
        "unary_expression" => return unary(b, node),
        "as_expression" => {
            b.value_of(field(node, "left"));
            let of = field(node, "right").map(|of| type_name(b, of, UseKind::Type));
            return of.map_or(0, |of| b.add(Expr::Instance(of)));
        }
        "index_expression" => {
            let parts = children(node);
            let of = b.value_of(parts.first().copied());
            parts.into_iter().skip(1).for_each(|part| {
                b.value(part);
            });
            return b.add(Expr::Inside(of));
        }
        "binary_expression" => return binary(b, node),
        "infix_expression" => return infix(b, node),
        "if_expression" => return condition(b, node),
        "when_expression" => return when(b, node),
        "object_literal" => return object_literal(b, node),
        "try_expression" => {
            let parts = children(node).into_iter();
            let values: Vec<ExprId> = parts.map(|part| b.value(part)).collect();
            return values.first().copied().unwrap_or(0);
        }
        "ERROR" if matches!(b.scope_kind(), ScopeKind::File | ScopeKind::Type) => {
            broken(b, &all_children(node))
        }
        "lambda_literal" => return lambda(b, node, None),
        "string_literal"
        | "multiline_string_literal"
        | "number_literal"
        | "float_literal"
        | "character_literal" => {
            return literal(b, node);
        }
        _ => statement(b, node),
    }
    b.unknown()
}

fn statement<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "assignment" => assignment(b, node),
        "is_expression" => {
            b.value_of(field(node, "left"));
            if let Some(of) = field(node, "right") {
                type_name(b, of, UseKind::Type);
            }
        }
        "user_type" | "nullable_type" | "function_type" => {
            type_name(b, node, UseKind::Type);
        }
        "type_arguments" => {
            types(b, node);
        }
        "callable_reference" => callable_reference(b, node),
        "for_statement" => b.within(ScopeKind::Block, None, |b| for_each(b, node)),
        "while_statement" | "do_while_statement" | "finally_block" => {
            b.within(ScopeKind::Block, None, |b| b.each(node));
        }
        "catch_block" => b.within(ScopeKind::Block, None, |b| catch(b, node)),
        "anonymous_function" => b.within(ScopeKind::Function, None, |b| {
            b.each_child(node, |b, child| match child.kind() {
                "function_value_parameters" => parameters(b, child),
                _ => {
                    walk(b, child);
                }
            });
        }),
        "value_argument" => {
            // The first of two is the name of the parameter.
            if let Some(given) = children(node).last() {
                b.value(*given);
            }
        }
        "return_expression" | "labeled_expression" => {
            for part in children(node).into_iter().filter(|part| field(node, "label") != Some(*part)) {
                b.value(part);
            }
        }
        _ => declaration(b, node),
    }
}

/// Reports the use of a name on its own, except for reads of local names.
fn name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let text = b.text(node).trim_matches('`');
    let expr = b.name(text);
    if !b.is_local(text) && !matches!(text, "null" | "true" | "false") {
        b.used(kind, expr, node);
    }
    expr
}

/// Defines a symbol, whose name may be in backticks.
fn define<'t>(b: &mut Builder<'t>, name: Node<'t>, kind: SymbolKind, new: New) -> Option<SymbolId> {
    b.define_in(b.scope(), b.text(name).trim_matches('`'), name.start_byte(), kind, new)
}

/// The name of a function that is called, even if it is that of a local name.
fn name_called<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let expr = b.name(b.text(node).trim_matches('`'));
    b.used(UseKind::Call, expr, node);
    expr
}

/// A literal is an instance of a type of the language.
fn literal<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    b.each(node);
    let of = match node.kind() {
        "character_literal" => "Char",
        "float_literal" => "Double",
        "number_literal" if b.text(node).ends_with(['L', 'l']) => "Long",
        "number_literal" => "Int",
        _ => "String",
    };
    let of = b.name(of);
    b.add(Expr::Instance(of))
}

/// `a.b`, `a?.b`, `a::b`.
fn navigation<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let parts = children(node);
    let [of, name] = parts[..] else {
        // `::name`
        return parts.first().map_or(0, |part| walk(b, *part));
    };
    let of = b.value(of);
    let text = b.text(name).trim_matches('`');
    if text == "class" {
        return b.unknown();
    }
    let expr = b.member(of, text);
    b.used(kind, expr, name);
    expr
}

fn this<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match child_of(node, "identifier") {
        // `this@Outer`
        Some(label) => {
            let of = b.name(b.text(label));
            b.add(Expr::Instance(of))
        }
        None => b.add(Expr::This),
    }
}

fn super_expression<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match children(node).into_iter().find(|part| part.kind() == "user_type") {
        // `super<Base>`
        Some(base) => {
            let of = type_name(b, base, UseKind::Type);
            b.add(Expr::Instance(of))
        }
        None => b.add(Expr::Super),
    }
}

/// The grammar takes `!a.b` as a member of `!a`, so the value is that of the operand.
fn unary<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let Some(argument) = field(node, "argument") else { return b.last_value(node) };
    let operator = field(node, "operator").map_or("", |operator| b.text(operator));
    if matches!(operator, "++" | "--") {
        return assigned(b, argument);
    }
    b.value(argument)
}

fn binary<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let values = ["left", "right"].map(|side| b.value_of(field(node, side)));
    let operator = field(node, "operator").map_or("", |operator| b.text(operator));
    if operator == "?:" {
        return either(b, values.to_vec());
    }
    b.unknown()
}

/// One of several values. If some are unknown, the others still count.
fn either(b: &mut Builder<'_>, mut values: Vec<ExprId>) -> ExprId {
    let unknown = b.unknown();
    values.retain(|value| *value != unknown);
    values.dedup();
    match values[..] {
        [] => unknown,
        [one] => one,
        _ => b.add(Expr::Either(values)),
    }
}

/// `a name b` is a call of a method of `a`.
fn infix<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let parts = children(node);
    let [left, operator, right] = parts[..] else { return b.last_value(node) };
    let of = b.value(left);
    let expr = b.member(of, b.text(operator));
    b.used(UseKind::Call, expr, operator);
    b.value(right);
    b.add(Expr::Call(expr))
}

fn assignment<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(left) = field(node, "left") {
        assigned(b, left);
    }
    b.value_of(field(node, "right"));
}

/// Something to which a value is assigned.
fn assigned<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match node.kind() {
        "identifier" => name(b, node, UseKind::Write),
        "navigation_expression" => {
            let mut found = b.unknown();
            b.descend(|b| found = navigation(b, node, UseKind::Write));
            found
        }
        _ => b.value(node),
    }
}

/// `::name`, `Type::name` with a type that cannot be taken for a value.
fn callable_reference<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut of = None;
    for part in children(node) {
        if part.kind() == "identifier" {
            let text = b.text(part);
            if text == "class" {
                continue;
            }
            let expr = match of {
                Some(of) => b.member(of, text),
                None => b.name(text),
            };
            b.used(UseKind::Read, expr, part);
        } else {
            of = Some(type_name(b, part, UseKind::Type));
        }
    }
}

/// `if`: inside its first branch, a local name that was compared with a type has that type.
fn condition<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let tested = field(node, "condition");
    b.value_of(tested);
    let mut branches = Vec::new();
    let mut casts = tested.map(|tested| casts(b, tested)).unwrap_or_default();
    for branch in children(node).into_iter().filter(|branch| Some(*branch) != tested) {
        let casts = std::mem::take(&mut casts);
        b.within(ScopeKind::Block, None, |b| {
            cast(b, &casts);
            branches.push(b.value(branch));
        });
    }
    either(b, branches)
}

/// Local names that a condition compares with a type, where all of it must hold.
fn casts<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Vec<(Node<'t>, Node<'t>)> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node.kind() {
            "parenthesized_expression" => open.extend(children(node)),
            "binary_expression"
                if field(node, "operator").is_some_and(|operator| b.text(operator) == "&&") =>
            {
                open.extend(["right", "left"].into_iter().filter_map(|side| field(node, side)));
            }
            "is_expression" if child_of(node, "!is").is_none() => {
                if let (Some(left), Some(right)) = (field(node, "left"), field(node, "right"))
                    && left.kind() == "identifier"
                    && b.is_local(b.text(left))
                {
                    found.push((left, right));
                }
            }
            _ => {}
        }
    }
    found
}

/// Gives names another type in the open scope.
fn cast<'t>(b: &mut Builder<'t>, casts: &[(Node<'t>, Node<'t>)]) {
    for (name, of) in casts {
        let declared = Some(type_name(b, *of, UseKind::Type));
        define(b, *name, SymbolKind::Local, New { declared, ..New::default() });
    }
}

fn when<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let mut branches = Vec::new();
    b.within(ScopeKind::Block, None, |b| {
        let mut subject = None;
        for part in children(node) {
            if part.kind() == "when_subject" {
                subject = when_subject(b, part);
            } else {
                b.descend(|b| b.within(ScopeKind::Block, None, |b| branches.push(entry(b, part, subject))));
            }
        }
    });
    either(b, branches)
}

/// Visits the subject of a `when`. Returns the node of its name, if it is local.
fn when_subject<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Node<'t>> {
    let parts = children(node);
    let looked_at = *parts.last()?;
    let value = b.value(looked_at);
    if let Some(variable) = parts.iter().find(|part| part.kind() == "variable_declaration") {
        return variables(b, *variable, SymbolKind::Local, Some(value));
    }
    (looked_at.kind() == "identifier" && b.is_local(b.text(looked_at))).then_some(looked_at)
}

fn entry<'t>(b: &mut Builder<'t>, node: Node<'t>, subject: Option<Node<'t>>) -> ExprId {
    let mut cursor = node.walk();
    let conditions: Vec<Node<'t>> = node.children_by_field_name("condition", &mut cursor).collect();
    if let [condition] = conditions[..] {
        let mut casts = casts(b, condition);
        if let (Some(subject), "type_test") = (subject, condition.kind())
            && child_of(condition, "!is").is_none()
        {
            casts.extend(children(condition).last().map(|of| (subject, *of)));
        }
        cast(b, &casts);
    }
    let mut last = b.unknown();
    b.each_child(node, |b, child| last = walk(b, child));
    last
}

fn for_each<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let parts = children(node);
    let is_name = |part: &&Node<'t>| part.kind().ends_with("variable_declaration");
    let Some(name) = parts.iter().find(is_name) else { return b.each(node) };
    let mut over = None;
    for part in parts.iter().filter(|part| *part != name && part.start_byte() > name.start_byte()) {
        let value = b.value(*part);
        if over.is_none() {
            over = Some(b.add(Expr::Inside(value)));
            variables(b, *name, SymbolKind::Local, over);
        }
    }
}

fn catch<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut name = None;
    for part in children(node) {
        match part.kind() {
            "identifier" => name = Some(part),
            "block" => {
                b.value(part);
            }
            "annotation" => declaration(b, part),
            _ => {
                let declared = Some(type_name(b, part, UseKind::Type));
                if let Some(name) = name {
                    define(b, name, SymbolKind::Local, New { declared, ..New::default() });
                }
            }
        }
    }
}

/// `object : Base() { … }`
fn object_literal<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let bases = child_of(node, "delegation_specifiers");
    let bases = bases.map(|bases| declarations::bases(b, bases)).unwrap_or_default();
    let none = b.unknown();
    let of: Vec<ExprId> = bases.iter().map(|base| b.add(Expr::Instance(*base))).collect();
    if let Some(body) = child_of(node, "class_body") {
        b.within_target(none, bases, |b| b.each(body));
    }
    either(b, of)
}
