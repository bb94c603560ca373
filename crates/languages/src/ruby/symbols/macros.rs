//! Calls in the body of a class that define methods or bases: `attr_reader`, `include`, `delegate`.

use tree_sitter::Node;

use super::{Myself, Walk};
use crate::symbols::{Builder, Expr, New, ScopeKind, SymbolKind, TreeWalk, UseKind};

impl<'t> Walk<'t> {
    /// Handles a call that defines something. Returns false for others.
    pub(super) fn class_macro(&mut self, b: &mut Builder<'t>, node: Node<'t>, name: &str) -> bool {
        let arguments = node.child_by_field_name("arguments");
        match name {
            "require" | "require_relative" => {
                if let Some(path) = arguments.and_then(|list| list.named_child(0)) {
                    import_file(b, path, name == "require_relative");
                }
                return false;
            }
            "include" if self.class.is_none() && self.method.is_none() => {
                let Some(list) = arguments else { return false };
                b.each_child(list, |b, of| {
                    if matches!(of.kind(), "constant" | "scope_resolution") {
                        let module = format!("::{}", b.text(of).trim_start_matches("::"));
                        b.import_all(of, &module, true);
                    }
                });
                return false;
            }
            _ if self.class.is_none() || self.method.is_some() || self.myself != Myself::Class => {
                return false;
            }
            _ => {}
        }
        let Some(list) = arguments else { return false };
        match name {
            "include" | "prepend" | "extend" => {
                b.each_child(list, |b, of| {
                    if of.kind() == "self" && name == "extend" {
                        // The module's methods are its own as well.
                        self.is_singleton = true;
                    } else if matches!(of.kind(), "constant" | "scope_resolution") {
                        let mut base = self.value(b, of);
                        if name == "extend" || self.is_singleton {
                            base = b.add(Expr::Instance(base));
                        }
                        self.constant(b, of, UseKind::Inherit);
                        if let Some(symbol) = self.class.and_then(|(symbol, _)| b.symbol_mut(symbol)) {
                            symbol.bases.push(base);
                        }
                    } else {
                        self.visit(b, of);
                    }
                });
            }
            "attr_reader" | "attr_accessor" | "attr_writer" | "cattr_accessor" | "mattr_accessor"
            | "class_attribute" => {
                b.each_child(list, |b, of| self.attribute(b, of, name));
            }
            "alias_method" | "def_delegator" | "def_instance_delegator" => {
                let at = if name == "alias_method" { 0 } else { list.named_child_count().saturating_sub(1) };
                if let Some(of) = list.named_child(at as u32) {
                    self.define_symbol(b, of);
                }
            }
            "def_delegators" | "def_instance_delegators" | "delegate" => {
                let skipped = usize::from(name != "delegate");
                let mut at = 0;
                b.each_child(list, |b, of| {
                    if at >= skipped {
                        self.define_symbol(b, of);
                    }
                    at += 1;
                });
            }
            "define_method" => return self.defined_by_block(b, node, list),
            _ => return false,
        }
        true
    }

    /// Defines the methods of an attribute.
    fn attribute(&mut self, b: &mut Builder<'t>, node: Node<'t>, name: &str) {
        let Some((text, at)) = symbol_name(b, node) else { return };
        let this = b.add(Expr::This);
        let value = b.member(this, &format!("@{text}"));
        let new = || New {
            exported: !self.is_private,
            is_static: self.is_singleton,
            value: Some(value),
            ..New::default()
        };
        if name != "attr_writer" {
            b.define_in(b.scope(), text, at, SymbolKind::Field, new());
        }
        if name != "attr_reader" {
            b.define_in(b.scope(), &format!("{text}="), at, SymbolKind::Field, new());
        }
    }

    fn define_symbol(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if let Some((text, at)) = symbol_name(b, node) {
            self.define_method(b, node, text, at);
        }
    }

    /// `define_method(:name) { … }`.
    fn defined_by_block(&mut self, b: &mut Builder<'t>, node: Node<'t>, list: Node<'t>) -> bool {
        let (Some(first), Some(block)) = (list.named_child(0), node.child_by_field_name("block")) else {
            return false;
        };
        let Some((text, at)) = symbol_name(b, first) else { return false };
        let symbol = self.define_method(b, first, text, at);
        let before = (self.myself, self.method);
        self.myself = if self.is_singleton { Myself::Class } else { Myself::Instance };
        self.method = Some(text);
        b.within(ScopeKind::Function, symbol, |b| b.descend(|b| self.block_inside(b, block)));
        (self.myself, self.method) = before;
        true
    }
}

/// The name that a symbol or a string is, and where it begins.
fn symbol_name<'t>(b: &Builder<'t>, node: Node<'t>) -> Option<(&'t str, usize)> {
    let text = b.text(node);
    let name = match node.kind() {
        "simple_symbol" => text.strip_prefix(':')?,
        "string" => text.trim_matches(['"', '\'']),
        _ => return None,
    };
    (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| (name, node.start_byte() + 1))
}

/// Imports all of a file that is named by a string.
fn import_file<'t>(b: &mut Builder<'t>, path: Node<'t>, is_relative: bool) {
    let text = b.text(path).trim_matches(['"', '\'']);
    let before = if is_relative { "./" } else { "" };
    if path.kind() == "string" && !text.is_empty() {
        b.import_all(path, &format!("{before}{text}"), true);
    }
}
