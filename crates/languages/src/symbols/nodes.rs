//! Helpers that several extractors share: the children of a syntax node, extensions of types, and the current meaning of a name.

use tree_sitter::Node;

use super::builder::Builder;
use super::table::{Expr, ExprId, Scope, ScopeId, ScopeKind, SymbolId};

/// The named children of a node, without comments.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
}

/// The children of a node, named or not, without comments.
pub(crate) fn all_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| !child.is_extra() || child.is_error()).collect()
}

/// The first child of a kind.
pub(crate) fn child_of<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.kind() == kind)
}

/// The child in a field.
pub(crate) fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

impl Builder<'_> {
    /// Runs `work` inside a scope that makes a symbol of the innermost open scope also a member of a type, as extensions are.
    pub(crate) fn within_extension(
        &mut self,
        target: ExprId,
        symbol: SymbolId,
        work: impl FnOnce(&mut Self),
    ) {
        let (parent, target) = (self.scope(), Some(target));
        let inside = self.symbols.get(symbol as usize).and_then(|symbol| symbol.inside);
        let scope = Scope { parent, kind: ScopeKind::Type, symbol: Some(symbol), target, bases: Vec::new() };
        let before = self.scopes.len() as ScopeId;
        self.within_scope(scope, work);
        if let Some(symbol) = self.symbols.get_mut(symbol as usize) {
            // Its inside is that of the function, which is within this scope if it is not before.
            symbol.inside = inside.or((self.scopes.len() as ScopeId > before + 1).then_some(before + 1));
        }
    }

    /// Checks whether a name is that of a parameter, local name or type parameter, among the definitions so far.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        let Some(name) = self.known(name) else { return false };
        let bound = self.open.iter().rev().find_map(|scope| self.bound.get(&(*scope, name)));
        bound.is_some_and(|(_, local)| *local)
    }

    /// The innermost enclosing type, if it has a name.
    pub(crate) fn enclosing_type(&self) -> Option<SymbolId> {
        self.scopes[self.enclosing(ScopeKind::Type)? as usize].symbol
    }

    /// The name of a symbol, as an expression.
    pub(crate) fn own_name(&mut self, symbol: SymbolId) -> Option<ExprId> {
        let name = self.symbol(symbol)?.name;
        Some(self.add(Expr::Name(name)))
    }

    /// A type itself, without its arguments.
    pub(crate) fn without_arguments(&self, of: ExprId) -> ExprId {
        match self.expr(of) {
            Expr::Apply(of, _) => *of,
            _ => of,
        }
    }
}
