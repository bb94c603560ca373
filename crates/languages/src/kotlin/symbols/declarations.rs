//! Declarations of Kotlin: types and their members, functions, properties, imports.

use tree_sitter::Node;

use super::properties::property;
use super::types::{named, type_name};
use super::{define, walk};
use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, child_of, children, field,
};

pub(super) fn declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "package_header" => {
            if let Some(name) = child_of(node, "qualified_identifier") {
                b.package(b.text(name));
            }
        }
        "import" => import(b, node),
        "class_declaration" | "object_declaration" => type_declaration(b, node),
        "companion_object" => companion(b, node),
        "enum_entry" => enum_entry(b, node),
        "function_declaration" => function(b, node, false),
        "property_declaration" => {
            let kind = match b.scope_kind() {
                ScopeKind::File | ScopeKind::Namespace => SymbolKind::Variable,
                ScopeKind::Type => SymbolKind::Field,
                ScopeKind::Function | ScopeKind::Block => SymbolKind::Local,
            };
            property(b, node, kind, false);
        }
        "type_alias" => type_alias(b, node),
        "anonymous_initializer" => b.within(ScopeKind::Function, None, |b| b.each(node)),
        "secondary_constructor" => constructor(b, node),
        "annotation" | "file_annotation" => annotation(b, node),
        "label" | "string_content" | "use_site_target" => {}
        _ => b.each(node),
    }
}

fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(path) = child_of(node, "qualified_identifier") else { return };
    if child_of(node, "*").is_some() {
        return b.import_all(path, b.text(path), false);
    }
    let parts = children(path);
    let [.., before, name] = parts[..] else { return };
    let text = b.text(path);
    let module = text.get(..before.end_byte() - path.start_byte()).unwrap_or_default();
    let local = child_of(node, "identifier").unwrap_or(name);
    let plain = |name: Node<'t>| b.text(name).trim_matches('`');
    let (name_text, local) = (plain(name), plain(local));
    b.import(name, module, Some(name_text), Some(local), None);
}

/// Reports the annotations of a declaration, and returns whether only its own file or type can use it.
pub(super) fn is_private<'t>(b: &mut Builder<'t>, node: Node<'t>) -> bool {
    let Some(modifiers) = child_of(node, "modifiers") else { return false };
    b.each(modifiers);
    child_of(modifiers, "visibility_modifier").is_some_and(|word| b.text(word) == "private")
}

fn annotation<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for part in children(node) {
        match part.kind() {
            "constructor_invocation" => {
                for part in children(part) {
                    if part.kind() == "value_arguments" {
                        b.value(part);
                    } else {
                        type_name(b, part, UseKind::Type);
                    }
                }
            }
            "use_site_target" => {}
            _ => {
                type_name(b, part, UseKind::Type);
            }
        }
    }
}

fn type_declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let new = New { exported: !is_private(b, node), is_static: true, ..New::default() };
    let own = define(b, name, SymbolKind::Type, new);
    let is_object = node.kind() == "object_declaration";
    b.within(ScopeKind::Type, own, |b| {
        b.each_child(node, |b, child| type_part(b, own, is_object, child));
    });
}

/// A part of the declaration of a type.
fn type_part<'t>(b: &mut Builder<'t>, own: Option<SymbolId>, is_object: bool, part: Node<'t>) {
    match part.kind() {
        "type_parameters" => type_parameters(b, part),
        "primary_constructor" => primary_constructor(b, part),
        "delegation_specifiers" => {
            let bases = bases(b, part);
            if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
                own.bases = bases;
            }
        }
        "class_body" if is_object => object_body(b, part),
        "class_body" | "enum_class_body" | "type_constraints" => b.each(part),
        "identifier" | "modifiers" => {}
        _ => {
            walk(b, part);
        }
    }
}

/// Parts of a file or type that the grammar could not put together. If they begin a type, the rest is taken for its members.
pub(super) fn broken<'t>(b: &mut Builder<'t>, parts: &[Node<'t>]) {
    for (at, part) in parts.iter().enumerate() {
        let name = parts.get(at + 1).filter(|name| name.kind() == "identifier");
        if let ("class" | "interface" | "object", Some(name)) = (part.kind(), name) {
            let new = New { exported: true, is_static: true, ..New::default() };
            let own = define(b, *name, SymbolKind::Type, new);
            let header = parts.get(at + 2..).unwrap_or_default();
            let members = header.iter().position(|part| part.kind() == "{").unwrap_or(header.len());
            b.descend(|b| {
                b.within(ScopeKind::Type, own, |b| {
                    for part in header.iter().take(members).filter(|part| part.is_named()) {
                        b.descend(|b| type_part(b, own, false, *part));
                    }
                    broken(b, header.get(members..).unwrap_or_default());
                });
            });
            return;
        }
        if part.is_named() {
            b.value(*part);
        }
    }
}

/// The members of an object belong to it as static members belong to a type.
fn object_body<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    b.each_child(node, |b, member| match member.kind() {
        "function_declaration" => function(b, member, true),
        "property_declaration" => property(b, member, SymbolKind::Field, true),
        _ => {
            walk(b, member);
        }
    });
}

/// The members of a companion are those of the type around it; its name is another name for the type.
fn companion<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let private = is_private(b, node);
    let declared = b.enclosing_type().and_then(|own| b.own_name(own));
    let new = New { exported: !private, is_static: true, declared, ..New::default() };
    match field(node, "name") {
        Some(name) => define(b, name, SymbolKind::Alias, new),
        None => b.define_in(b.scope(), "Companion", node.start_byte(), SymbolKind::Alias, new),
    };
    if let Some(listed) = child_of(node, "delegation_specifiers") {
        bases(b, listed);
    }
    if let Some(body) = child_of(node, "class_body") {
        object_body(b, body);
    }
}

/// Returns the types that a type derives from.
pub(super) fn bases<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Vec<ExprId> {
    let mut bases = Vec::new();
    for part in children(node).into_iter().flat_map(children) {
        match part.kind() {
            "annotation" => annotation(b, part),
            "constructor_invocation" => {
                for part in children(part) {
                    if part.kind() == "value_arguments" {
                        b.value(part);
                        continue;
                    }
                    let base = type_name(b, part, UseKind::Inherit);
                    if let Some(name) = children(part).into_iter().rfind(|part| part.kind() == "identifier") {
                        let called = b.without_arguments(base);
                        b.used(UseKind::Call, called, name);
                    }
                    bases.push(base);
                }
            }
            "explicit_delegation" => {
                let parts = children(part);
                bases.extend(parts.first().map(|base| type_name(b, *base, UseKind::Inherit)));
                parts.into_iter().skip(1).for_each(|part| {
                    b.value(part);
                });
            }
            _ => bases.push(type_name(b, part, UseKind::Inherit)),
        }
    }
    bases
}

/// The parameters of a class. Those with `val` or `var` are properties; the others are seen where it is initialised.
fn primary_constructor<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(parameters) = child_of(node, "class_parameters") else { return };
    is_private(b, node);
    for parameter in children(parameters) {
        let exported = !is_private(b, parameter);
        let property = child_of(parameter, "val").or_else(|| child_of(parameter, "var")).is_some();
        let vararg = child_of(parameter, "modifiers").is_some_and(|words| b.text(words).contains("vararg"));
        let (mut name, mut declared) = (None, None);
        for part in children(parameter) {
            match part.kind() {
                "modifiers" => {}
                "identifier" if name.is_none() => name = Some(part),
                _ if name.is_some() && declared.is_none() => {
                    declared = Some(type_name(b, part, UseKind::Type));
                }
                _ => {
                    b.value(part);
                }
            }
        }
        let declared = if vararg { declared.map(|of| array(b, of)) } else { declared };
        let kind = if property { SymbolKind::Field } else { SymbolKind::Parameter };
        if let Some(name) = name {
            define(b, name, kind, New { exported: exported && property, declared, ..New::default() });
        }
    }
}

fn array(b: &mut Builder<'_>, element: ExprId) -> ExprId {
    let array = b.unknown();
    b.add(Expr::Apply(array, vec![element]))
}

fn enum_entry<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    is_private(b, node);
    let Some(name) = child_of(node, "identifier") else { return };
    let declared = b.enclosing_type().and_then(|own| b.own_name(own));
    let new = New { exported: true, is_static: true, declared, ..New::default() };
    let own = define(b, name, SymbolKind::Field, new);
    b.within(ScopeKind::Function, own, |b| {
        if let Some(arguments) = child_of(node, "value_arguments") {
            b.each(arguments);
        }
        if let Some(body) = child_of(node, "class_body") {
            let none = b.unknown();
            b.within_target(none, declared.into_iter().collect(), |b| b.each(body));
        }
    });
}

fn type_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for parameter in children(node) {
        let parts = children(parameter);
        let Some(name) = parts.iter().find(|part| part.kind() == "identifier") else { continue };
        let own = define(b, *name, SymbolKind::TypeParameter, New::default());
        let bound = parts.iter().find(|part| part.start_byte() > name.start_byte());
        let bound = bound.map(|bound| type_name(b, *bound, UseKind::Type));
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = bound;
        }
    }
}

/// The type before the name of an extension. Of a type parameter, its bound.
pub(super) fn receiver<'t>(b: &mut Builder<'t>, node: Node<'t>, name: Node<'t>) -> Option<ExprId> {
    let before = |part: &Node<'t>| part.start_byte() < name.start_byte() && part.kind().ends_with("_type");
    let receiver = children(node).into_iter().find(before)?;
    if receiver.end_byte() > name.start_byte() {
        let mut parts = children(receiver);
        parts.retain(|part| part.start_byte() < name.start_byte());
        return (!parts.is_empty()).then(|| named(b, &parts, UseKind::Type));
    }
    let text = b.text(receiver).trim_end_matches('?');
    let parameters = child_of(node, "type_parameters").map(children).unwrap_or_default();
    for parameter in parameters {
        let parts = children(parameter);
        let Some(name) = parts.iter().find(|part| part.kind() == "identifier") else { continue };
        if b.text(*name) == text {
            let bound = parts.iter().find(|part| part.start_byte() > name.start_byte());
            return Some(bound.map_or(0, |bound| type_name(b, *bound, UseKind::Type)));
        }
    }
    let of = type_name(b, receiver, UseKind::Type);
    match b.expr(of) {
        Expr::Member(outer, name) if b.text_of(*name) == "Companion" => Some(*outer),
        _ => Some(of),
    }
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>, is_static: bool) {
    let Some(mut name) = field(node, "name") else { return b.each(node) };
    if b.text(name).is_empty() {
        // The grammar may take `Type.name` for a type, with no name after it.
        let before = children(node)
            .into_iter()
            .rfind(|part| part.end_byte() <= name.start_byte() && part.kind() == "user_type");
        let last = before.and_then(|of| children(of).into_iter().rfind(|part| part.kind() == "identifier"));
        name = last.unwrap_or(name);
    }
    let new = New { exported: !is_private(b, node), is_static, ..New::default() };
    let receiver = receiver(b, node, name);
    let text = b.text(name).trim_matches('`');
    let own = b.define_in(b.scope(), text, name.start_byte(), SymbolKind::Function, new);
    match (receiver, own) {
        (Some(of), Some(own)) => b.within_extension(of, own, |b| inside_function(b, node, name, Some(own))),
        _ => inside_function(b, node, name, own),
    }
}

