//! Types of Kotlin, as they are written in declarations and expressions.

use tree_sitter::Node;

use super::declarations::declaration;
use crate::symbols::{Builder, Expr, ExprId, UseKind, children};

/// Reports the types that a node lists.
pub(super) fn types<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Vec<ExprId> {
    children(node).into_iter().map(|of| type_name(b, of, UseKind::Type)).collect()
}

/// A type. Reports uses of the names in it; of its own name, as `kind`.
pub(super) fn type_name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    b.descend_for_value(|b| type_inside(b, node, kind))
}

fn type_inside<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    match node.kind() {
        "user_type" => named(b, &children(node), kind),
        "nullable_type" | "non_nullable_type" | "parenthesized_type" | "type_projection" => {
            let mut found = b.unknown();
            for part in children(node) {
                match part.kind() {
                    "type_modifiers" => modifiers(b, part),
                    "variance_modifier" => {}
                    _ => found = type_name(b, part, kind),
                }
            }
            found
        }
        // The result of calling it is unknown; the types in it are used.
        "function_type" | "function_type_parameters" | "parameter" => {
            for part in children(node).into_iter().filter(|part| part.kind() != "identifier") {
                type_name(b, part, UseKind::Type);
            }
            b.unknown()
        }
        _ => b.unknown(),
    }
}

fn modifiers<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for annotation in children(node) {
        declaration(b, annotation);
    }
}

/// `a.b.C<T>`, by the parts of the node. Only the last name is used as `kind`.
pub(super) fn named<'t>(b: &mut Builder<'t>, parts: &[Node<'t>], kind: UseKind) -> ExprId {
    let count = parts.iter().filter(|part| part.kind() == "identifier").count();
    let mut found = None;
    let mut at = 0;
    for part in parts.iter().copied() {
        match part.kind() {
            "identifier" => {
                at += 1;
                let text = b.text(part).trim_matches('`');
                let expr = match found {
                    None => b.name(text),
                    Some(of) => b.member(of, text),
                };
                if found.is_some() || !b.is_local(text) {
                    b.used(if at == count { kind } else { UseKind::Type }, expr, part);
                }
                found = Some(expr);
            }
            "type_arguments" => {
                let arguments: Vec<ExprId> =
                    children(part).into_iter().map(|of| type_name(b, of, UseKind::Type)).collect();
                found = found.map(|of| b.add(Expr::Apply(of, arguments)));
            }
            "type_modifiers" => modifiers(b, part),
            _ => {}
        }
    }
    found.unwrap_or_else(|| b.unknown())
}
