//! Code shared by the extractors that walk through the tree with state of their own.

use tree_sitter::Node;

use super::builder::Builder;
use super::locals::Locals;
use super::table::{ExprId, ScopeKind, SymbolId, UseKind};

/// A walk that reports what it sees.
pub(crate) trait TreeWalk<'t> {
    /// Visits a node at the level where the walk stands.
    fn visit(&mut self, b: &mut Builder<'t>, node: Node<'t>);

    /// Visits the children of a node.
    fn each(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        b.each_child(node, |b, child| self.visit(b, child));
    }

    /// Visits the child in a field, if there is one.
    fn visit_field(&mut self, b: &mut Builder<'t>, node: Node<'t>, field: &str) {
        if let Some(child) = node.child_by_field_name(field) {
            b.descend(|b| self.visit(b, child));
        }
    }
}

/// A walk that finds the values of expressions, and knows the local names in scope in the order in which they begin.
pub(crate) trait LocalWalk<'t>: Sized {
    /// The local names in scope.
    fn locals(&mut self) -> &mut Locals<'t>;

    /// Visits a node at the level where the walk stands. The last name of the node is used in a given way. The result is its
    /// value or, of a type, the type.
    fn look(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId;

    /// As [`look`](Self::look), one level deeper.
    fn visit_as(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        b.descend_for_value(|b| self.look(b, node, kind))
    }

    /// Visits a node that is read.
    fn visit(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        self.visit_as(b, node, UseKind::Read)
    }

    /// Visits the children of a node.
    fn children(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        b.each_child(node, |b, child| {
            self.look(b, child, UseKind::Read);
        });
    }

    /// Visits the child in a field, if there is one.
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
        let splits = self.locals().enter_whole();
        b.within(kind, symbol, |b| {
            work(self, b);
            while self.locals().unsplit() {
                b.close();
            }
        });
        self.locals().leave_whole(splits);
    }

    /// Begins a scope that lasts until the end of the one around it, if the value of a local name mentions the name itself, which
    /// there means what it meant before.
    fn split(&mut self, b: &mut Builder<'t>, name: Node<'t>) {
        let mentioned = self.locals().is_mentioned_behind(b.text(name), name.start_byte());
        if mentioned && self.locals().can_split() && b.open(ScopeKind::Block, None) {
            self.locals().split();
        }
    }
}