fn inside_function<'t>(b: &mut Builder<'t>, node: Node<'t>, name: Node<'t>, own: Option<SymbolId>) {
    b.within(ScopeKind::Function, own, |b| {
        let (mut declared, mut result) = (None, None);
        b.each_child(node, |b, child| match child.kind() {
            "type_parameters" => type_parameters(b, child),
            "function_value_parameters" => parameters(b, child),
            "function_body" => result = body(b, child),
            "modifiers" | "identifier" => {}
            "type_constraints" => b.each(child),
            _ if child.start_byte() > name.start_byte() && child.end_byte() > name.end_byte() => {
                declared = Some(type_name(b, child, UseKind::Type))
            }
            _ => {}
        });
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = declared;
            own.value = result;
        }
    });
}

/// The body of a function; returns its value if it is one expression.
pub(super) fn body<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
    let mut result = None;
    b.each_child(node, |b, child| {
        let value = walk(b, child);
        result = (child.kind() != "block").then_some(value);
    });
    result
}

pub(super) fn parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut vararg = false;
    for part in children(node) {
        match part.kind() {
            "parameter_modifiers" => {
                vararg = b.text(part).contains("vararg");
                b.each(part);
            }
            "parameter" => {
                let parts = children(part);
                let Some(name) = parts.first() else { continue };
                let declared = parts.get(1).map(|of| type_name(b, *of, UseKind::Type));
                let declared = if vararg { declared.map(|of| array(b, of)) } else { declared };
                vararg = false;
                define(b, *name, SymbolKind::Parameter, New { declared, ..New::default() });
            }
            _ => {
                b.value(part);
            }
        }
    }
}

fn constructor<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    is_private(b, node);
    let own = b.enclosing_type();
    b.within(ScopeKind::Function, None, |b| {
        b.each_child(node, |b, child| match child.kind() {
            "modifiers" => {}
            "function_value_parameters" => parameters(b, child),
            "constructor_delegation_call" => {
                let this = child_of(child, "this");
                let called = match this {
                    Some(_) => own.and_then(|own| b.own_name(own)),
                    None => own.and_then(|own| b.symbol_mut(own)?.bases.first().copied()),
                };
                if let (Some(called), Some(at)) = (called, this.or_else(|| child_of(child, "super"))) {
                    let called = b.without_arguments(called);
                    b.used(UseKind::Call, called, at);
                }
                b.each(child);
            }
            _ => {
                walk(b, child);
            }
        });
    });
}

fn type_alias<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "type") else { return };
    let exported = !is_private(b, node);
    let own: Option<SymbolId> = define(b, name, SymbolKind::Alias, New { exported, ..New::default() });
    b.within(ScopeKind::Function, None, |b| {
        for part in children(node).into_iter().filter(|part| *part != name && part.kind() != "modifiers") {
            if part.kind() == "type_parameters" {
                type_parameters(b, part);
                continue;
            }
            let declared = Some(type_name(b, part, UseKind::Type));
            if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
                own.declared = declared;
            }
        }
    });
}
