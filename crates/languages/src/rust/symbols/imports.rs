//! Paths of Rust: `use` declarations, modules in other files, and the roots of paths.

use tree_sitter::Node;

use super::{Walk, parts};
use crate::symbols::{Builder, child_of};

impl<'t> Walk<'t> {
    /// `mod name;`, whose content is in a file: of the folder of this module, or the one that an attribute names.
    pub(super) fn module_file(
        &self,
        b: &mut Builder<'t>,
        name: Node<'t>,
        file: Option<&str>,
        exported: bool,
    ) {
        let text = b.text(name);
        let mut module = String::from(".");
        for part in self.modules.iter().copied().chain([file.unwrap_or(text)]) {
            module.push('/');
            module.push_str(part);
        }
        b.import(name, &module, None, Some(text), exported.then_some(text));
    }

    /// `use …;` and `extern crate …;`.
    pub(super) fn use_declaration(&self, b: &mut Builder<'t>, node: Node<'t>) {
        let exported = child_of(node, "visibility_modifier").is_some();
        if let Some(argument) = node.child_by_field_name("argument") {
            self.use_tree(b, argument, &[], exported);
        } else if let Some(name) = node.child_by_field_name("name") {
            let local = b.text(node.child_by_field_name("alias").unwrap_or(name));
            b.import(name, b.text(name), None, Some(local), exported.then_some(local));
        }
    }

    /// One argument of `use`, below a path.
    fn use_tree(&self, b: &mut Builder<'t>, node: Node<'t>, around: &[&'t str], exported: bool) {
        b.descend(|b| match node.kind() {
            "use_list" => {
                for part in parts(node) {
                    self.use_tree(b, part, around, exported);
                }
            }
            "scoped_use_list" => {
                let path = node.child_by_field_name("path").map(|path| joined(b, around, path));
                if let Some(list) = node.child_by_field_name("list") {
                    self.use_tree(b, list, path.as_deref().unwrap_or(around), exported);
                }
            }
            "use_wildcard" => {
                let path =
                    node.named_child(0).map_or_else(|| around.to_vec(), |path| joined(b, around, path));
                b.import_all(node, &self.absolute(&path), exported);
            }
            "use_as_clause" => {
                let (path, alias) = (node.child_by_field_name("path"), node.child_by_field_name("alias"));
                if let (Some(path), Some(alias)) = (path, alias) {
                    self.use_path(b, path, around, Some(b.text(alias)), exported);
                }
            }
            _ => self.use_path(b, node, around, None, exported),
        });
    }

    /// A path that is imported by its last name, or by another.
    fn use_path(
        &self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        around: &[&'t str],
        alias: Option<&str>,
        exported: bool,
    ) {
        let mut path = joined(b, around, node);
        // `a::{self}` imports `a`.
        if path.len() > 1 && path.last() == Some(&"self") {
            path.pop();
        }
        let at = node.child_by_field_name("name").unwrap_or(node);
        let Some((name, module)) = path.split_last() else { return };
        let local = Some(alias.unwrap_or(name)).filter(|local| *local != "_");
        let passed_on = local.filter(|_| exported);
        let is_keyword = matches!(*name, "self" | "super" | "crate");
        if module.is_empty() || is_keyword {
            b.import(at, &self.absolute(&path), None, local, passed_on);
        } else {
            b.import(at, &self.absolute(module), Some(name), local, passed_on);
        }
    }

    /// A path as text. `self` and `super` inside of an inner module are written from the file's own module.
    pub(super) fn absolute(&self, path: &[&str]) -> String {
        let supers = path.iter().take_while(|part| **part == "super").count();
        let is_self = path.first() == Some(&"self");
        if self.modules.is_empty() || (supers == 0 && !is_self) {
            return path.join("::");
        }
        let (own, rest) = (&self.modules[..], &path[supers.max(usize::from(is_self))..]);
        let mut parts: Vec<&str> = match own.len().checked_sub(supers) {
            Some(left) => std::iter::once("self").chain(own[..left].iter().copied()).collect(),
            None => vec!["super"; supers - own.len()],
        };
        parts.extend(rest);
        parts.join("::")
    }
}

/// The parts of a path below another.
fn joined<'t>(b: &Builder<'t>, around: &[&'t str], path: Node<'t>) -> Vec<&'t str> {
    let mut below = Vec::new();
    let mut next = Some(path);
    while let Some(node) = next {
        let is_path = matches!(node.kind(), "scoped_identifier" | "scoped_type_identifier");
        below.push(b.text(if is_path { node.child_by_field_name("name").unwrap_or(node) } else { node }));
        next = node.child_by_field_name("path").filter(|_| is_path);
    }
    around.iter().copied().chain(below.into_iter().rev()).collect()
}
