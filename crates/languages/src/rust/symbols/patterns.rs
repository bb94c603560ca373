//! Patterns of Rust: the local names that they bind.

use tree_sitter::Node;

use super::{Walk, is_capital, parts};
use crate::symbols::{Builder, Expr, ExprId, LocalWalk, New, SymbolKind, UseKind};

impl<'t> Walk<'t> {
    /// Binds the names of a pattern that is matched with what `new` describes.
    pub(super) fn bind(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind, new: New) {
        b.descend(|b| match node.kind() {
            "identifier" if is_capital(b.text(node)) => {
                self.name(b, node, UseKind::Read);
            }
            "identifier" => {
                self.define_local(b, node, kind, new);
            }
            "mut_pattern" | "ref_pattern" | "reference_pattern" | "or_pattern" | "captured_pattern" => {
                for part in parts(node).into_iter().filter(|part| part.kind() != "mutable_specifier") {
                    self.bind(b, part, kind, new.clone());
                }
            }
            "tuple_pattern" => {
                let whole = matched(b, &new);
                for (at, part) in parts(node).into_iter().enumerate() {
                    let value = whole.map(|whole| b.member(whole, &at.to_string()));
                    self.bind(b, part, kind, New { value, ..New::default() });
                }
            }
            "slice_pattern" => {
                let value = contained(b, &new);
                for part in parts(node) {
                    self.bind(b, part, kind, New { value, ..New::default() });
                }
            }
            "tuple_struct_pattern" => self.bind_numbered(b, node, kind, &new),
            "struct_pattern" => self.bind_fields(b, node, kind),
            "scoped_identifier" => {
                self.path(b, node, Some(UseKind::Read));
            }
            _ => self.children(b, node),
        });
    }

    /// `Some(pattern)`, `Variant(pattern)`, `Struct(pattern)`.
    fn bind_numbered(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind, new: &New) {
        let Some(of) = node.child_by_field_name("type") else { return };
        let of_type = self.visit_as(b, of, UseKind::Read);
        let instance = b.add(Expr::Instance(of_type));
        for (at, part) in parts(node).into_iter().skip(1).enumerate() {
            let value = match b.text(of) {
                "Some" | "Ok" => contained(b, new),
                "Err" => None,
                _ => Some(b.member(instance, &at.to_string())),
            };
            self.bind(b, part, kind, New { value, ..New::default() });
        }
    }

    fn bind_fields(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
        let Some(of) = node.child_by_field_name("type") else { return };
        let matched = self.visit_as(b, of, UseKind::Type);
        let instance = b.add(Expr::Instance(matched));
        for field in parts(node).into_iter().filter(|part| part.kind() == "field_pattern") {
            let Some(name) = field.child_by_field_name("name") else { continue };
            let member = b.member(instance, b.text(name));
            b.used(UseKind::Read, member, name);
            let new = New { value: Some(member), ..New::default() };
            match field.child_by_field_name("pattern") {
                Some(pattern) => self.bind(b, pattern, kind, new),
                None => {
                    self.define_local(b, name, kind, new);
                }
            }
        }
    }
}

/// Returns the value that a pattern is matched against.
fn matched(b: &mut Builder<'_>, new: &New) -> Option<ExprId> {
    new.value.or_else(|| new.declared.map(|declared| b.add(Expr::Instance(declared))))
}

/// Returns the content of the value that a pattern is matched against.
pub(super) fn contained(b: &mut Builder<'_>, new: &New) -> Option<ExprId> {
    matched(b, new).map(|value| b.add(Expr::Inside(value)))
}
