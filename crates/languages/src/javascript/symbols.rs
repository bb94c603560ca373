//! Symbols of JavaScript, TypeScript and TSX: one walk for all three.

mod assignment;
mod class;
mod declaration;
mod expression;
mod function;
mod module;
mod object;
mod signature;
mod types;

use tree_sitter::Node;

use crate::symbols::{Builder, ExprId, ScopeId, ScopeKind};

/// Extracts the symbols of a file.
pub(crate) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    let mut walk =
        Walk { b: builder, frames: Vec::new(), exported: false, hint: None, signatures: Vec::new() };
    walk.children(root);
}

/// The walk through a file.
struct Walk<'b, 't> {
    b: &'b mut Builder<'t>,
    /// The enclosing functions, innermost last.
    frames: Vec<Frame>,
    /// `true` if the next declaration is exported.
    exported: bool,
    /// Information about the next function from its context.
    hint: Option<Hint>,
    /// The types of the parameters with which the type around can be called: one list for each signature.
    signatures: Vec<Vec<ExprId>>,
}

/// Information about the parameters of a function without types, from its context.
#[derive(Clone, Copy)]
enum Hint {
    /// The value of the first parameter.
    First(ExprId),
    /// The type that the function has to have.
    Type(ExprId),
}

/// A function that is being walked through.
#[derive(Default)]
struct Frame {
    /// The type that it declares to return.
    declared: Option<ExprId>,
    returns: Vec<ExprId>,
    yields: bool,
}

impl<'t> Walk<'_, 't> {
    /// Visits all children.
    fn children(&mut self, node: Node<'t>) {
        self.children_except(node, &[]);
    }

    /// Visits the children that are not among some nodes.
    fn children_except(&mut self, node: Node<'t>, left_out: &[Option<Node<'t>>]) {
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            let child = cursor.node();
            if child.is_named() && !left_out.iter().flatten().any(|out| out.id() == child.id()) {
                self.value(child);
            }
            if !cursor.goto_next_sibling() {
                return;
            }
        }
    }

    /// Visits the children in a block of their own.
    fn block(&mut self, node: Node<'t>) {
        if self.b.open(ScopeKind::Block, None) {
            self.children(node);
            self.b.close();
        }
    }

    /// Visits a field of a node, if it has it.
    fn field(&mut self, node: Node<'t>, field: &str) -> Option<ExprId> {
        let child = node.child_by_field_name(field)?;
        Some(self.value(child))
    }

    /// Returns the scope in which `var` binds names: the innermost one that is not a block.
    fn function_scope(&self) -> ScopeId {
        let scopes = self.b.open_scopes().rev();
        let mut outer = scopes.filter(|(_, kind)| !matches!(kind, ScopeKind::Block | ScopeKind::Type));
        outer.next().map_or(0, |(scope, _)| scope)
    }

    /// Checks whether a scope is inside of a function or block.
    fn is_inner(&self, scope: ScopeId) -> bool {
        let mut open = self.b.open_scopes();
        open.any(|(open, kind)| matches!(kind, ScopeKind::Function | ScopeKind::Block) && open <= scope)
    }

    /// The name that a property's key gives: without quotes.
    fn key(&self, node: Node<'t>) -> &'t str {
        let text = self.b.text(node);
        match node.kind() {
            "string" => text.trim_matches(['"', '\'']),
            _ => text,
        }
    }

    /// The text of a string without its quotes.
    fn string(&self, node: Node<'t>) -> &'t str {
        self.b.text(node).trim_matches(['"', '\'', '`'])
    }
}
