//! Symbols of Scala: the definitions, imports and uses of a file.

mod declarations;
mod types;

use declarations::{declaration, package_of};
use tree_sitter::Node;
use types::{type_name, types};

use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolKind, UseKind, child_of, children, field};

/// Methods of the standard library whose result holds the same elements as their receiver.
const SAME_ELEMENTS: &[&str] = &[
    "distinct", "drop", "filter", "filterNot", "reverse", "sortBy", "sorted", "tail", "take", "toList",
    "toSeq", "toSet", "toVector", "values",
];
/// Methods of the standard library that pass an element to a function.
const EACH_ELEMENT: &[&str] = &[
    "collect", "count", "exists", "filter", "filterNot", "find", "flatMap", "forall", "foreach", "groupBy",
    "map", "maxBy", "minBy", "partition", "sortBy", "takeWhile", "withFilter",
];

/// Reports the symbols of a file.
pub(super) fn extract<'t>(b: &mut Builder<'t>, root: Node<'t>) {
    b.visit_with(walk);
    let package = package_of(b, root);
    if !package.is_empty() {
        b.package(&package);
    }
    b.each(root);
}

/// Walks the children of a node in a scope of their own, and returns the value of the last one.
fn block<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let mut last = b.unknown();
    b.within(ScopeKind::Block, None, |b| {
        b.each_child(node, |b, child| last = walk(b, child));
    });
    last
}

/// Walks a declaration or expression. Returns the value of an expression.
fn walk<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match node.kind() {
        "identifier" | "operator_identifier" => name(b, node, UseKind::Read),
        "field_expression" => member(b, node, UseKind::Read),
        "call_expression" => call(b, node),
        "generic_function" => {
            let of = b.value_of(field(node, "function"));
            if let Some(arguments) = field(node, "type_arguments") {
                types(b, arguments);
            }
            of
        }
        "instance_expression" => creation(b, node),
        "infix_expression" => infix(b, node),
        "parenthesized_expression" | "block" | "indented_block" => block(b, node),
        "ascription_expression" => {
            let parts = children(node);
            b.value_of(parts.first().copied());
            match parts.get(1) {
                Some(of) => {
                    let of = type_name(b, *of, UseKind::Type);
                    b.add(Expr::Instance(of))
                }
                None => b.unknown(),
            }
        }
        "if_expression" => {
            b.value_of(field(node, "condition"));
            let either = ["consequence", "alternative"].map(|name| b.value_of(field(node, name)));
            b.add(Expr::Either(either.to_vec()))
        }
        "string" => {
            let of = b.name("String");
            b.add(Expr::Instance(of))
        }
        _ => {
            statement(b, node);
            b.unknown()
        }
    }
}

fn statement<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "assignment_expression" => {
            if let Some(left) = field(node, "left") {
                match left.kind() {
                    "identifier" => {
                        name(b, left, UseKind::Write);
                    }
                    "field_expression" => b.descend(|b| {
                        member(b, left, UseKind::Write);
                    }),
                    _ => {
                        b.value(left);
                    }
                }
            }
            b.value_of(field(node, "right"));
        }
        "lambda_expression" => lambda(b, node, None),
        "for_expression" => b.within(ScopeKind::Block, None, |b| {
            b.each_child(node, |b, part| match part.kind() {
                "enumerators" => enumerators(b, part),
                _ => {
                    walk(b, part);
                }
            });
        }),
        "case_clause" => b.within(ScopeKind::Block, None, |b| {
            if let Some(matched) = field(node, "pattern") {
                pattern(b, matched, None);
            }
            b.each_child(node, |b, part| {
                if field(node, "pattern") != Some(part) {
                    walk(b, part);
                }
            });
        }),
        "while_expression" | "do_while_expression" => {
            block(b, node);
        }
        "type_arguments" => {
            types(b, node);
        }
        kind if kind.ends_with("_type") || kind.ends_with("type_identifier") => {
            type_name(b, node, UseKind::Type);
        }
        _ => declaration(b, node),
    }
}

/// Reports the use of a name on its own, except for reads of local names.
fn name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let text = b.text(node).trim_matches('`');
    match text {
        "this" => b.add(Expr::This),
        "super" => b.add(Expr::Super),
        _ => {
            let expr = b.name(text);
            if node.kind() == "identifier" && (kind == UseKind::Call || !b.is_local(text)) {
                b.used(kind, expr, node);
            }
            expr
        }
    }
}

fn member<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let of = b.value_of(field(node, "value"));
    let Some(name) = field(node, "field") else { return b.unknown() };
    let expr = b.member(of, b.text(name).trim_matches('`'));
    if name.kind() == "identifier" {
        b.used(kind, expr, name);
    }
    expr
}

