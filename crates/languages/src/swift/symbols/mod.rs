//! Symbols of Swift: the definitions, imports and uses of a file.

mod declarations;
mod types;

use declarations::{declaration, parameters};
use tree_sitter::Node;
use types::{type_name, types};

use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolKind, UseKind, child_of, children, field};

/// Members of the standard library whose result holds the same elements as their owner.
const SAME_ELEMENTS: &[&str] = &[
    "dropFirst", "dropLast", "filter", "lazy", "prefix", "reversed", "shuffled", "sorted", "suffix", "values",
];
/// Methods of the standard library that pass an element to a closure.
const EACH_ELEMENT: &[&str] = &[
    "allSatisfy", "compactMap", "contains", "filter", "first", "firstIndex", "flatMap", "forEach", "map",
    "removeAll", "sorted",
];

/// Reports the symbols of a file.
pub(super) fn extract<'t>(b: &mut Builder<'t>, root: Node<'t>) {
    b.visit_with(walk);
    b.each(root);
}

/// Walks a declaration, statement or expression. Returns the value of an expression.
fn walk<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match node.kind() {
        "simple_identifier" => name(b, node, UseKind::Read),
        "self_expression" => b.add(Expr::This),
        "super_expression" => b.add(Expr::Super),
        "navigation_expression" => navigation(b, node, UseKind::Read),
        "call_expression" => call(b, node),
        "constructor_expression" => {
            let of = field(node, "constructed_type").map(|of| type_name(b, of, UseKind::Call));
            if let Some(given) = child_of(node, "constructor_suffix") {
                b.each(given);
            }
            of.map_or(0, |of| b.add(Expr::Instance(of)))
        }
        "try_expression" | "await_expression" => b.value_of(field(node, "expr")),
        "postfix_expression" => b.value_of(field(node, "target")),
        // `.name` is a member of a type that only the context determines.
        "prefix_expression" if b.text(node).starts_with('.') => {
            for part in children(node).into_iter().filter(|part| part.kind() != "simple_identifier") {
                b.value(part);
            }
            b.unknown()
        }
        "prefix_expression" => b.value_of(field(node, "target")),
        "tuple_expression" if children(node).len() == 1 => b.last_value(node),
        "as_expression" => {
            b.value_of(field(node, "expr"));
            match field(node, "name") {
                Some(of) => {
                    let of = type_name(b, of, UseKind::Type);
                    b.add(Expr::Instance(of))
                }
                None => b.unknown(),
            }
        }
        "nil_coalescing_expression" => {
            let either = ["value", "if_nil"].map(|name| b.value_of(field(node, name)));
            b.add(Expr::Either(either.to_vec()))
        }
        "ternary_expression" => {
            b.value_of(field(node, "condition"));
            let either = ["if_true", "if_false"].map(|name| b.value_of(field(node, name)));
            b.add(Expr::Either(either.to_vec()))
        }
        "line_string_literal" | "multi_line_string_literal" => {
            b.each(node);
            let of = b.name("String");
            b.add(Expr::Instance(of))
        }
        "lambda_literal" => {
            lambda(b, node, None);
            b.unknown()
        }
        _ => {
            statement(b, node);
            b.unknown()
        }
    }
}

fn statement<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "assignment" => {
            let target = field(node, "target").and_then(|target| children(target).first().copied());
            match target {
                Some(target) if target.kind() == "simple_identifier" => {
                    name(b, target, UseKind::Write);
                }
                Some(target) if target.kind() == "navigation_expression" => b.descend(|b| {
                    navigation(b, target, UseKind::Write);
                }),
                target => {
                    b.value_of(target);
                }
            }
            b.value_of(field(node, "result"));
        }
        "if_statement" | "while_statement" | "switch_entry" | "catch_block" | "do_statement" => {
            b.within(ScopeKind::Block, None, |b| conditions(b, node));
        }
        // The names that it binds are visible after it.
        "guard_statement" => conditions(b, node),
        "for_statement" => b.within(ScopeKind::Block, None, |b| for_each(b, node)),
        "check_expression" => {
            b.value_of(field(node, "target"));
            if let Some(of) = field(node, "name") {
                type_name(b, of, UseKind::Type);
            }
        }
        "value_argument" => {
            b.value_of(field(node, "value"));
        }
        "type_arguments" => {
            types(b, node);
        }
        "pattern" | "switch_pattern" => pattern(b, node, None),
        "user_type" | "optional_type" | "array_type" | "dictionary_type" | "function_type" => {
            type_name(b, node, UseKind::Type);
        }
        _ => declaration(b, node),
    }
}

