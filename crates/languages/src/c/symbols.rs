//! Symbols of C and C++. One walk serves both, because they share headers; what only C++ has is in `cpp/symbols.rs`.

mod declarator;
mod expressions;
mod macros;
mod types;

use std::collections::HashSet;

use tree_sitter::Node;

use crate::symbols::{Builder, ExprId, New, ScopeKind, SymbolId, SymbolKind, TreeWalk, UseKind};

pub(crate) use declarator::Declared;

/// Reports the symbols of a file to the builder.
pub(crate) fn extract<'t>(builder: &mut Builder<'t>, root: Node<'t>) {
    Walk::default().each(builder, root);
}

/// The state of the walk: what is known about the nodes around the current one.
#[derive(Default)]
pub(crate) struct Walk<'t> {
    /// Names of parameters, local variables and type parameters, a set for each scope that can bind some.
    locals: Vec<HashSet<&'t str>>,
    /// The names of the enclosing classes, with those of their base classes.
    pub(crate) classes: Vec<(&'t str, Vec<&'t str>)>,
    /// The parameters of a template, until the scope is opened to which they belong.
    pub(crate) template: Vec<Node<'t>>,
    /// Nesting of namespaces without a name, whose content is private to the file.
    pub(crate) anonymous: u32,
}

/// The words that precede a declaration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Storage {
    pub(crate) is_static: bool,
    pub(crate) is_extern: bool,
}

impl<'t> TreeWalk<'t> for Walk<'t> {
    fn visit(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        match node.kind() {
            "function_definition" => self.function(b, node),
            "declaration" | "field_declaration" => self.declaration(b, node),
            "type_definition" => self.type_definition(b, node),
            "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier" => {
                self.specifier(b, node, false);
            }
            "compound_statement" | "for_statement" | "if_statement" | "while_statement"
            | "switch_statement" | "catch_clause" => self.statement(b, node),
            "preproc_include" => self.include(b, node),
            "preproc_def" | "preproc_function_def" => self.macro_definition(b, node),
            "preproc_call" => {}
            kind if is_type(kind) => self.type_use(b, node, UseKind::Type),
            // Attributes, labels, designators of fields and comments name nothing that is defined in code.
            "attribute_specifier"
            | "attribute_declaration"
            | "ms_declspec_modifier"
            | "statement_identifier"
            | "field_identifier"
            | "field_designator"
            | "comment"
            | "string_literal"
            | "raw_string_literal" => {}
            kind => {
                if !self.visit_cpp(b, node, kind) {
                    self.visit_expression(b, node, kind);
                }
            }
        }
    }
}

impl<'t> Walk<'t> {
    /// Visits all named children but those in some fields.
    pub(crate) fn each_except(&mut self, b: &mut Builder<'t>, node: Node<'t>, fields: &[&str]) {
        for (field, child) in children(node) {
            if !field.is_some_and(|field| fields.contains(&field)) {
                b.descend(|b| self.visit(b, child));
            }
        }
    }

