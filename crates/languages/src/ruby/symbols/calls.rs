//! Calls, constants, variables and assignments of Ruby.

use tree_sitter::Node;

use super::{Myself, Walk};
use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolKind, TreeWalk, UseKind};

/// Bare words that are not calls of methods in the repository.
const KEYWORDS: &[&str] = &[
    "private", "public", "protected", "module_function", "private_class_method", "private_constant",
    "public_class_method", "raise", "puts", "print", "p", "loop", "lambda", "proc", "require",
    "require_relative", "block_given?", "binding", "__method__", "attr_reader", "attr_writer",
    "attr_accessor", "freeze", "format", "sprintf", "catch", "throw", "abort", "exit", "gets", "rand",
    "sleep", "caller", "at_exit", "autoload", "define_method", "alias_method", "instance_variable_get",
    "instance_variable_set", "instance_eval", "class_eval",
];

impl<'t> Walk<'t> {
    /// A bare name: a local variable, or a call without arguments.
    pub(super) fn bare(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let name = b.text(node);
        match name {
            "private" | "protected" => self.is_private = true,
            "public" => self.is_private = false,
            "module_function" => self.is_singleton = true,
            _ => {}
        }
        if name == "new" && self.myself == Myself::Class {
            let expr = self.constructor(b);
            b.used(UseKind::Call, expr, node);
        } else if !self.is_local(name) && !KEYWORDS.contains(&name) {
            let expr = b.name(name);
            b.used(UseKind::Call, expr, node);
        }
    }

    /// The method that `new` of the class around calls.
    fn constructor(&mut self, b: &mut Builder<'t>) -> ExprId {
        let of = b.add(Expr::ThisType);
        let instance = b.add(Expr::Instance(of));
        b.member(instance, "initialize")
    }

    /// A constant, with what it is looked up in.
    pub(super) fn constant(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let mut last = node;
        if node.kind() == "scope_resolution" {
            if let Some(scope) = node.child_by_field_name("scope") {
                b.descend(|b| self.visit(b, scope));
            }
            last = node.child_by_field_name("name").unwrap_or(node);
        }
        let expr = self.value(b, node);
        b.used(kind, expr, last);
    }

    pub(super) fn variable(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        let expr = self.value(b, node);
        b.used(kind, expr, node);
    }

    pub(super) fn super_call(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if let Some(method) = self.method {
            let of = b.add(Expr::Super);
            let expr = b.member(of, method);
            b.used(UseKind::Call, expr, node);
        }
    }

    pub(super) fn call(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let receiver = node.child_by_field_name("receiver");
        let method = node.child_by_field_name("method");
        let name = method.map_or("call", |method| b.text(method));
        if let (None, Some(method)) = (receiver, method) {
            if method.kind() == "super" {
                self.super_call(b, method);
            } else if self.class_macro(b, node, name) {
                return;
            } else if name == "new" && self.myself == Myself::Class {
                let expr = self.constructor(b);
                b.used(UseKind::Call, expr, method);
            } else if !KEYWORDS.contains(&name) && (!self.is_local(name) || node.child_count() > 1) {
                let expr = b.name(name);
                b.used(UseKind::Call, expr, method);
            }
        }
        if let Some(receiver) = receiver {
            b.descend(|b| self.visit(b, receiver));
            if let Some(method) = method {
                self.member_call(b, receiver, method, name);
            }
        }
        self.visit_field(b, node, "arguments");
        if let Some(block) = node.child_by_field_name("block") {
            b.descend(|b| match receiver.is_some_and(|of| makes_type(b, of, name)) {
                // The block of `Class.new do … end` is the body of a class without a name.
                true => self.members(b, None, block.child_by_field_name("body")),
                false => self.visit(b, block),
            });
        }
        if let Some(named) = self.named_method(b, node, name) {
            let of = receiver.map(|of| self.value(b, of));
            let text = b.text(named).trim_start_matches(':');
            let expr = match of {
                Some(of) => b.member(of, text),
                None => b.name(text),
            };
            let kind = if name == "method" { UseKind::Read } else { UseKind::Call };
            b.used_at(kind, expr, named.start_byte() + 1);
        }
    }

    /// A call of a member.
    fn member_call(&mut self, b: &mut Builder<'t>, receiver: Node<'t>, method: Node<'t>, name: &str) {
        let of = self.value(b, receiver);
        if name == "new" && matches!(receiver.kind(), "constant" | "scope_resolution") {
            let last = receiver.child_by_field_name("name").unwrap_or(receiver);
            b.used(UseKind::Call, of, last);
            return;
        }
        let expr = match name == "new" && *b.expr(of) == Expr::ThisType {
            true => self.constructor(b),
            false => b.member(of, name),
        };
        b.used(UseKind::Call, expr, method);
    }

