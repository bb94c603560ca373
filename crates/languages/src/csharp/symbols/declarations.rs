//! Declarations of C#: namespaces, types and their members, variables, usings.

use tree_sitter::Node;

use super::types::{type_name, types};
use super::{local, tuple, walk};
use crate::symbols::{
    Builder, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, child_of, children, field,
};
use crate::syntax::last_name;

pub(super) fn declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "using_directive" => using(b, node),
        "file_scoped_namespace_declaration" => {
            if let Some(name) = field(node, "name") {
                b.package(b.text(name));
            }
        }
        "namespace_declaration" => {
            let name = field(node, "name");
            let new = New { exported: true, is_static: true, ..New::default() };
            // The name of a namespace with several parts stands where the last part does.
            let own = name.and_then(|name| {
                let (text, kind) = (b.text(name), SymbolKind::Namespace);
                b.define_in(b.scope(), text, name.start_byte() + last_name(text, "."), kind, new)
            });
            b.within(ScopeKind::Namespace, own, |b| {
                if let Some(body) = field(node, "body") {
                    b.each(body);
                }
            });
        }
        "class_declaration"
        | "struct_declaration"
        | "interface_declaration"
        | "record_declaration"
        | "enum_declaration" => type_declaration(b, node),
        "enum_member_declaration" => enum_member(b, node),
        "delegate_declaration" => delegate(b, node),
        "method_declaration" => method(b, node),
        "constructor_declaration" => function(b, node, SymbolKind::Constructor),
        "destructor_declaration" => function(b, node, SymbolKind::Function),
        "operator_declaration" | "conversion_operator_declaration" => operator(b, node),
        "property_declaration" | "event_declaration" | "indexer_declaration" => property(b, node),
        "field_declaration" | "event_field_declaration" => {
            let Modifiers { exported, is_static, .. } = modifiers(b, node);
            if let Some(declared) = child_of(node, "variable_declaration") {
                variables(b, declared, SymbolKind::Field, &New { exported, is_static, ..New::default() });
            }
        }
        "attribute" => {
            if let Some(name) = field(node, "name") {
                type_name(b, name, UseKind::Type);
            }
            for argument in child_of(node, "attribute_argument_list").map(children).unwrap_or_default() {
                if let Some(given) = children(argument).last() {
                    b.value(*given);
                }
            }
        }
        "preproc_if" | "preproc_elif" => {
            let condition = field(node, "condition");
            b.each_child(node, |b, child| {
                if Some(child) != condition {
                    walk(b, child);
                }
            });
        }
        "preproc_region" | "preproc_pragma" | "preproc_define" | "preproc_undef" | "preproc_error" => {}
        "tuple_pattern" => tuple(b, node),
        "predefined_type" | "implicit_parameter" | "modifier" => {}
        "array_type" | "nullable_type" | "tuple_type" => {
            type_name(b, node, UseKind::Type);
        }
        _ => b.each(node),
    }
}

/// `using A.B;`, `using static A.B.C;`, `using X = A.B.C;`, each also `global`.
fn using<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let alias = field(node, "name");
    let Some(path) = children(node).into_iter().rfind(|part| Some(*part) != alias) else { return };
    let global = child_of(node, "global").is_some();
    let Some(alias) = alias else { return b.import_all(path, b.text(path), global) };
    let (module, name) = match (field(path, "qualifier"), field(path, "name")) {
        (Some(module), Some(name)) => (b.text(module), name),
        _ => ("", path),
    };
    let plain = child_of(name, "identifier").unwrap_or(name);
    let (name, local) = (b.text(plain), b.text(alias));
    if module.is_empty() {
        let declared = type_name(b, path, UseKind::Type);
        let new = New { exported: global, declared: Some(declared), ..New::default() };
        b.define(alias, SymbolKind::Alias, new);
    } else {
        b.import(plain, module, Some(name), Some(local), global.then_some(local));
    }
}

/// The relevant modifiers of a declaration.
#[derive(Debug, Clone, Copy)]
struct Modifiers {
    is_static: bool,
    exported: bool,
}