    /// Checks whether a name is that of a parameter, a local variable or a type parameter.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        self.locals.iter().any(|names| names.contains(name))
    }

    fn hide(&mut self, name: &'t str) {
        if let Some(names) = self.locals.last_mut() {
            names.insert(name);
        }
    }

    /// Defines a local variable.
    pub(crate) fn local(&mut self, b: &mut Builder<'t>, name: Node<'t>, new: New) {
        b.define(name, SymbolKind::Local, new);
        self.hide(b.text(name));
    }

    /// Opens a scope, with the parameters of the template that was pending.
    pub(crate) fn within(
        &mut self,
        b: &mut Builder<'t>,
        kind: ScopeKind,
        symbol: Option<SymbolId>,
        work: impl FnOnce(&mut Self, &mut Builder<'t>),
    ) {
        b.within(kind, symbol, |b| {
            self.locals.push(HashSet::new());
            for parameter in std::mem::take(&mut self.template) {
                b.define(parameter, SymbolKind::TypeParameter, New::default());
                self.hide(b.text(parameter));
            }
            work(self, b);
            self.locals.pop();
        });
    }

    /// Opens a block if the statement declares names of its own.
    fn statement(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let declares = |node: Node<'t>| {
            children(node)
                .any(|(_, child)| matches!(child.kind(), "declaration" | "init_statement" | "parameter_list"))
        };
        let opens = declares(node) || node.child_by_field_name("condition").is_some_and(declares);
        // A body without a function is that of a macro: `TEST_CASE("name") { … }`.
        let is_body = node.kind() == "compound_statement"
            && matches!(b.scope_kind(), ScopeKind::File | ScopeKind::Namespace | ScopeKind::Type);
        if is_body {
            return self.within(b, ScopeKind::Function, None, |walk, b| walk.each(b, node));
        }
        if !opens || !b.in_function() {
            return self.each(b, node);
        }
        self.within(b, ScopeKind::Block, None, |walk, b| {
            for (_, child) in children(node) {
                b.descend(|b| match child.kind() {
                    "parameter_list" => walk.parameters(b, child),
                    _ => walk.visit(b, child),
                });
            }
        });
    }

    fn include(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(path) = node.child_by_field_name("path") else { return };
        match path.kind() {
            // The angle brackets stay, because such a file is searched for in other folders than a quoted one.
            "system_lib_string" => b.import_all(path, b.text(path), true),
            "string_literal" => b.import_all(path, b.text(path).trim_matches('"'), true),
            _ => self.each(b, node),
        }
    }

    fn function(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let base = self.declared_type(b, node);
        let Some(node_declarator) = node.child_by_field_name("declarator") else {
            return self.each_except(b, node, &["type"]);
        };
        let declared = self.declarator(b, node_declarator, base);
        if declared.function.is_none() && node_declarator.kind() != "operator_cast" {
            // A macro made it look like a function: the content of the braces belongs to the enclosing scope.
            self.each_except(b, node, &["type", "declarator", "body"]);
            if let Some(body) = node.child_by_field_name("body") {
                b.descend(|b| self.each(b, body));
            }
            return;
        }
        let storage = storage(b, node);
        let body = |walk: &mut Self, b: &mut Builder<'t>, symbol: Option<SymbolId>| {
            walk.within(b, ScopeKind::Function, symbol, |walk, b| {
                if let Some(list) = declared.function.and_then(|f| f.child_by_field_name("parameters")) {
                    walk.parameters(b, list);
                }
                for (field, child) in children(node) {
                    match field {
                        Some("type" | "declarator") => {}
                        Some("body") if child.kind() == "compound_statement" => walk.each(b, child),
                        _ => b.descend(|b| walk.visit(b, child)),
                    }
                }
            });
        };
        self.define_function(b, &declared, storage, false, body);
    }

    /// Defines a function or its prototype, and runs `inside` where its inside would be.
    fn define_function(
        &mut self,
        b: &mut Builder<'t>,
        declared: &Declared<'t>,
        storage: Storage,
        is_declaration: bool,
        inside: impl FnOnce(&mut Self, &mut Builder<'t>, Option<SymbolId>),
    ) {
        let Some(name) = declared.name else { return inside(self, b, None) };
        let in_type = b.scope_kind() == ScopeKind::Type;
        let new = New {
            exported: (in_type || !storage.is_static) && self.anonymous == 0,
            is_static: in_type && storage.is_static,
            is_declaration,
            declared: declared.declared,
            ..New::default()
        };
        let (outer, last) = self.split_name(b, name);
        let (at, text) = (last.start_byte(), b.text(last));
        let Some((target, class)) = outer else {
            let constructs = in_type && self.classes.last().is_some_and(|(class, _)| *class == text);
            let kind = if constructs { SymbolKind::Constructor } else { SymbolKind::Function };
            let symbol = b.define_in(b.scope(), text, at, kind, new);
            return inside(self, b, symbol);
        };
        let kind = if class == text { SymbolKind::Constructor } else { SymbolKind::Function };
        self.classes.push((class, Vec::new()));
        b.within_target(target, Vec::new(), |b| {
            let symbol = b.define_in(b.scope(), text, at, kind, new);
            inside(self, b, symbol);
        });
        self.classes.pop();
    }

    /// Defines the parameters of a function whose scope is open.
    pub(crate) fn parameters(&mut self, b: &mut Builder<'t>, list: Node<'t>) {
        for (_, parameter) in children(list) {
            b.descend(|b| match parameter.kind() {
                "parameter_declaration"
                | "optional_parameter_declaration"
                | "variadic_parameter_declaration" => {
                    let base = self.declared_type(b, parameter);
                    if let Some(node) = parameter.child_by_field_name("declarator") {
                        let declared = self.declarator(b, node, base);
                        self.define_value(b, &declared, SymbolKind::Parameter, New::default());
                    }
                    self.visit_field(b, parameter, "default_value");
                }
                "identifier" => {
                    b.define(parameter, SymbolKind::Parameter, New::default());
                    self.hide(b.text(parameter));
                }
                _ => {}
            });
        }
    }

    /// Defines a value by its declarator.
    fn define_value(
        &mut self,
        b: &mut Builder<'t>,
        declared: &Declared<'t>,
        kind: SymbolKind,
        new: New,
    ) -> Option<SymbolId> {
        let name = declared.name?;
        let declared = declared.declared.filter(|_| declared.function.is_none());
        if matches!(kind, SymbolKind::Parameter | SymbolKind::Local) {
            self.hide(b.text(name));
        }
        let new = New { declared, ..new };
        if name.kind() != "qualified_identifier" {
            return b.define_in(b.scope(), b.text(name), name.start_byte(), kind, new);
        }
        // A static member is defined outside of its class.
        let (Some((target, _)), last) = self.split_name(b, name) else { return None };
        b.within_target(target, Vec::new(), |b| {
            b.define_in(b.scope(), b.text(last), last.start_byte(), kind, new);
        });
        None
    }

    fn declaration(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let base = self.declared_type(b, node);
        let storage = storage(b, node);
        let mut latest = None;
        for (field, child) in children(node) {
            b.descend(|b| match field {
                Some("declarator") => {
                    let outer = node.child_by_field_name("value");
                    latest = self.declare(b, node, child, base, storage, outer);
                }
                Some("default_value") => {
                    if let Some(symbol) = latest {
                        self.set_value(b, symbol, child);
                    }
                    self.visit(b, child);
                }
                Some("type") => {}
                _ => self.visit(b, child),
            });
        }
    }

    /// Declares what one declarator of a declaration names.
    fn declare(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        child: Node<'t>,
        base: Option<ExprId>,
        storage: Storage,
        outer: Option<Node<'t>>,
    ) -> Option<SymbolId> {
        let (declarator, value) = match child.kind() {
            "init_declarator" => {
                (child.child_by_field_name("declarator")?, child.child_by_field_name("value"))
            }
            _ => (child, outer),
        };
        if declarator.kind() == "structured_binding_declarator" {
            self.bind_parts(b, declarator, value);
        } else {
            let declared = self.declarator(b, declarator, base);
            let constructs =
                declared.function.and_then(|function| function.child_by_field_name("parameters"));
            if let Some(parameters) = constructs {
                if !self.is_construction(b, parameters) {
                    self.prototype(b, &declared, storage, parameters);
                    return None;
                }
                // `T x(a, b)`, which the grammar takes for a function.
                self.construction(b, node);
                let declared = Declared { function: None, ..declared };
                self.types_in(b, parameters);
                return self.define_value(b, &declared, SymbolKind::Local, New::default());
            }
            let is_direct = child.child(1).is_none_or(|mark| mark.kind() != "=");
            if is_direct
                && matches!(value.map(|value| value.kind()), Some("argument_list" | "initializer_list"))
            {
                self.construction(b, node);
            }
            let kind = match b.scope_kind() {
                ScopeKind::File | ScopeKind::Namespace => SymbolKind::Variable,
                ScopeKind::Type => SymbolKind::Field,
                ScopeKind::Function | ScopeKind::Block => SymbolKind::Local,
            };
            let new = New {
                exported: !storage.is_static && self.anonymous == 0,
                is_static: kind == SymbolKind::Field && storage.is_static,
                is_declaration: storage.is_extern && value.is_none(),
                value: value.filter(|_| declared.declared.is_none()).map(|value| self.expr(b, value)),
                ..New::default()
            };
            let symbol = self.define_value(b, &declared, kind, new);
            if child.kind() == "init_declarator" {
                self.visit_field(b, child, "value");
            }
            return symbol;
        }
        if child.kind() == "init_declarator" {
            self.visit_field(b, child, "value");
        }
        None
    }

    fn set_value(&mut self, b: &mut Builder<'t>, symbol: SymbolId, value: Node<'t>) {
        let value = self.expr(b, value);
        if let Some(symbol) = b.symbol_mut(symbol) {
            symbol.value = Some(value);
        }
    }

    /// Declares a function that is defined elsewhere.
    fn prototype(
        &mut self,
        b: &mut Builder<'t>,
        declared: &Declared<'t>,
        storage: Storage,
        parameters: Node<'t>,
    ) {
        self.template.clear();
        self.define_function(b, declared, storage, true, |walk, b, _| walk.types_in(b, parameters));
    }

    /// Reports the types that a list of parameters names.
    fn types_in(&mut self, b: &mut Builder<'t>, parameters: Node<'t>) {
        for (_, parameter) in children(parameters) {
            b.descend(|b| {
                self.declared_type(b, parameter);
                self.visit_field(b, parameter, "default_value");
            });
        }
    }
}

/// The named children of a node, with their fields.
pub(crate) fn children<'t>(node: Node<'t>) -> impl Iterator<Item = (Option<&'t str>, Node<'t>)> {
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    std::iter::from_fn(move || {
        while more {
            let found = (cursor.field_name(), cursor.node());
            more = cursor.goto_next_sibling();
            if found.1.is_named() {
                return Some(found);
            }
        }
        None
    })
}

/// Checks whether a node of this kind names a type.
fn is_type(kind: &str) -> bool {
    matches!(kind, "type_identifier" | "template_type" | "dependent_type" | "type_descriptor")
}

/// The storage class of a declaration. Reads its first children only: what precedes the type and the names.
fn storage(b: &Builder<'_>, node: Node<'_>) -> Storage {
    let mut storage = Storage::default();
    for (_, child) in children(node).take(8) {
        if child.kind() == "storage_class_specifier" {
            storage.is_static |= b.text(child) == "static";
            storage.is_extern |= b.text(child) == "extern";
        }
    }
    storage
}