/// A statement whose conditions may bind names: `if let a = b, case .c(let d) = e`.
fn conditions<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut bound: Option<Node<'t>> = None;
    b.each_child(node, |b, part| match part.kind() {
        "value_binding_pattern" => {}
        "simple_identifier" if child_is_bound(node, part) => bound = Some(part),
        "type_annotation" => {
            let declared = field(part, "name").map(|of| type_name(b, of, UseKind::Type));
            if let Some(name) = bound {
                b.define(name, SymbolKind::Local, New { declared, ..New::default() });
            }
        }
        "statements" | "else" => {
            // `if let a {` takes the value of the same name.
            if let Some(name) = bound.take() {
                local(b, name, None);
            }
            b.each(part);
        }
        "pattern" => pattern(b, part, None),
        _ => {
            let found = walk(b, part);
            if let Some(name) = bound.take() {
                local(b, name, Some(found));
            }
        }
    });
    if let Some(name) = bound {
        local(b, name, None);
    }
}

fn child_is_bound(node: Node<'_>, part: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children_by_field_name("bound_identifier", &mut cursor).any(|bound| bound == part)
}

fn local<'t>(b: &mut Builder<'t>, name: Node<'t>, value: Option<ExprId>) {
    b.define(name, SymbolKind::Local, New { value, ..New::default() });
}

fn for_each<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (item, over) = (field(node, "item"), field(node, "collection"));
    let all = b.value_of(over);
    let inside = b.add(Expr::Inside(all));
    if let Some(item) = item {
        pattern(b, item, Some(inside));
    }
    b.each_child(node, |b, part| {
        if Some(part) != item && Some(part) != over {
            walk(b, part);
        }
    });
}

/// Defines the names that a pattern binds.
fn pattern<'t>(b: &mut Builder<'t>, node: Node<'t>, value: Option<ExprId>) {
    b.descend(|b| {
        let declared = field(node, "name").map(|of| type_name(b, of, UseKind::Type));
        let bound = field(node, "bound_identifier");
        for part in children(node) {
            match part.kind() {
                "simple_identifier" if Some(part) == bound => {
                    b.define(part, SymbolKind::Local, New { declared, value, ..New::default() });
                }
                // The name of an enum's case.
                "simple_identifier" | "value_binding_pattern" => {}
                "pattern" => match (declared, field(part, "bound_identifier")) {
                    (Some(_), Some(name)) => {
                        b.define(name, SymbolKind::Local, New { declared, ..New::default() });
                    }
                    _ => pattern(b, part, None),
                },
                _ if Some(part) == field(node, "name") => {}
                _ => {
                    walk(b, part);
                }
            }
        }
    });
}

/// Reports the use of a name on its own, except for reads of local names.
fn name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let text = b.text(node).trim_matches('`');
    if text == "Self" {
        return b.add(Expr::ThisType);
    }
    let expr = b.name(text);
    if (kind == UseKind::Call || !b.is_local(text)) && !text.starts_with('$') && text != "_" {
        b.used(kind, expr, node);
    }
    expr
}

/// `a.b`, `a?.b`
fn navigation<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let of = match field(node, "target") {
        Some(of) if of.kind().ends_with("_type") => type_name(b, of, UseKind::Type),
        of => b.value_of(of),
    };
    let name = field(node, "suffix").and_then(|suffix| field(suffix, "suffix"));
    let Some(name) = name.filter(|name| name.kind() == "simple_identifier") else { return b.unknown() };
    let text = b.text(name).trim_matches('`');
    if text == "self" {
        return of;
    }
    if text == "init" {
        return constructor(b, of, name, kind);
    }
    let expr = b.member(of, text);
    b.used(kind, expr, name);
    if SAME_ELEMENTS.contains(&text) && kind == UseKind::Read {
        return b.add(Expr::Either(vec![expr, of]));
    }
    expr
}