/// Reads the modifiers of a declaration, and reports its attributes.
fn modifiers<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Modifiers {
    let mut found = Modifiers { is_static: false, exported: true };
    for child in children(node) {
        match (child.kind(), b.text(child)) {
            ("modifier", "static" | "const") => found.is_static = true,
            ("modifier", "private") => found.exported = false,
            ("attribute_list", _) => b.each(child),
            _ => {}
        }
    }
    found
}

fn type_declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let Modifiers { exported, .. } = modifiers(b, node);
    let own = b.define(name, SymbolKind::Type, New { exported, is_static: true, ..New::default() });
    let is_record = node.kind() == "record_declaration";
    b.within(ScopeKind::Type, own, |b| {
        b.each_child(node, |b, child| type_part(b, own, is_record, child));
    });
}

/// A part of the declaration of a type.
fn type_part<'t>(b: &mut Builder<'t>, own: Option<SymbolId>, is_record: bool, part: Node<'t>) {
    match part.kind() {
        "type_parameter_list" => type_parameters(b, part),
        "type_parameter_constraints_clause" => constraints(b, part),
        "parameter_list" => primary_parameters(b, part, is_record),
        "base_list" => bases(b, own, part),
        "identifier" | "modifier" | "attribute_list" => {}
        _ => b.each(part),
    }
}

/// Parts of a file or type that the grammar could not put together. If they begin a type, the rest is taken for its members.
pub(super) fn broken<'t>(b: &mut Builder<'t>, parts: &[Node<'t>]) {
    for (at, part) in parts.iter().enumerate() {
        let name = parts.get(at + 1).filter(|name| name.kind() == "identifier");
        if let ("class" | "interface" | "struct" | "record", Some(name)) = (part.kind(), name) {
            let new = New { exported: true, is_static: true, ..New::default() };
            let own = b.define(*name, SymbolKind::Type, new);
            let header = parts.get(at + 2..).unwrap_or_default();
            let members = header.iter().position(|part| part.kind() == "{").unwrap_or(header.len());
            b.descend(|b| {
                b.within(ScopeKind::Type, own, |b| {
                    for part in header.iter().take(members).filter(|part| part.is_named()) {
                        b.descend(|b| type_part(b, own, part.kind() == "record", *part));
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

/// Parameters of the type itself: of a record they are properties, otherwise seen in all members.
fn primary_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>, is_record: bool) {
    for parameter in children(node) {
        let declared = field(parameter, "type").map(|of| type_name(b, of, UseKind::Type));
        let Some(name) = field(parameter, "name") else { continue };
        let kind = if is_record { SymbolKind::Field } else { SymbolKind::Parameter };
        b.define(name, kind, New { exported: is_record, declared, ..New::default() });
    }
}

fn bases<'t>(b: &mut Builder<'t>, own: Option<SymbolId>, node: Node<'t>) {
    let mut bases = Vec::new();
    b.each_child(node, |b, part| match part.kind() {
        "argument_list" => b.each(part),
        "primary_constructor_base_type" => {
            bases.extend(field(part, "type").map(|of| type_name(b, of, UseKind::Inherit)));
            if let Some(arguments) = child_of(part, "argument_list") {
                b.each(arguments);
            }
        }
        _ => bases.push(type_name(b, part, UseKind::Inherit)),
    });
    if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
        own.bases = bases;
    }
}

fn type_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for parameter in children(node) {
        if let Some(name) = field(parameter, "name") {
            b.define(name, SymbolKind::TypeParameter, New::default());
        }
    }
}

/// `where T : A, B`: the bound of a type parameter.
fn constraints<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let parts = children(node);
    let mut bound = None;
    for part in parts.iter().skip(1) {
        if let Some(of) = field(*part, "type") {
            let of = type_name(b, of, UseKind::Type);
            bound = bound.or(Some(of));
        }
    }
    let own = parts.first().and_then(|name| b.find(b.scope(), b.text(*name)));
    if let Some(own) = own.and_then(|own| b.symbol_mut(own))
        && own.kind == SymbolKind::TypeParameter
    {
        own.declared = bound;
    }
}

fn enum_member<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    modifiers(b, node);
    let declared = b.enclosing_type().and_then(|own| b.own_name(own));
    let new = New { exported: true, is_static: true, declared, ..New::default() };
    if let Some(name) = field(node, "name") {
        b.define(name, SymbolKind::Field, new);
    }
    b.value_of(field(node, "value"));
}

/// A delegate is a type; calling an instance gives its result.
fn delegate<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return };
    let Modifiers { exported, .. } = modifiers(b, node);
    let own = b.define(name, SymbolKind::Type, New { exported, is_static: true, ..New::default() });
    b.within(ScopeKind::Type, own, |b| {
        if let Some(parameters) = field(node, "type_parameters") {
            type_parameters(b, parameters);
        }
        b.within(ScopeKind::Function, None, |b| {
            if let Some(of) = field(node, "type") {
                type_name(b, of, UseKind::Type);
            }
            if let Some(listed) = field(node, "parameters") {
                parameters(b, listed);
            }
        });
    });
}