    /// The symbol in `method(:name)` and `send(:name)` with no receiver other than `self`.
    fn named_method(&self, b: &Builder<'t>, node: Node<'t>, name: &str) -> Option<Node<'t>> {
        if !matches!(name, "method" | "send" | "public_send" | "__send__") {
            return None;
        }
        if node.child_by_field_name("receiver").is_some_and(|of| of.kind() != "self") {
            return None;
        }
        let first = node.child_by_field_name("arguments")?.named_child(0)?;
        (first.kind() == "simple_symbol" && !b.text(first).starts_with(":\"")).then_some(first)
    }

    pub(super) fn assignment(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        else {
            return self.each(b, node);
        };
        if left.kind() == "constant" && self.type_constant(b, left, right) {
            return;
        }
        b.descend(|b| self.visit(b, right));
        let value = Some(self.value(b, right)).filter(|value| *b.expr(*value) != Expr::Unknown);
        b.descend(|b| match left.kind() {
            "constant" => {
                let new = New { exported: true, is_static: true, value, ..New::default() };
                b.define(left, SymbolKind::Variable, new);
            }
            "instance_variable" | "class_variable" | "global_variable" => {
                self.define_variable(b, left, value);
                self.variable(b, left, UseKind::Write);
            }
            "call" => {
                if let (Some(of), Some(name)) =
                    (left.child_by_field_name("receiver"), left.child_by_field_name("method"))
                {
                    self.visit(b, of);
                    let of = self.value(b, of);
                    let setter = format!("{}=", b.text(name));
                    let expr = b.member(of, &setter);
                    b.used(UseKind::Write, expr, name);
                }
            }
            _ => self.bind(b, left, SymbolKind::Local, value),
        });
    }

    /// Defines an instance variable where it is first assigned in its class, and a global one in its file.
    pub(super) fn define_variable(&mut self, b: &mut Builder<'t>, node: Node<'t>, value: Option<ExprId>) {
        let (scope, kind) = match (node.kind(), self.class) {
            ("global_variable", _) => (0, SymbolKind::Variable),
            (_, Some((_, scope))) => (scope, SymbolKind::Field),
            (_, None) => return,
        };
        let name = b.text(node);
        if self.variables.insert((scope, name)) {
            let is_static = node.kind() == "class_variable";
            b.define_in(scope, name, node.start_byte(), kind, New { is_static, value, ..New::default() });
        } else if let Some(value) = value {
            let known = b.find(scope, name);
            if let Some(symbol) = known.and_then(|known| b.symbol_mut(known)) {
                symbol.value.get_or_insert(value);
            }
        }
    }

    /// `Name = Struct.new(:a) do … end` and `Name = Class.new(Base) do … end` define types.
    fn type_constant(&mut self, b: &mut Builder<'t>, left: Node<'t>, right: Node<'t>) -> bool {
        let (Some(receiver), Some(method)) =
            (right.child_by_field_name("receiver"), right.child_by_field_name("method"))
        else {
            return false;
        };
        if right.kind() != "call" || !makes_type(b, receiver, b.text(method)) {
            return false;
        }
        let makes_class = matches!(b.text(receiver), "Class" | "Module");
        let arguments = right.child_by_field_name("arguments");
        let mut bases = Vec::new();
        if let Some(base) = arguments.and_then(|list| list.named_child(0)).filter(|_| makes_class) {
            bases.push(self.value(b, base));
            b.descend(|b| match base.kind() {
                "constant" | "scope_resolution" => self.constant(b, base, UseKind::Inherit),
                _ => self.visit(b, base),
            });
        }
        let symbol = b.define(left, SymbolKind::Type, New { exported: true, bases, ..New::default() });
        if let Some(list) = arguments.filter(|_| !makes_class) {
            b.within(ScopeKind::Type, symbol, |b| {
                b.each_child(list, |b, name| {
                    if name.kind() == "simple_symbol" {
                        let text = b.text(name).trim_start_matches(':');
                        let new = New { exported: true, ..New::default() };
                        b.define_in(b.scope(), text, name.start_byte() + 1, SymbolKind::Field, new);
                    }
                });
                let scope = b.scope();
                self.apart(|walk| {
                    walk.myself = Myself::Class;
                    walk.class = symbol.map(|symbol| (symbol, scope));
                    if let Some(body) =
                        right.child_by_field_name("block").and_then(|of| of.child_by_field_name("body"))
                    {
                        walk.each(b, body);
                    }
                });
            });
        } else {
            let block = right.child_by_field_name("block");
            self.members(b, symbol, block.and_then(|block| block.child_by_field_name("body")));
        }
        true
    }
}

/// Checks whether a call makes a type: `Class.new`, `Struct.new`, `Data.define`.
fn makes_type(b: &Builder<'_>, receiver: Node<'_>, method: &str) -> bool {
    matches!((b.text(receiver), method), ("Class" | "Module" | "Struct", "new") | ("Data", "define"))
}
