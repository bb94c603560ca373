//! Symbols of PHP: namespaces, classes with their members, functions, and uses.

mod expressions;
mod imports;
mod types;
mod values;

use std::collections::HashMap;

use tree_sitter::Node;

use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeId, ScopeKind, SymbolId, SymbolKind, TreeWalk, UseKind,
};

/// Reports the symbols of a file to the builder.
pub(crate) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    let mut walk = Walk { locals: vec![HashMap::new()], ..Walk::default() };
    walk.each(builder, root);
}

/// A class whose body is being read.
struct Class<'t> {
    symbol: Option<SymbolId>,
    scope: ScopeId,
    /// Properties without a declared type, which get that of the assigned value.
    untyped: HashMap<&'t str, SymbolId>,
    /// Values that are assigned to properties.
    assigned: Vec<(&'t str, ExprId)>,
}

/// The state of the walk: what is known about the nodes around the current one.
#[derive(Default)]
struct Walk<'t> {
    /// Variables of the enclosing functions, with their values if these are known outside of the function.
    locals: Vec<HashMap<&'t str, Option<ExprId>>>,
    classes: Vec<Class<'t>>,
    has_package: bool,
    /// `true` if names of variables are replaced by their values.
    closed: bool,
}

impl<'t> TreeWalk<'t> for Walk<'t> {
    fn visit(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "namespace_definition" => self.namespace(b, node),
            "namespace_use_declaration" => self.imports(b, node),
            "class_declaration" | "interface_declaration" | "trait_declaration" | "enum_declaration" => {
                self.class(b, node);
            }
            "anonymous_class" => self.class_inside(b, node, None),
            "use_declaration" => self.traits(b, node),
            "function_definition" | "method_declaration" => self.function(b, node),
            "anonymous_function" | "arrow_function" => {
                self.types_of(b, node);
                b.within(ScopeKind::Function, None, |b| {
                    self.function_inside(b, node);
                });
            }
            "property_declaration" => self.properties(b, node),
            "const_declaration" => b.each_child(node, |b, child| match child.kind() {
                "const_element" => self.constant(b, child),
                _ => self.visit(b, child),
            }),
            "enum_case" => {
                if let Some(name) = node.child_by_field_name("name") {
                    let of = b.add(Expr::ThisType);
                    let value = Some(b.add(Expr::Instance(of)));
                    let new = New { exported: true, is_static: true, value, ..New::default() };
                    b.define(name, SymbolKind::Field, new);
                }
                self.visit_field(b, node, "value");
            }
            "named_type" => self.type_use(b, node, UseKind::Type),
            "comment"
            | "string"
            | "string_content"
            | "php_tag"
            | "text"
            | "visibility_modifier"
            | "named_label_statement"
            | "goto_statement" => {}
            kind => self.visit_expression(b, node, kind),
        }
    }
}

impl<'t> Walk<'t> {
    fn namespace(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (name, body) = (node.child_by_field_name("name"), node.child_by_field_name("body"));
        match (name, body) {
            (Some(name), None) => {
                // A second one without braces cannot be distinguished from the first.
                if !self.has_package {
                    b.package(b.text(name));
                    self.has_package = true;
                }
            }
            (Some(name), Some(body)) => {
                let mut parts = Vec::new();
                b.each_child(name, |_, part| parts.push(part));
                parts.truncate(16);
                self.namespaces(b, name.start_byte(), &parts, body);
            }
            (None, Some(body)) => self.each(b, body),
            (None, None) => {}
        }
    }

