//! Items of Rust: functions, types with their members, `impl`s, modules, constants, macros.

use tree_sitter::Node;

use super::types::anonymous;
use super::{Walk, parts};
use crate::symbols::{
    Builder, Expr, ExprId, LocalWalk, New, ScopeKind, SymbolId, SymbolKind, UseKind, child_of,
};

/// Maximum number of tokens of a derive that are looked at.
const DERIVES_MAX: usize = 64;

/// The type parameters of an item, by name.
type Parameters<'t> = Vec<(&'t str, SymbolId)>;

impl<'t> Walk<'t> {
    /// Visits an item. Returns `false` if the node is not an item.
    pub(super) fn item(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> bool {
        match node.kind() {
            "attribute_item" => {
                self.attribute(b, node);
                return true;
            }
            "line_comment"
            | "block_comment"
            | "inner_attribute_item"
            | "visibility_modifier"
            | "label"
            | "lifetime"
            | "extern_modifier" => return true,
            "function_item" | "function_signature_item" => self.function_item(b, node),
            "struct_item" | "union_item" | "enum_item" => self.type_item(b, node),
            "trait_item" => self.trait_item(b, node),
            "impl_item" => self.impl_item(b, node),
            "mod_item" => self.mod_item(b, node),
            "type_item" | "associated_type" => self.alias(b, node),
            "const_item" | "static_item" => self.constant(b, node),
            "macro_definition" => self.macro_definition(b, node),
            "use_declaration" | "extern_crate_declaration" => self.use_declaration(b, node),
            "let_declaration" => self.let_declaration(b, node),
            _ => return false,
        }
        self.module_file = None;
        self.derived.clear();
        true
    }

    /// Remembers `#[path = "…"]` and `#[derive(…)]` for the item that follows. What a derive is named after is most often a trait of
    /// that name, whose methods the type then has.
    fn attribute(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(attribute) = node.named_child(0) else { return };
        let name = attribute.named_child(0).map_or("", |name| b.text(name));
        if let Some(tree) = attribute.child_by_field_name("arguments").filter(|_| name == "derive") {
            let mut path: Option<ExprId> = None;
            for token in parts(tree).into_iter().take(DERIVES_MAX) {
                let follows = token.prev_sibling().is_some_and(|before| before.kind() == "::");
                path = match path.filter(|_| follows) {
                    Some(of) => Some(b.member(of, b.text(token))),
                    None => {
                        self.derived.extend(path);
                        Some(b.name(b.text(token)))
                    }
                };
            }
            self.derived.extend(path);
        }
        if attribute.named_child(0).is_some_and(|name| b.text(name) == "path") {
            let content =
                attribute.child_by_field_name("value").and_then(|value| child_of(value, "string_content"));
            self.module_file = content.map(|content| b.text(content));
        }
    }

    fn function_item(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let parameters = node.child_by_field_name("parameters").map(parts).unwrap_or_default();
        let new =
            New { exported: is_exported(node), is_static: !parameters.iter().any(is_self), ..New::default() };
        let symbol = b.define(name, SymbolKind::Function, new);
        self.within(b, ScopeKind::Function, symbol, |walk, b| {
            walk.type_parameters(b, node);
            for parameter in parameters {
                walk.parameter(b, parameter, None);
            }
            let mut declared = walk.field(b, node, "return_type");
            if is_async(node) {
                // It gives a future, which is a generic type.
                declared = declared.map(|declared| anonymous(b, vec![declared]));
            }
            if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
                symbol.declared = declared;
            }
            // The block of a function is its scope.
            if let Some(body) = node.child_by_field_name("body") {
                walk.children(b, body);
            }
        });
    }

    /// A parameter of a function or closure; `value` is known of some that have no type.
    pub(super) fn parameter(&mut self, b: &mut Builder<'t>, node: Node<'t>, value: Option<ExprId>) {
        match node.kind() {
            "self_parameter" | "variadic_parameter" => {}
            "parameter" => {
                let declared = self.field(b, node, "type");
                if let Some(pattern) = node.child_by_field_name("pattern").filter(|one| one.kind() != "self")
                {
                    self.bind(b, pattern, SymbolKind::Parameter, New { declared, ..New::default() });
                }
            }
            _ => self.bind(b, node, SymbolKind::Parameter, New { value, ..New::default() }),
        }
    }