fn call<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let Some(mut callee) = field(node, "function") else {
        b.each(node);
        return b.unknown();
    };
    if callee.kind() == "generic_function" {
        if let Some(arguments) = field(callee, "type_arguments") {
            types(b, arguments);
        }
        callee = field(callee, "function").unwrap_or(callee);
    }
    let mut expr = b.unknown();
    b.descend(|b| {
        expr = match callee.kind() {
            "identifier" => name(b, callee, UseKind::Call),
            "field_expression" => member(b, callee, UseKind::Call),
            _ => walk(b, callee),
        };
    });
    if *b.expr(expr) == Expr::This {
        own_constructor(b, callee);
    }
    let of = match b.expr(expr) {
        Expr::Member(of, name) => Some((*of, b.text_of(*name).to_owned())),
        _ => None,
    };
    let element = of.as_ref().filter(|(_, name)| EACH_ELEMENT.contains(&name.as_str()));
    let element = element.map(|(of, _)| *of).map(|of| b.add(Expr::Inside(of)));
    if let Some(arguments) = field(node, "arguments") {
        b.each_child(arguments, |b, given| match given.kind() {
            "lambda_expression" => lambda(b, given, element),
            // The name of the parameter is not an assignment.
            "assignment_expression" => {
                b.value_of(field(given, "right"));
            }
            _ => {
                walk(b, given);
            }
        });
    }
    let result = b.add(Expr::Call(expr));
    match of {
        Some((of, name)) if SAME_ELEMENTS.contains(&name.as_str()) => b.add(Expr::Either(vec![result, of])),
        _ => result,
    }
}

/// `this(…)` in a constructor.
fn own_constructor(b: &mut Builder<'_>, at: Node<'_>) {
    let own = b.enclosing_type().and_then(|own| b.own_name(own));
    if let Some(own) = own {
        b.used(UseKind::Call, own, at);
    }
}

/// `new T(…) { … }`
fn creation<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let mut of = None;
    for part in children(node) {
        match part.kind() {
            "arguments" => b.each(part),
            "template_body" => {
                let none = b.unknown();
                b.within_target(none, of.into_iter().collect(), |b| b.each(part));
            }
            _ if of.is_none() => of = Some(type_name(b, part, UseKind::Call)),
            _ => {
                b.value(part);
            }
        }
    }
    of.map_or(0, |of| b.add(Expr::Instance(of)))
}

/// `a name b` is a call of a method of `a`.
fn infix<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let of = b.value_of(field(node, "left"));
    let mut result = b.unknown();
    if let Some(operator) = field(node, "operator").filter(|operator| operator.kind() == "identifier") {
        let expr = b.member(of, b.text(operator));
        b.used(UseKind::Call, expr, operator);
        result = b.add(Expr::Call(expr));
    }
    b.value_of(field(node, "right"));
    result
}

fn lambda<'t>(b: &mut Builder<'t>, node: Node<'t>, element: Option<ExprId>) {
    b.within(ScopeKind::Function, None, |b| {
        let listed = field(node, "parameters");
        let names =
            listed.map(|listed| if listed.kind() == "identifier" { vec![listed] } else { children(listed) });
        for (at, one) in names.unwrap_or_default().into_iter().enumerate() {
            let name = field(one, "name").unwrap_or(one);
            let declared = field(one, "type").map(|of| type_name(b, of, UseKind::Type));
            let value = element.filter(|_| at == 0);
            b.define(name, SymbolKind::Parameter, New { declared, value, ..New::default() });
        }
        b.each_child(node, |b, part| {
            if Some(part) != listed {
                walk(b, part);
            }
        });
    });
}

/// `x <- xs` and `y = x` of a `for`.
fn enumerators<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    b.each_child(node, |b, one| {
        let parts = children(one);
        let Some((bound, rest)) = parts.split_first() else { return };
        let mut given = None;
        for part in rest.iter().take(1) {
            given = Some(b.value(*part));
        }
        if child_of(one, "<-").is_some() {
            given = given.map(|given| b.add(Expr::Inside(given)));
        }
        pattern(b, *bound, given);
        for part in rest.iter().skip(1) {
            b.value(*part);
        }
    });
}

/// Defines the names that a pattern binds.
fn pattern<'t>(b: &mut Builder<'t>, node: Node<'t>, value: Option<ExprId>) {
    b.descend(|b| match node.kind() {
        "identifier" => {
            let text = b.text(node);
            if text.starts_with(|first: char| first.is_lowercase() || first == '_') {
                b.define(node, SymbolKind::Local, New { value, ..New::default() });
            } else {
                name(b, node, UseKind::Read);
            }
        }
        "typed_pattern" => {
            let declared = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
            if let Some(name) = field(node, "pattern").filter(|name| name.kind() == "identifier") {
                b.define(name, SymbolKind::Local, New { declared, ..New::default() });
            }
        }
        "case_class_pattern"
        | "tuple_pattern"
        | "alternative_pattern"
        | "infix_pattern"
        | "named_tuple_pattern" => {
            for part in children(node) {
                if Some(part) == field(node, "type") {
                    type_name(b, part, UseKind::Type);
                } else {
                    pattern(b, part, None);
                }
            }
        }
        "capture_pattern" => {
            for part in children(node) {
                pattern(b, part, None);
            }
        }
        "wildcard" => {}
        "stable_identifier" | "stable_type_identifier" => {
            type_name(b, node, UseKind::Type);
        }
        _ => {
            walk(b, node);
        }
    });
}
