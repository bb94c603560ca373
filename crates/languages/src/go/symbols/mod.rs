//! Symbols of Go: a walk over the syntax tree that tells the builder of definitions, imports and uses.
//!
//! Pointers are transparent: `*T`, `&x` and `x` are the same to whoever looks for a member. A type of several elements, such as
//! `[]T`, is a generic type whose last argument is the element; several results are a tuple, and each of them a numbered member.

mod definitions;
mod expressions;
mod statements;

use tree_sitter::Node;

use crate::symbols::{Builder, ExprId, Locals, New, ScopeKind, SymbolId, SymbolKind, UseKind};

/// Reports the symbols of a file.
pub(super) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    Walk::default().children(builder, root);
}

/// What the walk knows about where it is.
#[derive(Default)]
struct Walk<'t> {
    locals: Locals<'t>,
}

impl<'t> Walk<'t> {
    /// Visits a node. The result is its value or, of a type, the type.
    fn visit(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        self.visit_as(b, node, UseKind::Read)
    }

    /// Visits a node whose last name is used in a given way.
    fn visit_as(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        let mut value = 0;
        b.descend(|b| {
            value = match node.kind() {
                _ if self.statement(b, node) || self.definition(b, node) => b.unknown(),
                _ => match self.type_of(b, node, kind) {
                    Some(found) => found,
                    None => self.expression(b, node, kind),
                },
            }
        });
        value
    }

    fn children(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(b, child);
        }
    }

    /// Visits the child of a field, if there is one.
    fn field(&mut self, b: &mut Builder<'t>, node: Node<'t>, field: &str) -> Option<ExprId> {
        let child = node.child_by_field_name(field)?;
        Some(self.visit(b, child))
    }

    /// Runs `work` in a scope with its own local names.
    fn within(
        &mut self,
        b: &mut Builder<'t>,
        kind: ScopeKind,
        symbol: Option<SymbolId>,
        work: impl FnOnce(&mut Self, &mut Builder<'t>),
    ) {
        self.locals.enter();
        b.within(kind, symbol, |b| work(self, b));
        self.locals.leave();
    }

    /// Defines a local name, except `_`.
    fn define_local(&mut self, b: &mut Builder<'t>, name: Node<'t>, kind: SymbolKind, new: New) {
        let text = b.text(name);
        if text != "_" {
            self.locals.add(text);
            b.define(name, kind, new);
        }
    }
}

/// Whether other packages can use a name.
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