    /// Defines the type parameters of an item in the innermost scope, with their bounds.
    fn type_parameters(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut known = Parameters::new();
        for one in node.child_by_field_name("type_parameters").map(parts).unwrap_or_default() {
            let Some(name) = one.child_by_field_name("name") else { continue };
            if one.kind() == "lifetime_parameter" {
                continue;
            }
            self.field(b, one, "default_type");
            let of = self.field(b, one, "type");
            let bounds = self.bounds(b, one, UseKind::Type);
            let kind = match of {
                Some(_) => SymbolKind::Parameter,
                None => SymbolKind::TypeParameter,
            };
            let declared = of.or_else(|| together(b, bounds));
            let symbol = self.define_local(b, name, kind, New { declared, ..New::default() });
            known.extend(symbol.map(|symbol| (b.text(name), symbol)));
        }
        let Some(clause) = child_of(node, "where_clause") else { return };
        for predicate in parts(clause) {
            let Some(left) = predicate.child_by_field_name("left") else { continue };
            self.visit(b, left);
            let mut bounds = self.bounds(b, predicate, UseKind::Type);
            let symbol = known.iter().find(|(name, _)| *name == b.text(left)).map(|(_, symbol)| *symbol);
            let Some(symbol) = symbol else { continue };
            bounds.extend(b.symbol_mut(symbol).and_then(|symbol| symbol.declared));
            let declared = together(b, bounds);
            if let Some(symbol) = b.symbol_mut(symbol) {
                symbol.declared = declared;
            }
        }
    }

    /// The traits in the bounds of a node.
    fn bounds(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> Vec<ExprId> {
        let mut traits = Vec::new();
        for bound in node.child_by_field_name("bounds").map(parts).unwrap_or_default() {
            if !matches!(bound.kind(), "lifetime" | "removed_trait_bound") {
                traits.push(self.visit_as(b, bound, kind));
            }
        }
        traits
    }

    fn type_item(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let bases = std::mem::take(&mut self.derived);
        let new = New { exported: is_exported(node), bases, ..New::default() };
        let symbol = b.define(name, SymbolKind::Type, new);
        self.within(b, ScopeKind::Type, symbol, |walk, b| {
            walk.type_parameters(b, node);
            if let Some(body) = node.child_by_field_name("body") {
                walk.members(b, body);
            }
        });
    }

    /// The fields of a struct, named or numbered, or the variants of an enum.
    fn members(&mut self, b: &mut Builder<'t>, body: Node<'t>) {
        let mut number = 0;
        for member in parts(body) {
            let exported = is_exported(member);
            match (member.kind(), member.child_by_field_name("name")) {
                ("field_declaration", Some(name)) => {
                    let declared = self.field(b, member, "type");
                    b.define(name, SymbolKind::Field, New { exported, declared, ..New::default() });
                }
                ("enum_variant", Some(name)) => {
                    let declared = Some(b.add(Expr::ThisType));
                    // A value of a variant has its fields, and the members of the enum.
                    let bases = declared.into_iter().collect();
                    let new = New { exported: true, is_static: true, declared, bases, ..New::default() };
                    let symbol = b.define(name, SymbolKind::Field, new);
                    self.field(b, member, "value");
                    if let Some(body) = member.child_by_field_name("body") {
                        b.descend(|b| {
                            self.within(b, ScopeKind::Type, symbol, |walk, b| walk.members(b, body));
                        });
                    }
                }
                ("visibility_modifier", _) => {}
                _ => {
                    // A field without a name: its number is its name.
                    let declared = Some(self.visit(b, member));
                    let new = New { exported: true, declared, ..New::default() };
                    let (scope, at) = (b.scope(), member.start_byte());
                    b.define_in(scope, &number.to_string(), at, SymbolKind::Field, new);
                    number += 1;
                }
            }
        }
    }

    fn trait_item(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let symbol = b.define(name, SymbolKind::Type, New { exported: is_exported(node), ..New::default() });
        self.within(b, ScopeKind::Type, symbol, |walk, b| {
            walk.type_parameters(b, node);
            let bases = walk.bounds(b, node, UseKind::Inherit);
            if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
                symbol.bases = bases;
            }
            if let Some(body) = node.child_by_field_name("body") {
                walk.children(b, body);
            }
        });
    }

