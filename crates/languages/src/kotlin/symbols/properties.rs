//! Properties and variables of Kotlin.

use tree_sitter::Node;

use super::declarations::{body, is_private, receiver};
use super::define;
use super::types::type_name;
use crate::symbols::{Builder, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, children};

pub(super) fn property<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind, is_static: bool) {
    let exported = !is_private(b, node);
    let parts = children(node);
    let is_name = |part: &&Node<'t>| part.kind().ends_with("variable_declaration");
    let Some(name) = parts.iter().find(is_name).copied() else { return b.each(node) };
    if kind == SymbolKind::Local {
        let mut given = None;
        for part in parts.into_iter().filter(|part| part.start_byte() > name.start_byte()) {
            given = initial(b, part);
        }
        variables(b, name, kind, given);
        return;
    }
    let of = receiver(b, node, name);
    let mut own = None;
    for (name, declared) in names(b, name) {
        let new = New { exported, is_static, declared, ..New::default() };
        own = b.define_in(b.scope(), b.text(name).trim_matches('`'), name.start_byte(), kind, new);
    }
    let parts: Vec<Node<'t>> =
        parts.into_iter().filter(|part| part.start_byte() > name.start_byte()).collect();
    match (of, own) {
        (Some(of), Some(own)) => b.within_extension(of, own, |b| inside_property(b, &parts, Some(own))),
        _ => inside_property(b, &parts, own),
    }
}

fn inside_property<'t>(b: &mut Builder<'t>, parts: &[Node<'t>], own: Option<SymbolId>) {
    b.within(ScopeKind::Function, own, |b| {
        for part in parts {
            let value = initial(b, *part);
            if let Some(own) = own.and_then(|own| b.symbol_mut(own)) {
                own.value = own.value.or(value);
            }
        }
    });
}

/// Visits a part of a property after its name; returns the value that it gives to the property.
fn initial<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
    match node.kind() {
        "type_constraints" | "type_modifiers" => {
            b.each(node);
            None
        }
        "property_delegate" => {
            let given = children(node).first().copied()?;
            let lazy = b.text(given).starts_with("lazy");
            let value = b.value(given);
            lazy.then_some(value)
        }
        "getter" | "setter" => accessor(b, node),
        _ => Some(b.value(node)),
    }
}

fn accessor<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
    let mut result = None;
    b.within(ScopeKind::Function, None, |b| {
        b.define_in(b.scope(), "field", node.start_byte(), SymbolKind::Parameter, New::default());
        b.each_child(node, |b, part| match part.kind() {
            "identifier" => {
                define(b, part, SymbolKind::Parameter, New::default());
            }
            "function_body" => result = body(b, part),
            "modifiers" | "parameter_modifiers" => {}
            _ => {
                type_name(b, part, UseKind::Type);
            }
        });
    });
    result.filter(|_| node.kind() == "getter")
}

/// The names that a declaration of one or several variables lists, with their types.
fn names<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Vec<(Node<'t>, Option<ExprId>)> {
    let all = if node.kind() == "multi_variable_declaration" { children(node) } else { vec![node] };
    let mut found = Vec::new();
    for one in all {
        let parts = children(one);
        let Some(name) = parts.iter().find(|part| part.kind() == "identifier") else { continue };
        let declared = parts.iter().find(|part| part.start_byte() > name.start_byte());
        found.push((*name, declared.map(|of| type_name(b, *of, UseKind::Type))));
    }
    found
}

/// Defines local variables or parameters of a lambda. A value is that of the only one; returns the node of its name.
pub(super) fn variables<'t>(
    b: &mut Builder<'t>,
    node: Node<'t>,
    kind: SymbolKind,
    value: Option<ExprId>,
) -> Option<Node<'t>> {
    let names = names(b, node);
    let value = value.filter(|_| node.kind() != "multi_variable_declaration");
    for (name, declared) in &names {
        define(b, *name, kind, New { declared: *declared, value, ..New::default() });
    }
    names.first().map(|(name, _)| *name)
}
