//! Symbols of Go: a walk over the syntax tree that reports definitions, imports and uses to the builder.
//!
//! Pointers are transparent: `*T`, `&x` and `x` have the same members. A type of several elements, such as `[]T`, is a generic type whose
//! last argument is the element; several results are a tuple, and each of them a numbered member.

mod definitions;
mod expressions;
mod statements;

use tree_sitter::Node;

use crate::symbols::{Builder, ExprId, LocalWalk, Locals, New, SymbolKind, UseKind};

/// Reports the symbols of a file.
pub(super) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    Walk::default().children(builder, root);
}

/// The state of the walk.
#[derive(Default)]
struct Walk<'t> {
    locals: Locals<'t>,
}

impl<'t> LocalWalk<'t> for Walk<'t> {
    fn locals(&mut self) -> &mut Locals<'t> {
        &mut self.locals
    }

    fn look(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        match node.kind() {
            _ if self.statement(b, node) || self.definition(b, node) => b.unknown(),
            _ => match self.type_of(b, node, kind) {
                Some(found) => found,
                None => self.expression(b, node, kind),
            },
        }
    }
}

impl<'t> Walk<'t> {
    /// Defines a local name, except `_`.
    fn define_local(&mut self, b: &mut Builder<'t>, name: Node<'t>, kind: SymbolKind, new: New) {
        let text = b.text(name);
        if text != "_" {
            if kind == SymbolKind::Local {
                self.split(b, name);
            }
            self.locals.add(text);
            b.define(name, kind, new);
        }
    }
}

/// Checks whether other packages can use a name.
fn is_exported(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}

/// The named children of a node's field.
fn fields<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).filter(Node::is_named).collect()
}

/// The named children of a node, without comments.
fn parts<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}
