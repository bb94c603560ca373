//! Declarations of Java: types and their members, variables, imports.

use tree_sitter::Node;

use super::types::{type_name, types};
use super::{anonymous, walk};
use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, child_of, children, field,
};
use crate::syntax::last_name;

pub(super) fn declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "package_declaration" => {
            if let Some(name) = children(node).into_iter().find(|child| child.kind().ends_with("identifier"))
            {
                b.package(b.text(name));
            }
        }
        "import_declaration" => import(b, node),
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration" => type_declaration(b, node),
        "module_declaration" => {
            if let Some(name) = field(node, "name") {
                let at = name.start_byte() + last_name(b.text(name), ".");
                b.define_in(b.scope(), b.text(name), at, SymbolKind::Namespace, New::default());
            }
        }
        "method_declaration" | "annotation_type_element_declaration" => {
            function(b, node, SymbolKind::Function);
        }
        "constructor_declaration" | "compact_constructor_declaration" => {
            function(b, node, SymbolKind::Constructor);
        }
        "field_declaration" | "constant_declaration" => variables(b, node, SymbolKind::Field),
        "static_initializer" => b.within(ScopeKind::Function, None, |b| b.each(node)),
        "enum_constant" => enum_constant(b, node),
        "marker_annotation" | "annotation" => annotation(b, node),
        _ => b.each(node),
    }
}

fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(path) = children(node).into_iter().find(|child| child.kind().ends_with("identifier")) else {
        return;
    };
    if child_of(node, "asterisk").is_some() {
        return b.import_all(path, b.text(path), false);
    }
    let (Some(scope), Some(name)) = (field(path, "scope"), field(path, "name")) else { return };
    let local = Some(b.text(name));
    b.import(name, b.text(scope), local, local, None);
}

/// The relevant modifiers of a declaration.
#[derive(Default)]
struct Modifiers {
    is_static: bool,
    is_private: bool,
}

/// Reads the modifiers of a declaration, and reports its annotations.
fn modifiers<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Modifiers {
    let mut found = Modifiers::default();
    let Some(modifiers) = child_of(node, "modifiers") else { return found };
    let mut cursor = modifiers.walk();
    for child in modifiers.children(&mut cursor) {
        match child.kind() {
            "static" => found.is_static = true,
            "private" => found.is_private = true,
            _ => {}
        }
    }
    b.each(modifiers);
    found
}

pub(super) fn annotation<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(name) = field(node, "name") {
        type_name(b, name, UseKind::Type);
    }
    let Some(arguments) = field(node, "arguments") else { return };
    for argument in children(arguments) {
        match (argument.kind(), field(argument, "value")) {
            ("element_value_pair", Some(given)) => {
                b.value(given);
            }
            _ => {
                b.value(argument);
            }
        }
    }
}

fn type_declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let modifiers = modifiers(b, node);
    let new = New { exported: !modifiers.is_private, is_static: true, ..New::default() };
    let own = b.define(name, SymbolKind::Type, new);
    b.within(ScopeKind::Type, own, |b| {
        b.each_child(node, |b, child| match child.kind() {
            "type_parameters" => type_parameters(b, child),
            "superclass" | "super_interfaces" | "extends_interfaces" => bases(b, own, child),
            "formal_parameters" => components(b, child),
            "identifier" | "modifiers" => {}
            "interface_body" | "class_body" | "enum_body" | "annotation_type_body" => b.each(child),
            _ => {
                walk(b, child);
            }
        });
    });
}

fn bases<'t>(b: &mut Builder<'t>, own: Option<SymbolId>, node: Node<'t>) {
    let mut listed = children(node);
    if let Some(list) = listed.first().filter(|list| list.kind() == "type_list") {
        listed = children(*list);
    }
    for base in listed {
        let base = type_name(b, base, UseKind::Inherit);
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.bases.push(base);
        }
    }
}

/// The components of a record: fields with methods of the same name.
fn components<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for component in children(node) {
        modifiers(b, component);
        let declared = field(component, "type").map(|of| type_name(b, of, UseKind::Type));
        if let Some(name) = field(component, "name") {
            for kind in [SymbolKind::Field, SymbolKind::Function] {
                b.define(name, kind, New { exported: true, declared, ..New::default() });
            }
        }
    }
}

