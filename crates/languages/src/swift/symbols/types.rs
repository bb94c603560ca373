//! Types of Swift, as they are written in declarations and expressions.

use tree_sitter::Node;

use crate::symbols::{Builder, Expr, ExprId, UseKind, children, field};

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
        "type_identifier" | "simple_identifier" => {
            let text = b.text(node).trim_matches('`');
            if text == "Self" {
                return b.add(Expr::ThisType);
            }
            let expr = b.name(text);
            if !b.is_local(text) {
                b.used(kind, expr, node);
            }
            expr
        }
        "user_type" => named(b, node, kind),
        "optional_type" | "opaque_type" | "existential_type" | "type_annotation" | "metatype" => {
            let wrapped = field(node, "wrapped").or_else(|| field(node, "name"));
            let wrapped = wrapped.or_else(|| children(node).last().copied());
            wrapped.map_or(0, |of| type_name(b, of, kind))
        }
        "array_type" | "dictionary_type" => {
            let mut cursor = node.walk();
            let parts: Vec<Node<'t>> = children(node);
            let named: Vec<Node<'t>> = node.children_by_field_name("name", &mut cursor).collect();
            let parts = if named.is_empty() { parts } else { named };
            let arguments: Vec<ExprId> =
                parts.into_iter().map(|of| type_name(b, of, UseKind::Type)).collect();
            let none = b.unknown();
            b.add(Expr::Apply(none, arguments))
        }
        "simple_user_type" => named(b, node, kind),
        _ => {
            for part in children(node) {
                type_name(b, part, UseKind::Type);
            }
            b.unknown()
        }
    }
}

/// `A.B<T>`. Only the last name is used as `kind`.
fn named<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let parts = children(node);
    let count = parts.iter().filter(|part| part.kind() == "type_identifier").count();
    let (mut found, mut at): (Option<ExprId>, usize) = (None, 0);
    for part in parts {
        match (part.kind(), found) {
            ("type_identifier", None) => {
                at += 1;
                found = Some(type_name(b, part, if at == count { kind } else { UseKind::Type }));
            }
            ("type_identifier", Some(of)) => {
                at += 1;
                let expr = b.member(of, b.text(part));
                b.used(if at == count { kind } else { UseKind::Type }, expr, part);
                found = Some(expr);
            }
            ("type_arguments", Some(of)) => {
                let arguments = types(b, part);
                found = Some(b.add(Expr::Apply(of, arguments)));
            }
            _ => {}
        }
    }
    found.unwrap_or_else(|| b.unknown())
}
