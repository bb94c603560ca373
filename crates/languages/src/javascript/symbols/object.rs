//! Objects that are written out, whose methods are definitions.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{New, ScopeKind, SymbolId, SymbolKind};

impl<'t> Walk<'_, 't> {
    /// An object; `symbol` is the variable that it is assigned to.
    pub(super) fn object(&mut self, node: Node<'t>, symbol: Option<SymbolId>) {
        // What is inside of the object but no method of it still sees the enclosing `this`.
        let around = self.b.open_count();
        if !self.b.open(ScopeKind::Type, symbol) {
            return;
        }
        let mut cursor = node.walk();
        for member in node.named_children(&mut cursor) {
            match member.kind() {
                "method_definition" => self.method(member),
                "pair" => self.pair(member, around),
                _ => self.outside(around, |walk| {
                    walk.value(member);
                }),
            }
        }
        self.b.close();
    }

    fn pair(&mut self, node: Node<'t>, around: usize) {
        let (key, value) = (node.child_by_field_name("key"), node.child_by_field_name("value"));
        let (Some(key), Some(value)) = (key, value) else { return };
        if key.kind() == "computed_property_name" {
            self.outside(around, |walk| walk.children(key));
        }
        let (name, at, scope) = (self.key(key), key.start_byte(), self.b.scope());
        let new = New { exported: true, ..New::default() };
        match value.kind() {
            "arrow_function" => {
                let symbol = self.b.define_in(scope, name, at, SymbolKind::Function, new);
                self.outside(around, |walk| walk.function(value, symbol));
            }
            "function_expression" | "generator_function" => {
                let symbol = self.b.define_in(scope, name, at, SymbolKind::Function, new);
                self.function(value, symbol);
            }
            kind => {
                let symbol = self.b.define_in(scope, name, at, SymbolKind::Field, new);
                self.outside(around, |walk| match kind {
                    "object" => walk.object(value, symbol),
                    _ => {
                        let value = walk.value(value);
                        let value = walk.b.outward(value);
                        if let Some(symbol) = symbol {
                            walk.b.add_value(symbol, value);
                        }
                    }
                });
            }
        }
    }

    /// Runs `work` as if only the first `count` scopes were open.
    fn outside(&mut self, count: usize, work: impl FnOnce(&mut Self)) {
        let inner = self.b.close_to(count);
        work(self);
        self.b.reopen(inner);
    }
}
