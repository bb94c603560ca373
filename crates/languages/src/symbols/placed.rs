//! Reports to the builder by scope and place, for extractors that do not walk the tree from the outside to the inside.

use super::builder::{Builder, ROWS_MAX};
use super::table::{ExprId, Import, Imported, Place, Scope, ScopeId, ScopeKind, SymbolId, TextId};

impl Builder<'_> {
    /// A new scope inside of a given one, for extractors that do not open scopes one after the other. `target` is the type to
    /// which it adds members.
    pub(crate) fn scope_in(
        &mut self,
        parent: ScopeId,
        kind: ScopeKind,
        symbol: Option<SymbolId>,
        target: Option<ExprId>,
    ) -> ScopeId {
        if self.scopes.len() >= ROWS_MAX {
            self.truncated = true;
            return parent;
        }
        let id = self.scopes.len() as ScopeId;
        if let Some(symbol) = symbol.and_then(|symbol| self.symbols.get_mut(symbol as usize)) {
            symbol.inside.get_or_insert(id);
        }
        self.scopes.push(Scope { parent, kind, symbol, target, bases: Vec::new() });
        id
    }

    /// The scope around a scope.
    pub(crate) fn parent(&self, scope: ScopeId) -> ScopeId {
        self.scopes.get(scope as usize).map_or(0, |scope| scope.parent)
    }

    /// Returns the kind of a scope.
    pub(crate) fn kind_of_scope(&self, scope: ScopeId) -> ScopeKind {
        self.scopes.get(scope as usize).map_or(ScopeKind::File, |scope| scope.kind)
    }

    /// The name of a symbol that was defined.
    pub(crate) fn name_of(&self, id: SymbolId) -> &str {
        self.symbols.get(id as usize).map_or("", |symbol| self.arena.text(symbol.name))
    }

    /// Reports an import of a whole module in a given scope, at a byte of the text.
    pub(crate) fn import_in(&mut self, scope: ScopeId, at: usize, module: &str) {
        if self.imports.len() >= ROWS_MAX {
            self.truncated = true;
        } else if let Some(module) = self.intern(module) {
            let (place, what) = (Place::default(), Imported::Module);
            self.imports.push(Import { scope, place, module, what, local: None, exported: None });
            self.import_bytes.push(at);
        }
    }

    /// Returns the number of a name; `None` if it is empty or too long.
    pub(crate) fn text_id(&mut self, name: &str) -> Option<TextId> {
        self.intern_name(name)
    }
}
