//! Patterns of C#: the names that they bind, and the values that they compare with.

use tree_sitter::Node;

use super::local;
use super::types::type_name;
use crate::symbols::{Builder, Expr, ExprId, ScopeKind, UseKind, child_of, children, field};

/// `x is T t`
pub(super) fn is_pattern<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let subject = b.value_of(field(node, "expression").or_else(|| field(node, "left")));
    if let Some(right) = field(node, "right") {
        type_name(b, right, UseKind::Type);
    }
    if let Some(compared) = field(node, "pattern") {
        pattern(b, compared, Some(subject));
    }
    b.unknown()
}

/// A pattern that is compared with a value.
pub(super) fn pattern<'t>(b: &mut Builder<'t>, node: Node<'t>, subject: Option<ExprId>) {
    b.descend(|b| pattern_inside(b, node, subject));
}

fn pattern_inside<'t>(b: &mut Builder<'t>, node: Node<'t>, subject: Option<ExprId>) {
    match node.kind() {
        "declaration_pattern" | "recursive_pattern" | "type_pattern" | "var_pattern" | "list_pattern" => {
            let declared = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
            let given = if node.kind() == "list_pattern" { None } else { subject };
            local(b, field(node, "name"), declared, given);
            let inner = match declared {
                Some(of) => Some(b.add(Expr::Instance(of))),
                None => subject,
            };
            for part in children(node) {
                match part.kind() {
                    "property_pattern_clause" | "positional_pattern_clause" => clause(b, part, inner),
                    "parenthesized_variable_designation" => super::tuple(b, part),
                    kind if kind.ends_with("_pattern") => pattern(b, part, None),
                    _ => {}
                }
            }
        }
        "constant_pattern" => {
            for part in children(node) {
                match part.kind() {
                    // A type is written like a constant.
                    "identifier" | "generic_name" | "qualified_name" => {
                        type_name(b, part, UseKind::Type);
                    }
                    _ => {
                        b.value(part);
                    }
                }
            }
        }
        _ => {
            for part in children(node) {
                if part.kind().ends_with("_pattern") {
                    pattern(b, part, subject);
                } else {
                    b.value(part);
                }
            }
        }
    }
}

/// `{ Name: pattern, … }`: the names are members of the value that is matched.
fn clause<'t>(b: &mut Builder<'t>, node: Node<'t>, subject: Option<ExprId>) {
    for part in children(node) {
        let mut of = None;
        for inner in children(part) {
            match (inner.kind(), subject) {
                ("identifier", Some(subject)) if of.is_none() => {
                    let expr = b.member(subject, b.text(inner));
                    b.used(UseKind::Read, expr, inner);
                    of = Some(expr);
                }
                (kind, _) if kind.ends_with("_pattern") => pattern(b, inner, of),
                _ => {}
            }
        }
    }
}

/// `case pattern when condition: …`
pub(super) fn switch_section<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    b.within(ScopeKind::Block, None, |b| b.each(node));
}

/// `x switch { pattern => value, … }`
pub(super) fn switch_expression<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let mut parts = children(node).into_iter();
    let subject = b.value_of(parts.next());
    let mut results = Vec::new();
    for arm in parts {
        b.within(ScopeKind::Block, None, |b| {
            let mut result = b.unknown();
            for part in children(arm) {
                if part.kind().ends_with("_pattern") {
                    pattern(b, part, Some(subject));
                } else {
                    result = b.value(part);
                }
            }
            results.push(result);
        });
    }
    let unknown = b.unknown();
    results.retain(|result| *result != unknown);
    match child_of(node, "switch") {
        Some(_) if !results.is_empty() => b.add(Expr::Either(results)),
        _ => unknown,
    }
}
