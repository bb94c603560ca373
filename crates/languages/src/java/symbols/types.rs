//! Types of Java, as they are written in declarations and expressions.

use tree_sitter::Node;

use super::declarations::annotation;
use super::name;
use crate::symbols::{Builder, Expr, ExprId, UseKind, children, field};

/// Reports the types that a node lists.
pub(super) fn types<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for of in children(node) {
        type_name(b, of, UseKind::Type);
    }
}

/// A type. Reports uses of the names in it; of its own name, as `kind`.
pub(super) fn type_name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    b.descend_for_value(|b| type_inside(b, node, kind))
}

fn type_inside<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    match node.kind() {
        "type_identifier" | "identifier" => name(b, node, kind),
        "scoped_type_identifier" | "scoped_identifier" => {
            let parts: Vec<Node<'t>> =
                children(node).into_iter().filter(|part| !part.kind().ends_with("annotation")).collect();
            let [of, name] = parts[..] else { return b.unknown() };
            let of = type_name(b, of, UseKind::Type);
            let expr = b.member(of, b.text(name));
            b.used(kind, expr, name);
            expr
        }
        "generic_type" => {
            let parts = children(node);
            let Some(first) = parts.first() else { return b.unknown() };
            let of = type_name(b, *first, kind);
            let arguments: Vec<ExprId> = parts
                .iter()
                .filter(|part| part.kind() == "type_arguments")
                .flat_map(|arguments| children(*arguments))
                .map(|argument| type_name(b, argument, UseKind::Type))
                .collect();
            if arguments.is_empty() { of } else { b.add(Expr::Apply(of, arguments)) }
        }
        "array_type" => {
            let element = field(node, "element").map(|of| type_name(b, of, UseKind::Type));
            let array = b.unknown();
            b.add(Expr::Apply(array, element.into_iter().collect()))
        }
        "annotated_type" | "wildcard" => {
            let mut found = b.unknown();
            for part in children(node) {
                match part.kind() {
                    "annotation" | "marker_annotation" => annotation(b, part),
                    "super" => {}
                    _ => found = type_name(b, part, kind),
                }
            }
            found
        }
        _ => b.unknown(),
    }
}
