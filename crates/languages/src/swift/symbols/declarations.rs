//! Declarations of Swift: types, extensions and their members, functions, properties.

use tree_sitter::Node;

use super::types::type_name;
use super::{pattern, walk};
use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, child_of, children, field,
};

pub(super) fn declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "import_declaration" => {
            if let Some(path) = child_of(node, "identifier") {
                b.import_all(path, b.text(path), false);
            }
        }
        "class_declaration" | "protocol_declaration" => type_declaration(b, node),
        "function_declaration" | "protocol_function_declaration" => function(b, node, SymbolKind::Function),
        "init_declaration" => function(b, node, SymbolKind::Constructor),
        "deinit_declaration" => b.within(ScopeKind::Function, None, |b| b.each(node)),
        "subscript_declaration" => b.within(ScopeKind::Function, None, |b| inside(b, node, None)),
        "property_declaration" | "protocol_property_declaration" => property(b, node),
        "enum_entry" => enum_entry(b, node),
        "typealias_declaration" | "associatedtype_declaration" => alias(b, node),
        "attribute" => {
            for part in children(node) {
                if part.kind() == "user_type" {
                    type_name(b, part, UseKind::Type);
                } else {
                    b.value(part);
                }
            }
        }
        _ => b.each(node),
    }
}

/// Returns whether a declaration is private, and whether it is static. Reports its attributes.
fn modifiers<'t>(b: &mut Builder<'t>, node: Node<'t>) -> (bool, bool) {
    let Some(listed) = child_of(node, "modifiers") else { return (false, false) };
    let (mut private, mut is_static) = (false, false);
    for word in children(listed) {
        match b.text(word) {
            "private" | "fileprivate" => private = true,
            "static" | "class" => is_static = true,
            _ if word.kind() == "attribute" => declaration(b, word),
            _ => {}
        }
    }
    (private, is_static)
}

fn type_declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let (private, _) = modifiers(b, node);
    if field(node, "declaration_kind").is_some_and(|kind| kind.kind() == "extension") {
        let of = type_name(b, name, UseKind::Type);
        let bases = bases(b, node);
        return b.within_target(of, bases, |b| body(b, node));
    }
    let new = New { exported: !private, is_static: true, ..New::default() };
    let own = b.define(name, SymbolKind::Type, new);
    b.within(ScopeKind::Type, own, |b| {
        if let Some(listed) = child_of(node, "type_parameters") {
            type_parameters(b, listed);
        }
        let bases = bases(b, node);
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.bases = bases;
        }
        body(b, node);
    });
}

fn body<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(constraints) = child_of(node, "type_constraints") {
        b.each(constraints);
    }
    if let Some(body) = field(node, "body") {
        b.each(body);
    }
}

fn bases<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Vec<ExprId> {
    let listed = children(node).into_iter().filter(|part| part.kind() == "inheritance_specifier");
    let listed = listed.filter_map(|part| field(part, "inherits_from"));
    listed.map(|of| type_name(b, of, UseKind::Inherit)).collect()
}

fn type_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for parameter in children(node).into_iter().filter(|part| part.kind() == "type_parameter") {
        let Some(name) = child_of(parameter, "type_identifier") else { continue };
        let own = b.define(name, SymbolKind::TypeParameter, New::default());
        let bound = field(parameter, "name").map(|of| type_name(b, of, UseKind::Type));
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = bound;
        }
    }
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let (private, is_static) = modifiers(b, node);
    let new = New { exported: !private, is_static, ..New::default() };
    let own = b.define_in(b.scope(), b.text(name).trim_matches('`'), name.start_byte(), kind, new);
    b.within(ScopeKind::Function, own, |b| inside(b, node, own));
}