/// `T.init`, `self.init`, `super.init`
fn constructor(b: &mut Builder<'_>, of: ExprId, at: Node<'_>, kind: UseKind) -> ExprId {
    let own = b.enclosing_type();
    let called = match b.expr(of) {
        Expr::This => own.and_then(|own| b.own_name(own)),
        Expr::Super => own.and_then(|own| b.symbol_mut(own)?.bases.first().copied()),
        _ => None,
    };
    if let Some(called) = called {
        let called = match b.expr(called) {
            Expr::Apply(of, _) => *of,
            _ => called,
        };
        b.used(kind, called, at);
        return called;
    }
    of
}

fn call<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let parts = children(node);
    let Some(callee) = parts.first().copied() else { return b.unknown() };
    let suffix = parts.get(1).copied();
    let given = suffix.and_then(|suffix| child_of(suffix, "value_arguments"));
    // `a[b]` is written like a call.
    if given.is_some_and(|given| child_of(given, "[").is_some()) {
        let of = b.value(callee);
        given.into_iter().for_each(|given| b.each(given));
        return b.add(Expr::Inside(of));
    }
    let mut expr = b.unknown();
    b.descend(|b| {
        expr = match callee.kind() {
            "simple_identifier" => name(b, callee, UseKind::Call),
            "navigation_expression" => navigation(b, callee, UseKind::Call),
            _ => walk(b, callee),
        };
    });
    let of = match b.expr(expr) {
        Expr::Member(of, name) => Some((*of, b.text_of(*name).to_owned())),
        _ => None,
    };
    let element = of.as_ref().filter(|(_, name)| EACH_ELEMENT.contains(&name.as_str()));
    let element = element.map(|(of, _)| *of).map(|of| b.add(Expr::Inside(of)));
    if let Some(suffix) = suffix {
        b.each_child(suffix, |b, part| match part.kind() {
            "lambda_literal" => lambda(b, part, element),
            _ => {
                walk(b, part);
            }
        });
    }
    let result = b.add(Expr::Call(expr));
    match of {
        Some((of, name)) if SAME_ELEMENTS.contains(&name.as_str()) => b.add(Expr::Either(vec![result, of])),
        _ => result,
    }
}

/// `{ a, b in … }`, or with `$0` for what it gets.
fn lambda<'t>(b: &mut Builder<'t>, node: Node<'t>, element: Option<ExprId>) {
    b.within(ScopeKind::Function, None, |b| {
        let listed = field(node, "type");
        match listed.and_then(|listed| child_of(listed, "lambda_function_type_parameters")) {
            Some(listed) => {
                for (at, one) in children(listed).into_iter().enumerate() {
                    let mut cursor = one.walk();
                    let names: Vec<Node<'t>> = one.children_by_field_name("name", &mut cursor).collect();
                    let of =
                        names.get(1).or_else(|| names.iter().find(|name| name.kind().ends_with("_type")));
                    let declared = of.map(|of| type_name(b, *of, UseKind::Type));
                    let value = element.filter(|_| at == 0);
                    if let Some(name) = names.first().filter(|name| name.kind() == "simple_identifier") {
                        b.define(*name, SymbolKind::Parameter, New { declared, value, ..New::default() });
                    }
                }
            }
            None => {
                let new = New { value: element, ..New::default() };
                b.define_in(b.scope(), "$0", node.start_byte(), SymbolKind::Parameter, new);
            }
        }
        b.each_child(node, |b, part| {
            if Some(part) == listed {
                if let Some(of) = field(part, "return_type") {
                    type_name(b, of, UseKind::Type);
                }
            } else if part.kind() == "parameter" {
                parameters(b, part);
            } else {
                walk(b, part);
            }
        });
    });
}
