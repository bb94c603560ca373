//! Symbols of Ruby: modules, classes and methods with what they call, and the constants and variables whose values show a type.

mod calls;
mod macros;
mod values;

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeId, ScopeKind, SymbolId, SymbolKind, TreeWalk, UseKind,
};

/// Reports the symbols of a file to the builder.
pub(crate) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    let mut walk = Walk { locals: vec![HashMap::new()], ..Walk::default() };
    walk.each(builder, root);
}

/// The meaning of `self`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Myself {
    /// Outside of classes: an object whose type does not matter.
    #[default]
    Top,
    /// A class or module itself.
    Class,
    /// An instance.
    Instance,
}

/// The state of the walk: what is known about the nodes around the current one.
#[derive(Default)]
struct Walk<'t> {
    /// Local variables with their values; blocks see those of the scopes around them, methods and classes do not.
    locals: Vec<HashMap<&'t str, Option<ExprId>>>,
    /// Index of the first visible scope in `locals`.
    first_local: usize,
    myself: Myself,
    /// The enclosing class or module, with the scope of its members.
    class: Option<(SymbolId, ScopeId)>,
    /// The enclosing method.
    method: Option<&'t str>,
    /// `true` if the following methods belong to the class itself: `class << self`, `module_function`.
    is_singleton: bool,
    /// `true` if the following methods are private.
    is_private: bool,
    /// Instance variables and globals that are defined, by their scope.
    variables: HashSet<(ScopeId, &'t str)>,
    /// `true` if names of local variables are replaced by their values.
    closed: bool,
}

impl<'t> TreeWalk<'t> for Walk<'t> {
    fn visit(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "class" | "module" => self.class(b, node),
            "singleton_class" => self.singleton_class(b, node),
            "method" => self.method(b, node),
            "singleton_method" => self.singleton_method(b, node),
            "assignment" | "operator_assignment" => self.assignment(b, node),
            "call" => self.call(b, node),
            "identifier" => self.bare(b, node),
            "constant" | "scope_resolution" => self.constant(b, node, UseKind::Read),
            "instance_variable" | "class_variable" | "global_variable" => {
                self.variable(b, node, UseKind::Read)
            }
            "super" => self.super_call(b, node),
            "block" | "do_block" | "lambda" => self.block(b, node),
            "alias" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.define_method(b, name, b.text(name), name.start_byte());
                }
            }
            "rescue" => self.rescue(b, node),
            "for" => {
                if let Some(pattern) = node.child_by_field_name("pattern") {
                    self.bind(b, pattern, SymbolKind::Local, None);
                }
                self.visit_field(b, node, "value");
                self.visit_field(b, node, "body");
            }
            "in_clause" => {
                if let Some(pattern) = node.child_by_field_name("pattern") {
                    b.descend(|b| self.pattern(b, pattern));
                }
                self.visit_field(b, node, "guard");
                self.visit_field(b, node, "body");
            }
            "simple_symbol" | "hash_key_symbol" | "comment" | "undef" | "method_parameters"
            | "block_parameters" | "lambda_parameters" => {}
            _ => self.each(b, node),
        }
    }
}

impl<'t> Walk<'t> {
    /// Checks whether a name is that of a local variable.
    fn is_local(&self, name: &str) -> bool {
        self.locals[self.first_local..].iter().any(|names| names.contains_key(name))
    }

    fn local_value(&self, name: &str) -> Option<ExprId> {
        self.locals[self.first_local..].iter().rev().find_map(|names| names.get(name)).copied().flatten()
    }

    fn hide(&mut self, name: &'t str, value: Option<ExprId>) {
        if let Some(names) = self.locals.last_mut() {
            names.entry(name).or_insert(value);
        }
    }

    /// Runs `work` with locals of its own, and restores its changes to the state.
    fn apart(&mut self, work: impl FnOnce(&mut Self)) {
        let first = std::mem::replace(&mut self.first_local, self.locals.len());
        let before = (self.myself, self.class, self.method, self.is_singleton, self.is_private);
        self.locals.push(HashMap::new());
        work(self);
        self.locals.pop();
        self.first_local = first;
        (self.myself, self.class, self.method, self.is_singleton, self.is_private) = before;
    }

