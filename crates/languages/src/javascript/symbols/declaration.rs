//! Namespaces and type aliases of TypeScript.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{New, ScopeKind, SymbolKind};
use crate::syntax::last_name;

impl<'t> Walk<'_, 't> {
    pub(super) fn namespace(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let Some(name) = node.child_by_field_name("name") else { return };
        let text = self.key(name);
        let symbol = self.b.define_in(
            self.b.scope(),
            text,
            name.start_byte() + last_name(self.b.text(name), "."),
            SymbolKind::Namespace,
            New { exported, ..New::default() },
        );
        if let Some(body) = node.child_by_field_name("body")
            && self.b.open(ScopeKind::Namespace, symbol)
        {
            self.children(body);
            self.b.close();
        }
    }

    pub(super) fn type_alias(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value"))
        else {
            return;
        };
        if value.kind() == "object_type" {
            // A type of its own, with members.
            let symbol = self.b.define(name, SymbolKind::Type, New { exported, ..New::default() });
            if self.b.open(ScopeKind::Type, symbol) {
                self.type_parameters(node);
                self.type_members(value, symbol);
                self.b.close();
            }
            return;
        }
        let symbol = self.b.define(name, SymbolKind::Alias, New { exported, ..New::default() });
        if self.b.open(ScopeKind::Type, None) {
            self.type_parameters(node);
            let declared = self.named_type(value);
            self.b.close();
            if let Some(symbol) = symbol.and_then(|symbol| self.b.symbol_mut(symbol)) {
                symbol.declared = declared;
            }
        }
    }

    /// Defines the type parameters of a declaration in the innermost scope.
    pub(super) fn type_parameters(&mut self, node: Node<'t>) {
        let Some(list) = node.child_by_field_name("type_parameters") else { return };
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor).filter(|child| child.kind() == "type_parameter") {
            let Some(name) = parameter.child_by_field_name("name") else { continue };
            let bound = parameter.child_by_field_name("constraint").and_then(|bound| self.types_in(bound));
            if let Some(default) = parameter.child_by_field_name("value") {
                self.types_in(default);
            }
            self.b.define(name, SymbolKind::TypeParameter, New { declared: bound, ..New::default() });
        }
    }
}
