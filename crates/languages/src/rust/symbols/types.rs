//! Types of Rust.

use tree_sitter::Node;

use super::{Walk, is_capital, parts};
use crate::symbols::{Builder, Expr, ExprId, LocalWalk, UseKind};

/// Types whose members are those of the type that they point to.
pub(super) const POINTERS: &[&str] =
    &["Arc", "Box", "Cow", "MutexGuard", "Pin", "Rc", "RefMut", "RwLockReadGuard", "RwLockWriteGuard"];

impl<'t> Walk<'t> {
    /// Visits a type; `None` if the node is not one.
    pub(super) fn type_of(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        let kind = if kind == UseKind::Read { UseKind::Type } else { kind };
        Some(match node.kind() {
            "type_identifier" => self.name(b, node, kind),
            "primitive_type" => b.name(b.text(node)),
            "scoped_type_identifier" => self.path(b, node, Some(kind)),
            "generic_type" | "generic_type_with_turbofish" => self.generic(b, node, kind)?,
            "reference_type" | "pointer_type" => self.field(b, node, "type")?,
            "array_type" => {
                self.field(b, node, "length");
                let element = self.field(b, node, "element")?;
                anonymous(b, vec![element])
            }
            "abstract_type" | "dynamic_type" => {
                let of = node.child_by_field_name("trait")?;
                self.visit_as(b, of, kind)
            }
            "higher_ranked_trait_bound" => {
                let of = node.child_by_field_name("type")?;
                self.visit_as(b, of, kind)
            }
            "bounded_type" => {
                let all =
                    parts(node).into_iter().filter(|part| !matches!(part.kind(), "lifetime" | "use_bounds"));
                let mut all: Vec<ExprId> = all.map(|part| self.visit_as(b, part, kind)).collect();
                match all.len() {
                    1 => all.swap_remove(0),
                    _ => b.add(Expr::Either(all)),
                }
            }
            "function_type" => {
                for part in node.child_by_field_name("parameters").map(parts).unwrap_or_default() {
                    let of = part.child_by_field_name("type").unwrap_or(part);
                    self.visit(b, of);
                }
                match self.field(b, node, "return_type") {
                    Some(result) => anonymous(b, vec![result]),
                    None => b.unknown(),
                }
            }
            // `<T as Trait>::name` is a member of the trait.
            "bracketed_type" => {
                let inner = node.named_child(0)?;
                self.visit(b, inner)
            }
            "qualified_type" => {
                self.field(b, node, "type");
                self.field(b, node, "alias")?
            }
            "type_arguments" => {
                self.children(b, node);
                b.unknown()
            }
            "type_binding" => self.field(b, node, "type")?,
            "tuple_type" => {
                let all = parts(node).into_iter().map(|part| self.visit(b, part)).collect();
                anonymous(b, all)
            }
            "unit_type" | "never_type" => b.unknown(),
            _ => return None,
        })
    }

    /// A generic type. Pointers are replaced by the type that they point to; the error of a result is omitted.
    fn generic(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> Option<ExprId> {
        let base = node.child_by_field_name("type")?;
        let of = self.visit_as(b, base, kind);
        let mut arguments = Vec::new();
        for one in node.child_by_field_name("type_arguments").map(parts).unwrap_or_default() {
            if one.kind() != "lifetime" {
                arguments.push(self.visit(b, one));
            }
        }
        let name = b.text(base.child_by_field_name("name").unwrap_or(base));
        match arguments[..] {
            [] => Some(of),
            [.., last] if POINTERS.contains(&name) => Some(last),
            [first, ..] if name == "Result" => Some(anonymous(b, vec![first])),
            _ => Some(b.add(Expr::Apply(of, arguments))),
        }
    }

    /// A path. Names before the last are used as types if they are written like types; modules are not reported.
    pub(super) fn path(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: Option<UseKind>) -> ExprId {
        let mut value = 0;
        b.descend(|b| value = self.path_inside(b, node, kind).unwrap_or_else(|| b.unknown()));
        value
    }

    fn path_inside(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: Option<UseKind>) -> Option<ExprId> {
        if let Some(root) = self.root(b, node) {
            return Some(root);
        }
        match node.kind() {
            "identifier" | "type_identifier" => match kind {
                Some(kind) => Some(self.name(b, node, kind)),
                None if is_capital(b.text(node)) => Some(self.name(b, node, UseKind::Type)),
                None => {
                    self.locals.mention(b.text(node), node.start_byte());
                    Some(b.name(b.text(node)))
                }
            },
            "scoped_identifier" | "scoped_type_identifier" => {
                let name = node.child_by_field_name("name")?;
                let text = b.text(name);
                let of = match node.child_by_field_name("path") {
                    Some(path) => self.path(b, path, None),
                    // `::name` is a crate.
                    None => return Some(b.name(text)),
                };
                let member = b.member(of, text);
                if let Some(kind) = kind.or_else(|| is_capital(text).then_some(UseKind::Type)) {
                    b.used(kind, member, name);
                }
                Some(member)
            }
            _ => Some(self.visit(b, node)),
        }
    }

    /// The module that `crate`, `self` or `super::super` names in a path.
    fn root(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let mut path = Vec::new();
        let mut next = Some(node);
        while let Some(one) = next {
            match one.kind() {
                "crate" | "self" | "super" => path.push(b.text(one)),
                "scoped_identifier"
                    if one.child_by_field_name("name").is_some_and(|n| n.kind() == "super") =>
                {
                    path.push("super");
                }
                _ => return None,
            }
            next = one.child_by_field_name("path");
        }
        path.reverse();
        let path = self.absolute(&path);
        Some(b.name(&path))
    }
}

/// A generic type of the language itself. Calling a value of it gives its last argument; those of a tuple are numbered members.
pub(super) fn anonymous(b: &mut Builder<'_>, arguments: Vec<ExprId>) -> ExprId {
    let foreign = b.name("[]");
    b.add(Expr::Apply(foreign, arguments))
}