/// A method; with `this` before its first parameter, it is also one of the parameter's type.
fn method<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    function(b, node, SymbolKind::Function);
    let first = field(node, "parameters").and_then(|listed| children(listed).first().copied());
    let is_extension = |first: &Node<'t>| {
        children(*first).iter().any(|part| part.kind() == "modifier" && b.text(*part) == "this")
    };
    let Some(of) = first.filter(is_extension).and_then(|first| field(first, "type")) else { return };
    let Some(own) = field(node, "name").and_then(|name| b.find(b.scope(), b.text(name))) else { return };
    // A type parameter is replaced by its bound.
    let mut target = of;
    let clauses = children(node);
    let clauses = clauses.iter().filter(|part| part.kind() == "type_parameter_constraints_clause");
    for clause in clauses {
        let parts = children(*clause);
        let bound = parts.iter().skip(1).find_map(|part| field(*part, "type"));
        if let (Some(name), Some(bound)) = (parts.first(), bound)
            && b.text(*name) == b.text(of)
        {
            target = bound;
        }
    }
    let target = type_name(b, target, UseKind::Type);
    b.within_extension(target, own, |_| {});
}

pub(super) fn function<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let Modifiers { exported, is_static } = modifiers(b, node);
    let own = b.define(name, kind, New { exported, is_static, ..New::default() });
    let type_owner = b.enclosing_type();
    b.within(ScopeKind::Function, own, |b| {
        if let Some(listed) = field(node, "type_parameters") {
            type_parameters(b, listed);
        }
        let of = field(node, "returns").or_else(|| field(node, "type"));
        let declared = of.map(|of| type_name(b, of, UseKind::Type));
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = declared;
        }
        b.each_child(node, |b, child| match child.kind() {
            "parameter_list" => parameters(b, child),
            "type_parameter_constraints_clause" => constraints(b, child),
            "constructor_initializer" => constructor_call(b, child, type_owner),
            "block" | "arrow_expression_clause" => b.each(child),
            "explicit_interface_specifier" => {
                types(b, child);
            }
            _ => {}
        });
    });
}

fn operator<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    b.within(ScopeKind::Function, None, |b| {
        if let Some(of) = field(node, "type") {
            type_name(b, of, UseKind::Type);
        }
        if let Some(listed) = field(node, "parameters") {
            parameters(b, listed);
        }
        if let Some(body) = field(node, "body") {
            b.each(body);
        }
    });
}

/// `: this(…)` and `: base(…)`
fn constructor_call<'t>(b: &mut Builder<'t>, node: Node<'t>, own: Option<SymbolId>) {
    let this = child_of(node, "this");
    let called = match this {
        Some(_) => own.and_then(|own| b.own_name(own)),
        None => own.and_then(|own| b.symbol_mut(own)?.bases.first().copied()),
    };
    if let (Some(called), Some(at)) = (called, this.or_else(|| child_of(node, "base"))) {
        let called = b.without_arguments(called);
        b.used(UseKind::Call, called, at);
    }
    if let Some(arguments) = child_of(node, "argument_list") {
        b.each(arguments);
    }
}

pub(super) fn parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    // `params T[] name` is a child of the list itself.
    let mut rest = None;
    for part in children(node) {
        match part.kind() {
            "parameter" => {
                let declared = field(part, "type").map(|of| type_name(b, of, UseKind::Type));
                let name = field(part, "name");
                for inner in children(part) {
                    match inner.kind() {
                        "attribute_list" => b.each(inner),
                        "modifier" => {}
                        _ if Some(inner) == name || Some(inner) == field(part, "type") => {}
                        _ => {
                            b.value(inner);
                        }
                    }
                }
                if let Some(name) = name {
                    b.define(name, SymbolKind::Parameter, New { declared, ..New::default() });
                }
            }
            "attribute_list" => b.each(part),
            "identifier" if rest.is_some() => {
                b.define(part, SymbolKind::Parameter, New { declared: rest.take(), ..New::default() });
            }
            _ => rest = Some(type_name(b, part, UseKind::Type)),
        }
    }
}

