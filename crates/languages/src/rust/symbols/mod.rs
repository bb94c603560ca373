//! Symbols of Rust: a walk over the syntax tree that reports definitions, imports and uses to the builder.
//!
//! References and smart pointers are transparent: `&T`, `Box<T>` and `T` have the same members. The error of a `Result` is omitted, so that
//! the type of its value is its only argument. Paths that begin with `self` or `super` are written relative to the file, also inside of
//! inner modules. A module in a file of its own is an import of `./name`.

mod expressions;
mod imports;
mod items;
mod patterns;
mod tokens;
mod types;

use tree_sitter::Node;

use crate::symbols::{Builder, ExprId, LocalWalk, Locals, New, SymbolId, SymbolKind, UseKind};

/// Reports the symbols of a file.
pub(super) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    Walk::default().children(builder, root);
}

/// The state of the walk.
#[derive(Default)]
struct Walk<'t> {
    locals: Locals<'t>,
    /// The enclosing inner modules.
    modules: Vec<&'t str>,
    /// The file that an attribute gives the module that follows.
    module_file: Option<&'t str>,
    /// The traits that attributes derive for the type that follows.
    derived: Vec<ExprId>,
}

impl<'t> LocalWalk<'t> for Walk<'t> {
    fn locals(&mut self) -> &mut Locals<'t> {
        &mut self.locals
    }

    fn look(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
        match node.kind() {
            _ if self.item(b, node) => b.unknown(),
            _ => match self.type_of(b, node, kind) {
                Some(found) => found,
                None => self.expression(b, node, kind),
            },
        }
    }
}

impl<'t> Walk<'t> {
    /// Defines a local name.
    fn define_local(
        &mut self,
        b: &mut Builder<'t>,
        name: Node<'t>,
        kind: SymbolKind,
        new: New,
    ) -> Option<SymbolId> {
        if kind == SymbolKind::Local {
            self.split(b, name);
        }
        self.locals.add(b.text(name));
        b.define(name, kind, new)
    }
}

/// Checks whether a name is written like that of a type, an enum's variant or a constant.
fn is_capital(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}

/// The named children of a node, without comments and attributes.
fn parts<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    let is_code =
        |child: &Node<'_>| !matches!(child.kind(), "line_comment" | "block_comment" | "attribute_item");
    node.named_children(&mut cursor).filter(is_code).collect()
}
