//! Types of PHP, and the names of classes.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Builder, Expr, ExprId, UseKind};

/// Maximum number of alternatives of a type.
const ALTERNATIVES_MAX: usize = 8;

impl<'t> Walk<'t> {
    /// The type that a declaration names; `None` for those of the language.
    pub(super) fn type_of(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        match node.kind() {
            "named_type" | "optional_type" => {
                let inner = node.named_child(0)?;
                match inner.kind() {
                    "named_type" | "primitive_type" => self.type_of_part(b, inner),
                    _ => Some(self.named(b, inner)),
                }
            }
            "union_type" | "type_list" | "disjunctive_normal_form_type" | "intersection_type" => {
                let mut all = Vec::new();
                for at in 0..node.named_child_count().min(ALTERNATIVES_MAX) {
                    let part = node.named_child(at as u32)?;
                    all.extend(self.type_of_part(b, part));
                }
                match all.as_slice() {
                    [] => None,
                    [only] => Some(*only),
                    _ => Some(b.add(Expr::Either(all))),
                }
            }
            _ => None,
        }
    }

    fn type_of_part(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let inner = node.named_child(0).filter(|_| node.kind() == "named_type")?;
        Some(self.named(b, inner))
    }

    /// The expression of a name of a class, function or constant.
    pub(super) fn named(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        let text = b.text(node);
        match node.kind() {
            "relative_scope" | "name" if matches!(text, "self" | "static") => b.add(Expr::ThisType),
            "relative_scope" | "name" if text == "parent" => b.add(Expr::Super),
            "name" => b.name(text),
            "relative_name" => b.name(text.rsplit('\\').next().unwrap_or(text)),
            "qualified_name" => {
                // The separator alone names the global namespace.
                let mut of = text.starts_with('\\').then(|| b.name("\\"));
                for part in text.split('\\').filter(|part| !part.is_empty()).take(24) {
                    of = Some(match of {
                        Some(of) => b.member(of, part.trim()),
                        None => b.name(part.trim()),
                    });
                }
                of.unwrap_or_else(|| b.unknown())
            }
            _ => b.unknown(),
        }
    }

    /// Reports the use of a name, and of the first name before it.
    pub(super) fn type_use(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        match node.kind() {
            "named_type" => b.each_child(node, |b, child| self.type_use(b, child, kind)),
            "name" | "qualified_name" | "relative_name" => {
                let expr = self.named(b, node);
                let last = node.named_child((node.named_child_count() as u32).wrapping_sub(1));
                b.used(kind, expr, last.unwrap_or(node));
            }
            _ => {}
        }
    }
}