fn property<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Modifiers { exported, is_static } = modifiers(b, node);
    let declared = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
    let new = New { exported, is_static, declared, ..New::default() };
    let own = field(node, "name").and_then(|name| b.define(name, SymbolKind::Field, new));
    b.within(ScopeKind::Function, own, |b| {
        if let Some(listed) = field(node, "parameters") {
            parameters(b, listed);
        }
        b.each_child(node, |b, child| match child.kind() {
            "accessor_list" => accessors(b, child, declared),
            "explicit_interface_specifier" => {
                types(b, child);
            }
            _ if Some(child) == field(node, "value") => {
                walk(b, child);
            }
            _ => {}
        });
    });
}

fn accessors<'t>(b: &mut Builder<'t>, node: Node<'t>, declared: Option<ExprId>) {
    for accessor in children(node) {
        let Some(body) = field(accessor, "body") else { continue };
        b.within(ScopeKind::Function, None, |b| {
            let new = New { declared, ..New::default() };
            b.define_in(b.scope(), "value", accessor.start_byte(), SymbolKind::Parameter, new);
            b.each(body);
        });
    }
}

/// `new()` makes what the declaration says.
fn made(b: &mut Builder<'_>, given: Node<'_>, declared: Option<ExprId>) {
    if let Some(of) = declared.filter(|_| given.kind() == "implicit_object_creation_expression") {
        let of = b.without_arguments(of);
        b.used(UseKind::Call, of, given);
    }
}

/// Local variables or fields. The value of a field is in a scope inside the field.
pub(super) fn variables<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind, new: &New) {
    let of = field(node, "type").filter(|of| of.kind() != "implicit_type");
    let declared = of.map(|of| type_name(b, of, UseKind::Type));
    b.each_child(node, |b, declarator| {
        if declarator.kind() != "variable_declarator" {
            return;
        }
        let name = field(declarator, "name");
        let given = children(declarator).into_iter().filter(|part| Some(*part) != name);
        if kind == SymbolKind::Local {
            let mut initial = None;
            for part in given {
                if part.kind() == "tuple_pattern" {
                    tuple(b, part);
                } else {
                    made(b, part, declared);
                    initial = Some(b.value(part));
                }
            }
            local(b, name, declared, initial);
            return;
        }
        let own = name.and_then(|name| b.define(name, kind, New { declared, ..new.clone() }));
        for part in given {
            b.within(ScopeKind::Function, own, |b| {
                made(b, part, declared);
                b.value(part);
            });
        }
    });
}

/// A lambda or anonymous method; its first parameter without type may be known to be an element of something.
pub(super) fn lambda<'t>(b: &mut Builder<'t>, node: Node<'t>, element: Option<ExprId>) {
    b.within(ScopeKind::Function, None, |b| {
        let listed = field(node, "parameters");
        match listed {
            Some(one) if one.kind() == "implicit_parameter" => {
                b.define(one, SymbolKind::Parameter, New { value: element, ..New::default() });
            }
            Some(listed) => {
                let all = children(listed);
                let untyped = all.iter().all(|one| field(*one, "type").is_none());
                match all.first().and_then(|first| field(*first, "name")).filter(|_| untyped) {
                    Some(first) => {
                        b.define(first, SymbolKind::Parameter, New { value: element, ..New::default() });
                        for other in all.iter().skip(1).filter_map(|other| field(*other, "name")) {
                            b.define(other, SymbolKind::Parameter, New::default());
                        }
                    }
                    None => parameters(b, listed),
                }
            }
            None => {}
        }
        b.each_child(node, |b, child| {
            let is_body = Some(child) == field(node, "body") || child.kind() == "block";
            if is_body && Some(child) != listed {
                if child.kind() == "block" {
                    b.each(child);
                } else {
                    walk(b, child);
                }
            }
        });
    });
}
