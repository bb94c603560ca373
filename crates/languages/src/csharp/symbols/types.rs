//! Types and names of C#, as they are written in declarations and expressions.

use tree_sitter::Node;

use crate::symbols::{Builder, Expr, ExprId, UseKind, child_of, children, field};

/// Reports the types that a node lists.
pub(super) fn types<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Vec<ExprId> {
    children(node).into_iter().map(|of| type_name(b, of, UseKind::Type)).collect()
}

/// A name in an expression: `a`, `A<T>`, `alias::A`. Without its type arguments, where it is called.
pub(super) fn simple_name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    match node.kind() {
        "identifier" => {
            let text = b.text(node).trim_start_matches('@');
            let expr = b.name(text);
            if kind == UseKind::Call || !b.is_local(text) {
                b.used(kind, expr, node);
            }
            expr
        }
        "generic_name" if kind == UseKind::Call => {
            let of = child_of(node, "identifier").map(|name| simple_name(b, name, kind));
            if let Some(arguments) = child_of(node, "type_argument_list") {
                types(b, arguments);
            }
            of.unwrap_or(0)
        }
        _ => type_name(b, node, kind),
    }
}

/// A type. Reports uses of the names in it; of its own name, as `kind`.
pub(super) fn type_name<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    b.descend_for_value(|b| type_inside(b, node, kind))
}

fn type_inside<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    match node.kind() {
        "identifier" => {
            let text = b.text(node).trim_start_matches('@');
            let expr = b.name(text);
            if !b.is_local(text) {
                b.used(kind, expr, node);
            }
            expr
        }
        "qualified_name" => {
            let of = field(node, "qualifier").map(|of| type_name(b, of, UseKind::Type));
            let (Some(of), Some(name)) = (of, field(node, "name")) else { return b.unknown() };
            let plain = child_of(name, "identifier").unwrap_or(name);
            let expr = b.member(of, b.text(plain));
            b.used(kind, expr, plain);
            applied(b, expr, name)
        }
        // A type of the language, which is not used but extended.
        "predefined_type" if b.text(node) != "void" => b.name(b.text(node)),
        // `global::A`, where `global` is the namespace around all
        "alias_qualified_name" => match field(node, "name") {
            Some(name) => type_name(b, name, kind),
            None => b.unknown(),
        },
        "generic_name" => {
            let Some(name) = child_of(node, "identifier") else { return b.unknown() };
            let of = type_name(b, name, kind);
            applied(b, of, node)
        }
        "array_type" => {
            let element = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
            if let Some(rank) = field(node, "rank") {
                for size in children(rank) {
                    b.value(size);
                }
            }
            let array = b.unknown();
            b.add(Expr::Apply(array, element.into_iter().collect()))
        }
        "nullable_type" | "ref_type" | "scoped_type" | "pointer_type" => match field(node, "type") {
            Some(of) => type_name(b, of, kind),
            None => b.unknown(),
        },
        "tuple_type" => {
            for element in children(node) {
                if let Some(of) = field(element, "type") {
                    type_name(b, of, UseKind::Type);
                }
            }
            b.unknown()
        }
        _ => b.unknown(),
    }
}

/// A type with the arguments next to its name.
fn applied<'t>(b: &mut Builder<'t>, of: ExprId, name: Node<'t>) -> ExprId {
    let Some(arguments) = child_of(name, "type_argument_list") else { return of };
    let arguments = types(b, arguments);
    if arguments.is_empty() { of } else { b.add(Expr::Apply(of, arguments)) }
}
