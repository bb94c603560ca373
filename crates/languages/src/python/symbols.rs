//! Symbols of Python: walks statements and expressions once.

mod annotation;
mod assignment;
mod definition;
mod expression;

use std::collections::HashSet;

use tree_sitter::Node;

use crate::symbols::{Builder, ExprId, ScopeId, ScopeKind};

/// Extracts the symbols of a file.
pub(super) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    let mut walk = Walk { b: builder, frames: Vec::new(), assigned_from: 0 };
    walk.block(root);
}

/// The walk through a file.
struct Walk<'b, 't> {
    b: &'b mut Builder<'t>,
    /// The enclosing functions, innermost last.
    frames: Vec<Frame<'t>>,
    /// End of the last assigned value; names before it have their previous meaning.
    assigned_from: usize,
}

/// A function that is being walked through.
struct Frame<'t> {
    scope: ScopeId,
    /// The name of its first parameter, if it is a method, and whether that is the type instead of an instance.
    own: Option<(&'t str, bool)>,
    /// Names that `global` or `nonlocal` takes from outside.
    foreign: HashSet<&'t str>,
    returns: Vec<ExprId>,
    yields: bool,
    /// Number of the statements around that run only sometimes: branches, loops.
    branches: u32,
    /// The byte at which the outermost loop around begins.
    outer_loop: Option<usize>,
}

impl<'t> Walk<'_, 't> {
    /// Statements, or whatever else the children of a node are.
    fn block(&mut self, node: Node<'t>) {
        self.each(node, Self::statement);
    }

    /// Calls `visit` for each named child of a node.
    fn each(&mut self, node: Node<'t>, visit: fn(&mut Self, Node<'t>)) {
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            if cursor.node().is_named() {
                visit(self, cursor.node());
            }
            if !cursor.goto_next_sibling() {
                return;
            }
        }
    }

    fn statement(&mut self, node: Node<'t>) {
        if self.b.enter() {
            self.statement_kind(node);
            self.b.leave();
        }
    }

    fn statement_kind(&mut self, node: Node<'t>) {
        match node.kind() {
            "comment" => {}
            "function_definition" => self.function(node, &[]),
            "class_definition" => self.class(node),
            "decorated_definition" => self.decorated(node),
            "assignment" | "augmented_assignment" | "named_expression" => {
                self.value(node);
            }
            "import_statement" => self.import(node),
            "import_from_statement" => self.import_from(node),
            "global_statement" | "nonlocal_statement" => self.foreign(node),
            "return_statement" => self.returned(node),
            "for_statement" => self.for_loop(node),
            "with_item" => self.with_item(node),
            "except_clause" | "except_group_clause" => self.except(node),
            "match_statement" => self.sometimes(None, |walk| walk.match_statement(node)),
            "if_statement" | "try_statement" => self.sometimes(None, |walk| walk.block(node)),
            "while_statement" => self.sometimes(Some(node), |walk| walk.block(node)),
            "type_alias_statement" => self.type_alias(node),
            "expression_statement"
            | "block"
            | "elif_clause"
            | "else_clause"
            | "finally_clause"
            | "with_statement"
            | "with_clause"
            | "raise_statement"
            | "assert_statement"
            | "delete_statement"
            | "print_statement"
            | "exec_statement"
            | "ERROR" => {
                self.block(node);
            }
            _ => {
                self.value(node);
            }
        }
    }

    /// Visits what runs only under a condition, or again and again if it is in a loop.
    fn sometimes(&mut self, in_loop: Option<Node<'t>>, visit: impl FnOnce(&mut Self)) {
        let Some(frame) = self.frames.last_mut() else { return visit(self) };
        let outer_loop = frame.outer_loop;
        frame.branches += 1;
        frame.outer_loop = outer_loop.or(in_loop.map(|node| node.start_byte()));
        visit(self);
        if let Some(frame) = self.frames.last_mut() {
            frame.branches -= 1;
            frame.outer_loop = outer_loop;
        }
    }

    fn foreign(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let names: Vec<&str> =
            node.named_children(&mut cursor).take(1000).map(|name| self.b.text(name)).collect();
        if let Some(frame) = self.frames.last_mut() {
            frame.foreign.extend(names);
        }
    }

    fn returned(&mut self, node: Node<'t>) {
        if let Some(value) = node.named_child(0) {
            let value = self.value(value);
            let value = self.b.outward(value);
            if let Some(frame) = self.frames.last_mut().filter(|frame| frame.returns.len() < 6) {
                frame.returns.push(value);
            }
        }
    }

    /// The innermost scope that is a function, the file or a type: where assignments bind names.
    fn binding_scope(&self) -> (ScopeId, ScopeKind) {
        self.b.open_scopes().rev().find(|(_, kind)| *kind != ScopeKind::Block).unwrap_or((0, ScopeKind::File))
    }

    /// The type around the innermost function, if that is a method.
    fn method_of(&self) -> Option<ScopeId> {
        let frame = self.frames.last()?;
        frame.own?;
        let mut around = self.b.open_scopes().rev().skip_while(|(scope, _)| *scope != frame.scope).skip(1);
        around.next().filter(|(_, kind)| *kind == ScopeKind::Type).map(|(scope, _)| scope)
    }
}