/// Parameters, result and body of a function.
fn inside<'t>(b: &mut Builder<'t>, node: Node<'t>, own: Option<SymbolId>) {
    let mut result = None;
    let name = field(node, "name").map(|name| name.start_byte());
    b.each_child(node, |b, part| match part.kind() {
        "type_parameters" => type_parameters(b, part),
        "parameter" => parameters(b, part),
        "function_body" | "computed_property" => b.each(part),
        "modifiers" => {}
        _ if Some(part.start_byte()) == name => {}
        kind if kind.ends_with("_type") => result = Some(type_name(b, part, UseKind::Type)),
        _ => {
            walk(b, part);
        }
    });
    if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
        own.declared = result;
    }
}

/// One parameter: its name in the function is the last before the type.
pub(super) fn parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut name = None;
    let mut declared = None;
    for part in children(node) {
        match part.kind() {
            "simple_identifier" => name = Some(part),
            "parameter_modifiers" | "type_modifiers" => {}
            "attribute" => declaration(b, part),
            _ => declared = Some(type_name(b, part, UseKind::Type)),
        }
    }
    if child_of(node, "...").is_some() {
        let none = b.unknown();
        declared = declared.map(|of| b.add(Expr::Apply(none, vec![of])));
    }
    if let Some(name) = name {
        b.define(name, SymbolKind::Parameter, New { declared, ..New::default() });
    }
}

fn property<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (private, is_static) = modifiers(b, node);
    let kind = match b.scope_kind() {
        ScopeKind::Type => SymbolKind::Field,
        ScopeKind::File | ScopeKind::Namespace => SymbolKind::Variable,
        ScopeKind::Function | ScopeKind::Block => SymbolKind::Local,
    };
    let mut own = None;
    let mut waiting: Option<Node<'t>> = None;
    let mut declared = None;
    let mut define = |b: &mut Builder<'t>, name: &mut Option<Node<'t>>, declared, value| {
        if let Some(name) = name.take() {
            let new = New { exported: !private, is_static, declared, value, ..New::default() };
            own = b.define_in(b.scope(), b.text(name).trim_matches('`'), name.start_byte(), kind, new);
        }
        own
    };
    b.each_child(node, |b, part| match part.kind() {
        "modifiers" | "value_binding_pattern" => {}
        "pattern" => {
            define(b, &mut waiting, declared.take(), None);
            match field(part, "bound_identifier") {
                Some(name) => waiting = Some(name),
                None => pattern(b, part, None),
            }
        }
        "type_annotation" => declared = field(part, "name").map(|of| type_name(b, of, UseKind::Type)),
        "protocol_property_requirements" => {}
        _ if kind == SymbolKind::Local => {
            let given = walk(b, part);
            define(b, &mut waiting, declared.take(), Some(given));
        }
        _ => {
            let own = define(b, &mut waiting, declared.take(), None);
            b.within(ScopeKind::Function, own, |b| {
                let given = walk(b, part);
                if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
                    own.value = Some(given);
                }
            });
        }
    });
    define(b, &mut waiting, declared, None);
}

fn enum_entry<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let declared = b.enclosing_type().and_then(|own| b.own_name(own));
    b.each_child(node, |b, part| match part.kind() {
        "simple_identifier" => {
            let new = New { exported: true, is_static: true, declared, ..New::default() };
            b.define(part, SymbolKind::Field, new);
        }
        "modifiers" => {}
        "enum_type_parameters" => {
            for of in children(part).into_iter().filter(|of| of.kind().ends_with("_type")) {
                type_name(b, of, UseKind::Type);
            }
        }
        _ => {
            walk(b, part);
        }
    });
}

fn alias<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return };
    modifiers(b, node);
    let own = b.define(name, SymbolKind::Alias, New { exported: true, is_static: true, ..New::default() });
    b.within(ScopeKind::Function, None, |b| {
        if let Some(listed) = child_of(node, "type_parameters") {
            type_parameters(b, listed);
        }
        let of = children(node).into_iter().rfind(|part| *part != name && part.kind().ends_with("_type"));
        let declared = of.map(|of| type_name(b, of, UseKind::Type));
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = declared;
        }
    });
}
