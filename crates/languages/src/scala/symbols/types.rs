//! Types of Scala, as they are written in declarations and expressions.

use tree_sitter::Node;

use crate::symbols::{Builder, Expr, ExprId, ScopeKind, UseKind, children, field};

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
        "type_identifier" | "identifier" => {
            let text = b.text(node).trim_matches('`');
            let expr = b.name(text);
            if !b.is_local(text) {
                b.used(kind, expr, node);
            }
            expr
        }
        "stable_type_identifier" | "stable_identifier" | "projected_type" => {
            let parts = children(node);
            let [of, name] = parts[..] else { return b.unknown() };
            let of = type_name(b, of, UseKind::Read);
            let expr = b.member(of, b.text(name));
            b.used(kind, expr, name);
            expr
        }
        "generic_type" => {
            let of = field(node, "type").map(|of| type_name(b, of, kind));
            let arguments =
                field(node, "type_arguments").map(|arguments| types(b, arguments)).unwrap_or_default();
            match of {
                Some(of) if arguments.is_empty() => of,
                Some(of) => b.add(Expr::Apply(of, arguments)),
                None => b.unknown(),
            }
        }
        "lazy_parameter_type"
        | "repeated_parameter_type"
        | "annotated_type"
        | "compound_type"
        | "singleton_type" => {
            let mut first = None;
            for part in children(node).into_iter().filter(|part| part.kind() != "annotation") {
                let of = type_name(b, part, kind);
                first = first.or(Some(of));
            }
            first.unwrap_or(0)
        }
        // The members of a type without a name: `A { def f: Int }`.
        "structural_type" => {
            b.within(ScopeKind::Block, None, |b| b.each(node));
            b.unknown()
        }
        _ => {
            for part in children(node) {
                if part.kind().contains("type") {
                    type_name(b, part, UseKind::Type);
                }
            }
            b.unknown()
        }
    }
}
