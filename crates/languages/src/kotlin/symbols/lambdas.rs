//! Calls of Kotlin and the lambdas that are passed to them, whose parameters often have no type.

use tree_sitter::Node;

use super::navigation;
use super::properties::variables;
use super::types::types;
use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolKind, UseKind, child_of, children};

/// Functions of the standard library that pass their receiver to the lambda.
const PASS_IT: &[&str] = &["let", "also", "takeIf", "takeUnless", "use"];
/// Functions of the standard library whose lambda has their receiver as `this`.
const PASS_THIS: &[&str] = &["apply", "run"];
/// Functions of the standard library that pass an element to the lambda.
const PASS_ELEMENT: &[&str] = &[
    "all", "any", "associate", "associateBy", "associateWith", "count", "filter", "filterNot", "find",
    "first", "firstOrNull", "flatMap", "forEach", "groupBy", "last", "lastOrNull", "map", "mapNotNull",
    "maxByOrNull", "minByOrNull", "none", "onEach", "partition", "single", "singleOrNull", "sortedBy",
    "sumOf",
];
/// Functions of the standard library whose result is, or has the same elements as, their receiver.
const SAME: &[&str] = &[
    "also", "apply", "asReversed", "asSequence", "distinct", "drop", "filter", "filterNot", "filterNotNull",
    "onEach", "orEmpty", "reversed", "sorted", "sortedBy", "take", "takeIf", "takeUnless", "toList",
    "toMutableList", "toSet",
];
/// Functions of the standard library whose result is that of the lambda.
const RESULT: &[&str] = &["let", "run", "use", "lazy", "with", "synchronized", "withLock", "runBlocking"];

/// `a.b(c) { … }`
pub(super) fn call<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let mut parts = children(node);
    // The grammar puts a lambda that follows the arguments next to a call without it.
    if let [inner, lambda] = parts[..]
        && (inner.kind(), lambda.kind()) == ("call_expression", "annotated_lambda")
        && child_of(inner, "value_arguments").is_some()
        && child_of(inner, "annotated_lambda").is_none()
    {
        parts = children(inner);
        parts.push(lambda);
    }
    let Some(callee) = parts.first().copied() else { return b.unknown() };
    let expr = match callee.kind() {
        "identifier" => super::name_called(b, callee),
        "navigation_expression" => {
            let mut found = b.unknown();
            b.descend(|b| found = navigation(b, callee, UseKind::Call));
            found
        }
        _ => b.value(callee),
    };
    let (of, name) = match b.expr(expr) {
        Expr::Member(of, name) => (Some(*of), b.text_of(*name).to_owned()),
        Expr::Name(name) => (None, b.text_of(*name).to_owned()),
        _ => (None, String::new()),
    };
    let mut passed = Passed::default();
    match of {
        Some(of) if PASS_IT.contains(&name.as_str()) => passed.it = Some(of),
        Some(of) if PASS_ELEMENT.contains(&name.as_str()) => passed.it = Some(b.add(Expr::Inside(of))),
        Some(of) if PASS_THIS.contains(&name.as_str()) => passed.this = Some(of),
        _ => {}
    }
    let (mut result, mut arguments_of_type) = (None, None);
    for part in parts.into_iter().skip(1) {
        match part.kind() {
            "type_arguments" => arguments_of_type = Some(types(b, part)),
            "value_arguments" => {
                let first = arguments(b, part);
                if of.is_none() && name == "with" {
                    passed.this = first;
                }
            }
            "annotated_lambda" => {
                if let Some(literal) = child_of(part, "lambda_literal") {
                    b.descend(|b| result = Some(lambda(b, literal, Some(passed))));
                }
            }
            _ => {
                b.value(part);
            }
        }
    }
    let mut called = b.add(Expr::Call(expr));
    if let Some(arguments) = arguments_of_type {
        // A function of the standard library that makes a collection of these.
        let none = b.unknown();
        let of = b.add(Expr::Apply(none, arguments));
        let of = b.add(Expr::Instance(of));
        called = b.add(Expr::Either(vec![called, of]));
    }
    match (of, result) {
        (Some(of), _) if SAME.contains(&name.as_str()) => b.add(Expr::Either(vec![called, of])),
        (_, Some(result)) if RESULT.contains(&name.as_str()) => result,
        _ => called,
    }
}

/// The arguments of a call; returns the value of the first one.
fn arguments<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
    let mut first = None;
    b.each_child(node, |b, argument| {
        // The first of two parts is the name of the parameter.
        let found = children(argument).last().map(|given| b.value(*given));
        if first.is_none() {
            first = found;
        }
    });
    first
}

/// The values that a lambda receives, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    it: Option<ExprId>,
    this: Option<ExprId>,
}

/// `{ a, b -> … }`. Returns the value of its last expression.
pub(super) fn lambda<'t>(b: &mut Builder<'t>, node: Node<'t>, passed: Option<Passed>) -> ExprId {
    let mut result = b.unknown();
    let Passed { it, this } = passed.unwrap_or_default();
    let parameters = child_of(node, "lambda_parameters");
    let mut inside = |b: &mut Builder<'t>| {
        b.within(ScopeKind::Function, None, |b| {
            match parameters {
                Some(parameters) => {
                    for (at, parameter) in children(parameters).into_iter().enumerate() {
                        let value = it.filter(|_| at == 0);
                        variables(b, parameter, SymbolKind::Parameter, value);
                    }
                }
                None => {
                    let new = New { value: it, ..New::default() };
                    b.define_in(b.scope(), "it", node.start_byte(), SymbolKind::Parameter, new);
                }
            }
            b.each_child(node, |b, child| {
                if child.kind() != "lambda_parameters" {
                    result = super::walk(b, child);
                }
            });
        });
    };
    match this {
        Some(this) => b.within_target(this, Vec::new(), inside),
        None => inside(b),
    }
    result
}
