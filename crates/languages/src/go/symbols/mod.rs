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

/// Most scopes that names begin in one scope.
const SPLITS_MAX: usize = 40;

/// What the walk knows about where it is.
#[derive(Default)]
struct Walk<'t> {
    locals: Locals<'t>,
    /// Scopes that were begun in the innermost one by names that hide others.
    splits: usize,
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
        let splits = std::mem::take(&mut self.splits);
        self.locals.enter();
        b.within(kind, symbol, |b| {
            work(self, b);
            for _ in 0..self.splits {
                b.close();
                self.locals.leave();
            }
        });
        self.locals.leave();
        self.splits = splits;
    }

    /// Begins a scope that lasts until the end of the one around it, if the value of a local name mentions the name itself, which
    /// there means what it meant before.
    fn split(&mut self, b: &mut Builder<'t>, name: Node<'t>) {
        let mentioned = self.locals.is_mentioned_behind(b.text(name), name.start_byte());
        if mentioned && self.splits < SPLITS_MAX && b.open(ScopeKind::Block, None) {
            self.locals.enter();
            self.splits += 1;
        }
    }

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