    fn class(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return self.each(b, node) };
        let mut bases = Vec::new();
        if let Some(of) = node.child_by_field_name("superclass").and_then(|base| base.named_child(0)) {
            if matches!(of.kind(), "constant" | "scope_resolution") {
                bases.push(self.value(b, of));
                b.descend(|b| self.constant(b, of, UseKind::Inherit));
            } else {
                b.descend(|b| self.visit(b, of));
            }
        }
        let new = New { exported: true, bases, ..New::default() };
        let body = node.child_by_field_name("body");
        match (name.child_by_field_name("scope"), name.child_by_field_name("name")) {
            (Some(scope), Some(last)) if name.kind() == "scope_resolution" => {
                b.descend(|b| self.constant(b, scope, UseKind::Type));
                let target = self.value(b, scope);
                b.within_target(target, Vec::new(), |b| {
                    let symbol =
                        b.define_in(b.scope(), b.text(last), last.start_byte(), SymbolKind::Type, new);
                    self.members(b, symbol, body);
                });
            }
            (None, Some(last)) if name.kind() == "scope_resolution" => {
                let symbol = b.define_in(0, b.text(last), last.start_byte(), SymbolKind::Type, new);
                self.members(b, symbol, body);
            }
            _ => {
                let symbol = b.define(name, SymbolKind::Type, new);
                self.members(b, symbol, body);
            }
        }
    }

    /// Visits the body of a class or module.
    fn members(&mut self, b: &mut Builder<'t>, symbol: Option<SymbolId>, body: Option<Node<'t>>) {
        let Some(body) = body else { return b.within(ScopeKind::Type, symbol, |_| {}) };
        b.within(ScopeKind::Type, symbol, |b| {
            let scope = b.scope();
            self.apart(|walk| {
                walk.myself = Myself::Class;
                walk.class = symbol.map(|symbol| (symbol, scope));
                (walk.method, walk.is_singleton, walk.is_private) = (None, false, false);
                walk.each(b, body);
            });
        });
    }

    fn singleton_class(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(body) = node.child_by_field_name("body") else { return };
        self.apart(|walk| {
            (walk.is_singleton, walk.is_private) = (true, false);
            walk.each(b, body);
        });
    }

    fn method(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return self.each(b, node) };
        let symbol = self.define_method(b, name, b.text(name), name.start_byte());
        let myself = match (self.class, self.is_singleton) {
            (None, _) => Myself::Top,
            (_, true) => Myself::Class,
            (_, false) => Myself::Instance,
        };
        self.method_inside(b, node, symbol, myself, b.text(name));
    }

    fn singleton_method(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (Some(name), Some(object)) =
            (node.child_by_field_name("name"), node.child_by_field_name("object"))
        else {
            return self.each(b, node);
        };
        let text = b.text(name);
        let new = New { exported: !self.is_private, is_static: true, ..New::default() };
        let is_own = self.class.is_some_and(|(symbol, _)| b.name_of(symbol) == b.text(object));
        match object.kind() {
            "self" => {
                let symbol = b.define(name, SymbolKind::Function, new);
                let myself = if self.class.is_some() { Myself::Class } else { Myself::Top };
                self.method_inside(b, node, symbol, myself, text);
            }
            "constant" | "scope_resolution" if !is_own => {
                b.descend(|b| self.constant(b, object, UseKind::Read));
                let target = self.value(b, object);
                b.within_target(target, Vec::new(), |b| {
                    let symbol = b.define(name, SymbolKind::Function, new);
                    self.method_inside(b, node, symbol, Myself::Class, text);
                });
            }
            _ => {
                let symbol = b.define(name, SymbolKind::Function, new);
                self.method_inside(b, node, symbol, Myself::Class, text);
            }
        }
    }

    /// Defines a method under a name that begins at a byte.
    fn define_method(
        &mut self,
        b: &mut Builder<'t>,
        _at: Node<'t>,
        name: &str,
        start: usize,
    ) -> Option<SymbolId> {
        let new = New {
            exported: !self.is_private,
            is_static: self.is_singleton && self.class.is_some(),
            ..New::default()
        };
        b.define_in(b.scope(), name, start, SymbolKind::Function, new)
    }

    /// Visits the parameters and the body of a method.
    fn method_inside(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        symbol: Option<SymbolId>,
        myself: Myself,
        name: &'t str,
    ) {
        b.within(ScopeKind::Function, symbol, |b| {
            self.apart(|walk| {
                (walk.myself, walk.method, walk.is_singleton) = (myself, Some(name), false);
                if let Some(list) = node.child_by_field_name("parameters") {
                    walk.parameters(b, list);
                }
                if let Some(body) = node.child_by_field_name("body") {
                    b.descend(|b| walk.visit(b, body));
                    let value = walk.result(b, body);
                    if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
                        symbol.value = value;
                    }
                }
            });
        });
    }

    /// Defines the parameters of a method or block.
    fn parameters(&mut self, b: &mut Builder<'t>, list: Node<'t>) {
        b.each_child(list, |b, parameter| {
            let value = parameter.child_by_field_name("value");
            if let Some(value) = value {
                self.visit(b, value);
            }
            let value = value.map(|value| self.value(b, value));
            match parameter.child_by_field_name("name") {
                Some(name) => self.bind(b, name, SymbolKind::Parameter, value),
                None => self.bind(b, parameter, SymbolKind::Parameter, value),
            }
        });
    }

    /// Defines the local names of a pattern.
    fn bind(&mut self, b: &mut Builder<'t>, pattern: Node<'t>, kind: SymbolKind, value: Option<ExprId>) {
        match pattern.kind() {
            "identifier" => {
                let name = b.text(pattern);
                if kind == SymbolKind::Parameter || !self.is_local(name) {
                    let value = value.filter(|value| *b.expr(*value) != Expr::Unknown);
                    b.define(pattern, kind, New { value, ..New::default() });
                    self.hide(name, value);
                }
            }
            "destructured_parameter"
            | "left_assignment_list"
            | "destructured_left_assignment"
            | "rest_assignment"
            | "splat_parameter" => b.each_child(pattern, |b, child| self.bind(b, child, kind, None)),
            "instance_variable" | "class_variable" | "global_variable" => {
                self.define_variable(b, pattern, None);
                self.variable(b, pattern, UseKind::Write);
            }
            "block_parameter" | "hash_splat_parameter" | "forward_parameter" => {}
            _ => self.visit(b, pattern),
        }
    }

    /// The names that a pattern of `case … in` binds; its constants are types.
    fn pattern(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "identifier" => self.bind(b, node, SymbolKind::Local, None),
            "constant" | "scope_resolution" => self.constant(b, node, UseKind::Type),
            "hash_key_symbol" => {}
            _ => b.each_child(node, |b, child| self.pattern(b, child)),
        }
    }

    fn block(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        b.within(ScopeKind::Block, None, |b| self.block_inside(b, node));
    }

    fn block_inside(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        self.locals.push(HashMap::new());
        if let Some(list) = node.child_by_field_name("parameters") {
            self.parameters(b, list);
        }
        self.visit_field(b, node, "body");
        self.locals.pop();
    }

    fn rescue(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut only = None;
        if let Some(list) = node.child_by_field_name("exceptions") {
            b.each_child(list, |b, of| match of.kind() {
                "constant" | "scope_resolution" => self.constant(b, of, UseKind::Type),
                _ => self.visit(b, of),
            });
            only = list.named_child(0).filter(|_| list.named_child_count() == 1);
        }
        let of = only.filter(|of| matches!(of.kind(), "constant" | "scope_resolution"));
        let value = of.map(|of| {
            let of = self.value(b, of);
            b.add(Expr::Instance(of))
        });
        if let Some(name) = node.child_by_field_name("variable").and_then(|variable| variable.named_child(0))
        {
            self.bind(b, name, SymbolKind::Local, value);
        }
        self.visit_field(b, node, "body");
    }
}