    fn impl_item(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(of) = node.child_by_field_name("type") else { return };
        let bases: Vec<ExprId> = node
            .child_by_field_name("trait")
            .map(|of| self.visit_as(b, of, UseKind::Inherit))
            .into_iter()
            .collect();
        let target = self.visit(b, of);
        let target = match b.expr(target) {
            Expr::Apply(of, _) => *of,
            _ => target,
        };
        self.locals.enter();
        b.within_target(target, bases, |b| {
            self.type_parameters(b, node);
            if let Some(body) = node.child_by_field_name("body") {
                self.children(b, body);
            }
        });
        self.locals.leave();
    }

    fn mod_item(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (file, exported) = (self.module_file.take(), is_exported(node));
        let Some(name) = node.child_by_field_name("name") else { return };
        let Some(body) = node.child_by_field_name("body") else {
            return self.module_file(b, name, file, exported);
        };
        let symbol = b.define(name, SymbolKind::Namespace, New { exported, ..New::default() });
        self.modules.push(b.text(name));
        self.within(b, ScopeKind::Namespace, symbol, |walk, b| walk.children(b, body));
        self.modules.pop();
    }

    fn alias(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let bounds = self.bounds(b, node, UseKind::Type);
        let declared = self.field(b, node, "type").or_else(|| together(b, bounds));
        b.define(name, SymbolKind::Alias, New { exported: is_exported(node), declared, ..New::default() });
    }

    fn constant(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let declared = self.field(b, node, "type");
        self.field(b, node, "value");
        let new = New { exported: is_exported(node), declared, ..New::default() };
        match b.scope_kind() {
            ScopeKind::Type => b.define(name, SymbolKind::Field, New { is_static: true, ..new }),
            ScopeKind::Function | ScopeKind::Block => self.define_local(b, name, SymbolKind::Local, new),
            ScopeKind::File | ScopeKind::Namespace => b.define(name, SymbolKind::Variable, new),
        };
    }

    fn macro_definition(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if let Some(name) = node.child_by_field_name("name") {
            b.define(name, SymbolKind::Macro, New { exported: true, ..New::default() });
        }
        for rule in parts(node) {
            if let Some(right) = rule.child_by_field_name("right") {
                self.tokens(b, right);
            }
        }
    }

    fn let_declaration(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let value = self.field(b, node, "value");
        let declared = self.field(b, node, "type");
        self.field(b, node, "alternative");
        if let Some(pattern) = node.child_by_field_name("pattern") {
            let value = value.filter(|_| declared.is_none());
            self.bind(b, pattern, SymbolKind::Local, New { declared, value, ..New::default() });
        }
    }
}

/// A type that has the members of all bounds.
fn together(b: &mut Builder<'_>, mut bounds: Vec<ExprId>) -> Option<ExprId> {
    match bounds.len() {
        0 | 1 => bounds.pop(),
        _ => Some(b.add(Expr::Either(bounds))),
    }
}

fn is_exported(node: Node<'_>) -> bool {
    child_of(node, "visibility_modifier").is_some()
}

fn is_async(node: Node<'_>) -> bool {
    let Some(modifiers) = child_of(node, "function_modifiers") else { return false };
    let mut cursor = modifiers.walk();
    modifiers.children(&mut cursor).any(|modifier| modifier.kind() == "async")
}

/// Checks whether a parameter is the instance of a method.
fn is_self(parameter: &Node<'_>) -> bool {
    parameter.kind() == "self_parameter"
        || parameter.child_by_field_name("pattern").is_some_and(|pattern| pattern.kind() == "self")
}
