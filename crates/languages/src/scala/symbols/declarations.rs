//! Declarations of Scala: packages, types and their members, functions, values, imports.

use tree_sitter::Node;

use super::types::type_name;
use super::{pattern, walk};
use crate::symbols::{
    Builder, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, child_of, children, field,
};

/// The package of a file: its clauses at the top, one inside the other.
pub(super) fn package_of<'t>(b: &Builder<'t>, root: Node<'t>) -> String {
    let mut package = String::new();
    for clause in children(root).into_iter().filter(|child| child.kind() == "package_clause") {
        let Some(name) = field(clause, "name") else { continue };
        if !package.is_empty() {
            package.push('.');
        }
        package.push_str(b.text(name));
    }
    package
}

pub(super) fn declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "package_clause" => {
            if let Some(body) = field(node, "body") {
                b.each(body);
            }
        }
        "import_declaration" => import(b, node),
        "class_definition" | "trait_definition" | "object_definition" | "enum_definition"
        | "package_object" => {
            type_definition(b, node);
        }
        "simple_enum_case" | "full_enum_case" => enum_case(b, node),
        "function_definition" | "function_declaration" => {
            function(b, node, false);
        }
        "val_definition" | "var_definition" | "val_declaration" | "var_declaration" => {
            variable(b, node, false)
        }
        "given_definition" => given(b, node),
        "extension_definition" => extension(b, node),
        "type_definition" => alias(b, node),
        "annotation" => {
            if let Some(name) = field(node, "name") {
                type_name(b, name, UseKind::Type);
            }
            if let Some(arguments) = field(node, "arguments") {
                b.each(arguments);
            }
        }
        "self_type" => {
            for part in children(node) {
                match part.kind() {
                    "identifier" => {
                        b.define(part, SymbolKind::Parameter, New::default());
                    }
                    _ => {
                        type_name(b, part, UseKind::Type);
                    }
                }
            }
        }
        _ => b.each(node),
    }
}

/// `import a.b.C, d._, e.{F => G}`
fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut path: Vec<Node<'t>> = Vec::new();
    let mut cursor = node.walk();
    for part in node.children(&mut cursor) {
        match part.kind() {
            "identifier" | "operator_identifier" => path.push(part),
            "," => import_name(b, &std::mem::take(&mut path)),
            "namespace_wildcard" => import_all(b, &std::mem::take(&mut path)),
            "namespace_selectors" => {
                let path = std::mem::take(&mut path);
                selectors(b, &path, part);
            }
            _ => {}
        }
    }
    import_name(b, &path);
}

fn joined<'t>(b: &Builder<'t>, path: &[Node<'t>]) -> String {
    path.iter().map(|part| b.text(*part)).collect::<Vec<_>>().join(".")
}

fn import_name<'t>(b: &mut Builder<'t>, path: &[Node<'t>]) {
    if let [module @ .., name] = path {
        let local = Some(b.text(*name));
        if !module.is_empty() {
            let module = joined(b, module);
            b.import(*name, &module, local, local, None);
        }
    }
}

fn import_all<'t>(b: &mut Builder<'t>, path: &[Node<'t>]) {
    if let Some(last) = path.last() {
        let module = joined(b, path);
        b.import_all(*last, &module, false);
    }
}

fn selectors<'t>(b: &mut Builder<'t>, path: &[Node<'t>], node: Node<'t>) {
    let module = joined(b, path);
    for part in children(node) {
        match part.kind() {
            "namespace_wildcard" => import_all(b, path),
            "identifier" => {
                let name = Some(b.text(part));
                b.import(part, &module, name, name, None);
            }
            _ => {
                let (Some(name), Some(alias)) = (field(part, "name"), field(part, "alias")) else { continue };
                let (text, alias) = (b.text(name), b.text(alias));
                b.import(name, &module, Some(text), Some(alias).filter(|alias| *alias != "_"), None);
            }
        }
    }
}

/// Returns whether a declaration is private, and whether it is implicit. Reports its annotations.
fn modifiers<'t>(b: &mut Builder<'t>, node: Node<'t>) -> (bool, bool) {
    let (mut private, mut implicit) = (false, false);
    for part in children(node) {
        match part.kind() {
            "annotation" => declaration(b, part),
            "modifiers" => {
                private |= b.text(part).starts_with("private");
                implicit |= child_of(part, "implicit").is_some();
            }
            _ => {}
        }
    }
    (private, implicit)
}

