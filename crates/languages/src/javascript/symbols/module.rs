//! Imports and exports of JavaScript and TypeScript.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{ExprId, New, SymbolKind, UseKind};

impl<'t> Walk<'_, 't> {
    pub(super) fn import(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let clause = node.named_children(&mut cursor).find(|child| child.kind().starts_with("import_"));
        if let Some(clause) = clause.filter(|clause| clause.kind() == "import_require_clause") {
            if let (Some(name), Some(source)) = (clause.named_child(0), clause.child_by_field_name("source"))
            {
                let (module, local) = (self.string(source), self.b.text(name));
                self.b.import(source, module, None, Some(local), None);
            }
            return;
        }
        let Some(source) = node.child_by_field_name("source") else { return };
        let module = self.string(source);
        let Some(clause) = clause.filter(|clause| clause.kind() == "import_clause") else {
            self.b.import(source, module, None, None, None);
            return;
        };
        let mut parts = clause.walk();
        for part in clause.named_children(&mut parts) {
            match part.kind() {
                "identifier" => {
                    self.b.import(part, module, Some("default"), Some(self.b.text(part)), None);
                }
                "namespace_import" => {
                    if let Some(name) = part.named_child(0) {
                        self.b.import(source, module, None, Some(self.b.text(name)), None);
                    }
                }
                "named_imports" => self.named_imports(part, module),
                _ => {}
            }
        }
    }

    fn named_imports(&mut self, node: Node<'t>, module: &str) {
        let mut cursor = node.walk();
        for specifier in node.named_children(&mut cursor).filter(|child| child.kind() == "import_specifier") {
            let Some(name) = specifier.child_by_field_name("name") else { continue };
            let local = specifier.child_by_field_name("alias").unwrap_or(name);
            self.b.import(name, module, Some(self.key(name)), Some(self.b.text(local)), None);
        }
    }

    /// `import A = B.C`.
    pub(super) fn import_alias(&mut self, node: Node<'t>) {
        let exported = std::mem::take(&mut self.exported);
        if let (Some(name), Some(of)) = (node.named_child(0), node.named_child(1)) {
            let value = self.nested(of);
            let new = New { exported, value: Some(value), ..New::default() };
            self.b.define(name, SymbolKind::Alias, new);
        }
    }

    pub(super) fn export(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for decorator in node.children_by_field_name("decorator", &mut cursor) {
            self.decorator(decorator);
        }
        if let Some(source) = node.child_by_field_name("source") {
            self.export_from(node, source);
            return;
        }
        let is_default = node.children(&mut node.walk()).take(4).any(|child| child.kind() == "default");
        if let Some(declaration) = node.child_by_field_name("declaration") {
            self.exported = true;
            self.value(declaration);
            self.exported = false;
            if is_default && let Some(name) = declaration.child_by_field_name("name") {
                let value = self.b.name(self.b.text(name));
                self.b.export("default", value);
            }
            return;
        }
        if let Some(value) = node.child_by_field_name("value") {
            let value = self.value(value);
            self.b.export("default", value);
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "export_clause" => self.export_clause(child),
                "comment" | "decorator" => {}
                // `export = value`
                _ => {
                    let value = self.value(child);
                    self.b.export("=", value);
                }
            }
        }
    }

    fn export_clause(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for specifier in node.named_children(&mut cursor).filter(|child| child.kind() == "export_specifier") {
            let Some(name) = specifier.child_by_field_name("name") else { continue };
            let outside = specifier.child_by_field_name("alias").unwrap_or(name);
            let value = self.b.name(self.key(name));
            self.b.used(UseKind::Read, value, name);
            self.b.export(self.key(outside), value);
        }
    }

    fn export_from(&mut self, node: Node<'t>, source: Node<'t>) {
        let module = self.string(source);
        let mut cursor = node.walk();
        let clause = node
            .named_children(&mut cursor)
            .find(|child| child.id() != source.id() && child.kind() != "comment");
        match clause.map(|clause| (clause.kind(), clause)) {
            Some(("namespace_export", clause)) => {
                if let Some(name) = clause.named_child(0) {
                    self.b.import(source, module, None, None, Some(self.key(name)));
                }
            }
            Some(("export_clause", clause)) => {
                let mut cursor = clause.walk();
                let specifiers = clause.named_children(&mut cursor);
                for specifier in specifiers.filter(|child| child.kind() == "export_specifier") {
                    let Some(name) = specifier.child_by_field_name("name") else { continue };
                    let outside = specifier.child_by_field_name("alias").unwrap_or(name);
                    self.b.import(name, module, Some(self.key(name)), None, Some(self.key(outside)));
                }
            }
            _ => self.b.import_all(source, module, true),
        }
    }

    /// The module of `require('…')` or `import('…')`.
    pub(super) fn required(&self, node: Node<'t>) -> Option<Node<'t>> {
        if node.kind() != "call_expression" {
            return None;
        }
        let function = node.child_by_field_name("function")?;
        let is_require = function.kind() == "import"
            || (function.kind() == "identifier" && self.b.text(function) == "require");
        let argument = node.child_by_field_name("arguments")?.named_child(0)?;
        (is_require && matches!(argument.kind(), "string" | "template_string")).then_some(argument)
    }

    /// A module as a value. It is bound to a name that no code can have.
    pub(super) fn import_as_value(&mut self, source: Node<'t>) -> ExprId {
        let module = self.string(source);
        let local = format!("require {module}");
        self.b.import(source, module, None, Some(&local), None);
        self.b.name(&local)
    }

    /// `const { a, b: c } = require('…')`.
    pub(super) fn import_pattern(&mut self, pattern: Node<'t>, source: Node<'t>) {
        let module = self.string(source);
        let mut cursor = pattern.walk();
        for part in pattern.named_children(&mut cursor) {
            let (name, local) = match part.kind() {
                "shorthand_property_identifier_pattern" => (Some(part), Some(part)),
                "pair_pattern" => (part.child_by_field_name("key"), part.child_by_field_name("value")),
                "object_assignment_pattern" => {
                    (part.child_by_field_name("left"), part.child_by_field_name("left"))
                }
                _ => (None, None),
            };
            if let (Some(name), Some(local)) = (name, local) {
                self.b.import(name, module, Some(self.key(name)), Some(self.b.text(local)), None);
            }
        }
    }

    /// `module.exports = …`: an object's members are exported one by one.
    pub(super) fn exports_all(&mut self, right: Node<'t>) -> Option<ExprId> {
        if right.kind() == "object" {
            let mut cursor = right.walk();
            for part in right.named_children(&mut cursor) {
                let (name, value) = match part.kind() {
                    "shorthand_property_identifier" => (Some(part), Some(part)),
                    "pair" => (part.child_by_field_name("key"), part.child_by_field_name("value")),
                    _ => (None, None),
                };
                if let (Some(name), Some(value)) = (name, value)
                    && matches!(value.kind(), "identifier" | "shorthand_property_identifier")
                {
                    let value = self.b.name(self.b.text(value));
                    self.b.export(self.key(name), value);
                }
            }
        }
        let value = self.value(right);
        if matches!(right.kind(), "identifier" | "member_expression" | "new_expression" | "call_expression") {
            let outward = self.b.outward(value);
            self.b.export("=", outward);
        }
        Some(value)
    }

    /// `exports.name = …`
    pub(super) fn exports_member(&mut self, name: Node<'t>, right: Node<'t>, is_function: bool) -> ExprId {
        let text = self.b.text(name);
        if is_function {
            let new = New { exported: true, ..New::default() };
            let symbol = self.b.define_in(0, text, name.start_byte(), SymbolKind::Function, new);
            self.function(right, symbol);
            return self.b.name(text);
        }
        let value = self.value(right);
        let outward = self.b.outward(value);
        self.b.export(text, outward);
        value
    }
}