    /// Opens nested namespaces around a body. The first is placed at the start of the whole name.
    fn namespaces(&mut self, b: &mut Builder<'t>, at: usize, parts: &[Node<'t>], body: Node<'t>) {
        let Some((part, inner)) = parts.split_first() else { return self.each(b, body) };
        let new = New { exported: true, ..New::default() };
        let symbol = b.define_in(b.scope(), b.text(*part), at, SymbolKind::Namespace, new);
        let next = inner.first().map_or(at, |next| next.start_byte());
        b.within(ScopeKind::Namespace, symbol, |b| self.namespaces(b, next, inner, body));
    }

    fn class(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return self.each(b, node) };
        let symbol = b.define(name, SymbolKind::Type, New { exported: true, ..New::default() });
        self.class_inside(b, node, symbol);
    }

    /// Reads the bases and the members of a class.
    fn class_inside(&mut self, b: &mut Builder<'t>, node: Node<'t>, symbol: Option<SymbolId>) {
        let mut body = None;
        b.each_child(node, |b, child| match child.kind() {
            "base_clause" | "class_interface_clause" => {
                b.each_child(child, |b, base| self.base(b, symbol, base, None));
            }
            "declaration_list" | "enum_declaration_list" => body = Some(child),
            "name" => {}
            _ => self.visit(b, child),
        });
        let Some(body) = body else { return };
        b.within(ScopeKind::Type, symbol, |b| {
            let scope = b.scope();
            self.classes.push(Class { symbol, scope, untyped: HashMap::new(), assigned: Vec::new() });
            self.locals.push(HashMap::new());
            self.each(b, body);
            self.locals.pop();
            if let Some(class) = self.classes.pop() {
                for (name, value) in class.assigned {
                    let property = class.untyped.get(name).and_then(|symbol| b.symbol_mut(*symbol));
                    if let Some(property) = property {
                        property.value.get_or_insert(value);
                    }
                }
            }
        });
    }

    fn base(&mut self, b: &mut Builder<'t>, symbol: Option<SymbolId>, base: Node<'t>, at: Option<usize>) {
        if !matches!(base.kind(), "name" | "qualified_name" | "relative_name") {
            return;
        }
        self.type_use(b, base, UseKind::Inherit);
        let of = self.named(b, base);
        if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
            symbol.bases.insert(at.unwrap_or(symbol.bases.len()), of);
        }
    }

    /// `use T;` in a class: the members of a trait are its own.
    fn traits(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let symbol = self.classes.last().and_then(|class| class.symbol);
        // They hide those of base classes.
        b.each_child(node, |b, child| self.base(b, symbol, child, Some(0)));
    }

    fn function(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return self.each(b, node) };
        self.types_of(b, node);
        let is_method = b.scope_kind() == ScopeKind::Type;
        let constructs = is_method && b.text(name).eq_ignore_ascii_case("__construct");
        let kind = if constructs { SymbolKind::Constructor } else { SymbolKind::Function };
        let declared = node.child_by_field_name("return_type").and_then(|of| self.type_of(b, of));
        let (is_static, is_private) = modifiers(b, node);
        let new = New { exported: !is_private, is_static, declared, ..New::default() };
        let symbol = b.define(name, kind, new);
        b.within(ScopeKind::Function, symbol, |b| {
            let value = self.function_inside(b, node);
            if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
                symbol.value = value;
            }
        });
    }

    /// Reads the attributes of a function and its result's type, which are looked up outside of it.
    fn types_of(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        self.visit_field(b, node, "attributes");
        self.visit_field(b, node, "return_type");
    }

    /// Reads the parameters and the body of a function. Returns its result, if its last statement determines it.
    fn function_inside(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        self.locals.push(HashMap::new());
        if let Some(list) = node.child_by_field_name("parameters") {
            b.each_child(list, |b, parameter| self.parameter(b, parameter));
        }
        self.visit_field(b, node, "body");
        let last = node.child_by_field_name("body").and_then(|body| {
            let last = body.named_child((body.named_child_count() as u32).checked_sub(1)?)?;
            last.named_child(0).filter(|_| last.kind() == "return_statement")
        });
        let value = last.and_then(|last| self.closed_value(b, last));
        self.locals.pop();
        value
    }

    fn parameter(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if !matches!(node.kind(), "simple_parameter" | "variadic_parameter" | "property_promotion_parameter")
        {
            return;
        }
        b.each_child(node, |b, child| match child.kind() {
            "variable_name" | "visibility_modifier" | "readonly_modifier" | "by_ref" => {}
            _ => self.visit(b, child),
        });
        let declared = node.child_by_field_name("type").and_then(|of| self.type_of(b, of));
        let Some(name) = node.child_by_field_name("name") else { return };
        let name = if name.kind() == "by_ref" { name.named_child(0).unwrap_or(name) } else { name };
        let own = if node.kind() == "variadic_parameter" { None } else { declared };
        b.define(name, SymbolKind::Parameter, New { declared: own, ..New::default() });
        let value = own.map(|of| b.add(Expr::Instance(of)));
        self.hide(b.text(name), value);
        let class = self.classes.last().map(|class| class.scope);
        if let (Some(scope), Some(inner), "property_promotion_parameter") =
            (class, name.named_child(0), node.kind())
        {
            let is_private = node.child_by_field_name("visibility").is_some_and(|of| b.text(of) == "private");
            let new = New { exported: !is_private, declared, ..New::default() };
            b.define_in(scope, b.text(inner), inner.start_byte(), SymbolKind::Field, new);
        }
    }

    fn properties(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let declared = node.child_by_field_name("type").and_then(|of| self.type_of(b, of));
        let (is_static, is_private) = modifiers(b, node);
        b.each_child(node, |b, child| {
            let named = child.child_by_field_name("name").filter(|_| child.kind() == "property_element");
            let Some(name) = named.and_then(|variable| variable.named_child(0)) else {
                return self.visit(b, child);
            };
            let new = New { exported: !is_private, is_static, declared, ..New::default() };
            let symbol = b.define(name, SymbolKind::Field, new);
            if let (None, Some(symbol), Some(class)) = (declared, symbol, self.classes.last_mut()) {
                class.untyped.insert(b.text(name), symbol);
            }
            self.visit_field(b, child, "default_value");
        });
    }

    fn constant(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.named_child(0) else { return };
        let in_type = b.scope_kind() == ScopeKind::Type;
        let kind = if in_type { SymbolKind::Field } else { SymbolKind::Variable };
        b.define(name, kind, New { exported: true, is_static: in_type, ..New::default() });
        if let Some(value) = node.named_child(1) {
            b.descend(|b| self.visit(b, value));
        }
    }

    fn hide(&mut self, name: &'t str, value: Option<ExprId>) {
        if let Some(names) = self.locals.last_mut() {
            names.entry(name).or_insert(value);
        }
    }

    /// Defines a variable where it is first assigned.
    fn local(&mut self, b: &mut Builder<'t>, name: Node<'t>, value: Option<Node<'t>>, new: New) {
        let text = b.text(name);
        if text == "$this" || self.locals.iter().rev().any(|names| names.contains_key(text)) {
            return;
        }
        let closed = value.and_then(|value| self.closed_value(b, value));
        b.define(name, SymbolKind::Local, new);
        self.hide(text, closed);
    }
}

/// Returns whether a declaration is `static`, and whether it is `private`.
fn modifiers(b: &Builder<'_>, node: Node<'_>) -> (bool, bool) {
    let (mut is_static, mut is_private) = (false, false);
    for at in 0..node.named_child_count().min(8) {
        if let Some(child) = node.named_child(at as u32) {
            is_static |= child.kind() == "static_modifier";
            is_private |= child.kind() == "visibility_modifier" && b.text(child) == "private";
        }
    }
    (is_static, is_private)
}