fn type_definition<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return b.each(node) };
    let (private, implicit) = modifiers(b, node);
    let new = New { exported: !private, is_static: true, ..New::default() };
    let own = b.define(name, SymbolKind::Type, new);
    let is_object = matches!(node.kind(), "object_definition" | "package_object");
    b.within(ScopeKind::Type, own, |b| {
        let mut first = None;
        b.each_child(node, |b, part| match part.kind() {
            "type_parameters" => type_parameters(b, part),
            "class_parameters" => {
                let declared = class_parameters(b, part, child_of(node, "case").is_some());
                first = first.or(declared);
            }
            "extends_clause" => bases(b, own, part),
            "template_body" | "enum_body" | "with_template_body" => {
                members(b, part, is_object, first.filter(|_| implicit));
            }
            "annotation" | "modifiers" | "identifier" => {}
            _ => {
                walk(b, part);
            }
        });
    });
}

/// The members of a type; those of an implicit class extend the type of its parameter.
fn members<'t>(b: &mut Builder<'t>, node: Node<'t>, is_object: bool, extended: Option<ExprId>) {
    b.each_child(node, |b, member| match member.kind() {
        "function_definition" | "function_declaration" => {
            let own = function(b, member, is_object);
            if let (Some(own), Some(extended)) = (own, extended) {
                b.within_extension(extended, own, |_| {});
            }
        }
        "val_definition" | "var_definition" | "val_declaration" | "var_declaration" => {
            variable(b, member, is_object);
        }
        _ => {
            walk(b, member);
        }
    });
}

fn class_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>, is_case: bool) -> Option<ExprId> {
    let mut first = None;
    for parameter in children(node).into_iter().filter(|part| part.kind() == "class_parameter") {
        let (private, _) = modifiers(b, parameter);
        let declared = field(parameter, "type").map(|of| type_name(b, of, UseKind::Type));
        first = first.or(declared);
        b.value_of(field(parameter, "default_value"));
        let named = is_case || child_of(parameter, "val").is_some() || child_of(parameter, "var").is_some();
        let kind = if named { SymbolKind::Field } else { SymbolKind::Parameter };
        if let Some(name) = field(parameter, "name") {
            b.define(name, kind, New { exported: named && !private, declared, ..New::default() });
        }
    }
    first
}

fn bases<'t>(b: &mut Builder<'t>, own: Option<SymbolId>, node: Node<'t>) {
    let mut bases = Vec::new();
    b.each_child(node, |b, part| match part.kind() {
        "arguments" => b.each(part),
        _ => bases.push(type_name(b, part, UseKind::Inherit)),
    });
    if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
        own.bases = bases;
    }
}

fn enum_case<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let declared = b.enclosing_type().and_then(|own| b.own_name(own));
    let new = New { exported: true, is_static: true, declared, ..New::default() };
    if let Some(name) = field(node, "name") {
        b.define(name, SymbolKind::Field, new);
    }
    b.within(ScopeKind::Function, None, |b| {
        b.each_child(node, |b, part| match part.kind() {
            "class_parameters" => {
                class_parameters(b, part, false);
            }
            "extends_clause" => bases(b, None, part),
            _ => {}
        });
    });
}

fn type_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut own = None;
    for part in children(node) {
        match part.kind() {
            "identifier" | "type_identifier" => {
                own = b.define(part, SymbolKind::TypeParameter, New::default());
            }
            "upper_bound" => {
                let bound = field(part, "type").map(|of| type_name(b, of, UseKind::Type));
                if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
                    own.declared = bound;
                }
            }
            _ => {
                b.value(part);
            }
        }
    }
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>, is_static: bool) -> Option<SymbolId> {
    let name = field(node, "name")?;
    let (private, _) = modifiers(b, node);
    let kind = if b.text(name) == "this" { SymbolKind::Constructor } else { SymbolKind::Function };
    let own = b.define(name, kind, New { exported: !private, is_static, ..New::default() });
    b.within(ScopeKind::Function, own, |b| inside(b, node, own));
    own
}