fn type_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for parameter in children(node) {
        let parts = children(parameter);
        let Some(name) = parts.iter().find(|part| part.kind() == "type_identifier") else { continue };
        let own = b.define(*name, SymbolKind::TypeParameter, New::default());
        let Some(bound) = parts.iter().find(|part| part.kind() == "type_bound") else { continue };
        let bounds: Vec<ExprId> =
            children(*bound).into_iter().map(|of| type_name(b, of, UseKind::Type)).collect();
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = bounds.first().copied();
        }
    }
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let Modifiers { is_static, is_private } = modifiers(b, node);
    let own = b.define(name, kind, New { exported: !is_private, is_static, ..New::default() });
    b.within(ScopeKind::Function, own, |b| {
        b.each_child(node, |b, child| match child.kind() {
            "type_parameters" => type_parameters(b, child),
            "formal_parameters" => formal_parameters(b, child),
            "identifier" | "modifiers" | "dimensions" => {}
            "block" | "constructor_body" => b.each(child),
            "throws" => types(b, child),
            _ if field(node, "type") == Some(child) => {
                let declared = type_name(b, child, UseKind::Type);
                let declared = dimensioned(b, node, declared);
                if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
                    own.declared = Some(declared);
                }
            }
            _ => {
                walk(b, child);
            }
        });
    });
}

pub(super) fn formal_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for parameter in children(node) {
        modifiers(b, parameter);
        if parameter.kind() == "spread_parameter" {
            spread_parameter(b, parameter);
            continue;
        }
        let (Some(name), Some(of)) = (field(parameter, "name"), field(parameter, "type")) else { continue };
        let declared = type_name(b, of, UseKind::Type);
        let declared = Some(dimensioned(b, parameter, declared));
        b.define(name, SymbolKind::Parameter, New { declared, ..New::default() });
    }
}

fn spread_parameter<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut element = b.unknown();
    for part in children(node) {
        match part.kind() {
            "modifiers" | "annotation" | "marker_annotation" => {}
            "variable_declarator" => {
                let Some(name) = field(part, "name") else { continue };
                let array = b.unknown();
                let declared = Some(b.add(Expr::Apply(array, vec![element])));
                b.define(name, SymbolKind::Parameter, New { declared, ..New::default() });
            }
            _ => element = type_name(b, part, UseKind::Type),
        }
    }
}

/// A type, as an array if the declaration has brackets after the name.
fn dimensioned(b: &mut Builder<'_>, node: Node<'_>, of: ExprId) -> ExprId {
    if field(node, "dimensions").is_none() {
        return of;
    }
    let array = b.unknown();
    b.add(Expr::Apply(array, vec![of]))
}

/// Local variables, fields and constants. The value of a field is in a scope inside the field.
pub(super) fn variables<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
    let Modifiers { is_static, is_private } = modifiers(b, node);
    let is_static = is_static || node.kind() == "constant_declaration";
    let of = field(node, "type").filter(|of| b.text(*of) != "var");
    let of = of.map(|of| type_name(b, of, UseKind::Type));
    b.each_child(node, |b, declarator| {
        if declarator.kind() != "variable_declarator" {
            return;
        }
        let declared = of.map(|of| dimensioned(b, declarator, of));
        let (name, given) = (field(declarator, "name"), field(declarator, "value"));
        if kind == SymbolKind::Local {
            let value = given.map(|given| b.value(given));
            if let Some(name) = name {
                b.define(name, kind, New { declared, value, ..New::default() });
            }
            return;
        }
        let new = New { exported: !is_private, is_static, declared, ..New::default() };
        let own = name.and_then(|name| b.define(name, kind, new));
        if let Some(given) = given {
            b.within(ScopeKind::Function, own, |b| {
                b.value(given);
            });
        }
    });
}

fn enum_constant<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    modifiers(b, node);
    let Some(name) = field(node, "name") else { return };
    let declared = b.enclosing_type().and_then(|own| b.own_name(own));
    let new = New { exported: true, is_static: true, declared, ..New::default() };
    let own = b.define(name, SymbolKind::Field, new);
    b.within(ScopeKind::Function, own, |b| {
        if let Some(arguments) = field(node, "arguments") {
            b.each(arguments);
        }
        if let (Some(body), Some(base)) = (field(node, "body"), declared) {
            anonymous(b, base, body);
        }
    });
}
