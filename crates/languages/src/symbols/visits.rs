//! Visits nodes with the function of an extractor that has no state of its own.

use tree_sitter::Node;

use super::builder::{Builder, Visit};
use super::table::ExprId;

impl<'t> Builder<'t> {
    /// Sets the function that visits nodes.
    pub(crate) fn visit_with(&mut self, visit: Visit) {
        self.visit = visit;
    }

    /// Visits the children of a node.
    pub(crate) fn each(&mut self, node: Node<'t>) {
        self.last_value(node);
    }

    /// Visits the children of a node, and returns the value of the last one.
    pub(crate) fn last_value(&mut self, node: Node<'t>) -> ExprId {
        let (visit, mut last) = (self.visit, self.unknown());
        self.each_child(node, |b, child| last = visit(b, child));
        last
    }

    /// Visits a node one level deeper, and returns its value.
    pub(crate) fn value(&mut self, node: Node<'t>) -> ExprId {
        let visit = self.visit;
        self.descend_for_value(|b| visit(b, node))
    }

    /// The [`value`](Self::value) of a node, if there is one.
    pub(crate) fn value_of(&mut self, node: Option<Node<'t>>) -> ExprId {
        match node {
            Some(node) => self.value(node),
            None => self.unknown(),
        }
    }
}