/// Parameters, result and body of a function.
fn inside<'t>(b: &mut Builder<'t>, node: Node<'t>, own: Option<SymbolId>) {
    let (mut declared, mut result) = (None, None);
    b.each_child(node, |b, part| match part.kind() {
        "type_parameters" => type_parameters(b, part),
        "parameters" => parameters(b, part),
        "annotation" | "modifiers" => {}
        _ if Some(part) == field(node, "name") => {}
        _ if Some(part) == field(node, "return_type") => declared = Some(type_name(b, part, UseKind::Type)),
        _ => {
            let value = walk(b, part);
            if Some(part) == field(node, "body") {
                result = Some(value);
            }
        }
    });
    if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
        own.declared = declared;
        own.value = result;
    }
}

fn parameters<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for parameter in children(node).into_iter().filter(|part| part.kind() == "parameter") {
        let declared = field(parameter, "type").map(|of| type_name(b, of, UseKind::Type));
        b.value_of(field(parameter, "default_value"));
        if let Some(name) = field(parameter, "name") {
            b.define(name, SymbolKind::Parameter, New { declared, ..New::default() });
        }
    }
}

fn variable<'t>(b: &mut Builder<'t>, node: Node<'t>, is_static: bool) {
    let (private, _) = modifiers(b, node);
    let declared = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
    let Some(bound) = field(node, "pattern").or_else(|| field(node, "name")) else { return b.each(node) };
    let kind = match b.scope_kind() {
        ScopeKind::Type => SymbolKind::Field,
        ScopeKind::File | ScopeKind::Namespace => SymbolKind::Variable,
        ScopeKind::Function | ScopeKind::Block => SymbolKind::Local,
    };
    if kind == SymbolKind::Local || bound.kind() != "identifier" {
        let given = field(node, "value").map(|given| b.value(given));
        if bound.kind() == "identifier" {
            b.define(bound, kind, New { declared, value: given, ..New::default() });
        } else {
            pattern(b, bound, None);
        }
        return;
    }
    let own = b.define(bound, kind, New { exported: !private, is_static, declared, ..New::default() });
    b.within(ScopeKind::Function, own, |b| {
        let given = field(node, "value").map(|given| b.value(given));
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.value = given;
        }
    });
}

fn given<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let declared = field(node, "return_type").map(|of| type_name(b, of, UseKind::Type));
    let new = New { exported: true, is_static: true, declared, ..New::default() };
    let own = field(node, "name").and_then(|name| b.define(name, SymbolKind::Variable, new));
    b.within(ScopeKind::Function, own, |b| {
        if let Some(body) = field(node, "body") {
            let none = b.unknown();
            b.within_target(none, declared.into_iter().collect(), |b| b.each(body));
        }
    });
}

/// `extension (x: T) def …`
fn extension<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let listed = field(node, "parameters");
    let first =
        listed.and_then(|listed| children(listed).into_iter().find(|part| part.kind() == "parameter"));
    let Some(body) = field(node, "body") else { return };
    let functions = match body.kind() {
        "function_definition" => vec![body],
        _ => children(body).into_iter().filter(|part| part.kind() == "function_definition").collect(),
    };
    for function in functions {
        let Some(name) = field(function, "name") else { continue };
        let of = first.and_then(|first| field(first, "type")).map(|of| type_name(b, of, UseKind::Type));
        let own = b.define(name, SymbolKind::Function, New { exported: true, ..New::default() });
        b.within(ScopeKind::Function, own, |b| {
            if let Some(listed) = listed {
                parameters(b, listed);
            }
            b.descend(|b| inside(b, function, own));
        });
        if let (Some(of), Some(own)) = (of, own) {
            b.within_extension(of, own, |_| {});
        }
    }
}

fn alias<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = field(node, "name") else { return };
    let own = b.define(name, SymbolKind::Alias, New { exported: true, is_static: true, ..New::default() });
    b.within(ScopeKind::Function, None, |b| {
        if let Some(listed) = field(node, "type_parameters") {
            type_parameters(b, listed);
        }
        let declared = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
        if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
            own.declared = declared;
        }
    });
}
