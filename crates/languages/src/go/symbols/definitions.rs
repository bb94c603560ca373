//! Definitions of Go: functions, methods, types with their members, and imports.

use tree_sitter::Node;

use super::{Walk, fields, is_exported, parts};
use crate::symbols::{Builder, Expr, ExprId, LocalWalk, New, ScopeKind, SymbolId, SymbolKind, UseKind};

impl<'t> Walk<'t> {
    /// Reports a node that defines or imports something. Returns `false` for any other node.
    pub(super) fn definition(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> bool {
        match node.kind() {
            "package_clause" => {
                if let Some(name) = node.named_child(0) {
                    b.package(b.text(name));
                }
            }
            "import_spec" => import(b, node),
            "function_declaration" => {
                if let Some(name) = node.child_by_field_name("name") {
                    let exported = is_exported(b.text(name));
                    let symbol = b.define(name, SymbolKind::Function, New { exported, ..New::default() });
                    self.function(b, node, symbol, |_, _| {});
                }
            }
            "method_declaration" => self.method(b, node),
            "type_spec" => self.type_spec(b, node),
            "type_alias" => {
                if let Some(name) = node.child_by_field_name("name") {
                    let declared = self.field(b, node, "type");
                    let exported = is_exported(b.text(name));
                    b.define(name, SymbolKind::Alias, New { exported, declared, ..New::default() });
                }
            }
            "type_parameter_declaration" => self.type_parameters(b, node),
            "parameter_declaration" => {
                let declared = self.field(b, node, "type");
                self.parameters(b, node, declared);
            }
            "variadic_parameter_declaration" => {
                let declared = self.field(b, node, "type").map(|element| elements(b, vec![element]));
                self.parameters(b, node, declared);
            }
            _ => return false,
        }
        true
    }

    fn parameters(&mut self, b: &mut Builder<'t>, node: Node<'t>, declared: Option<ExprId>) {
        for name in fields(node, "name") {
            self.define_local(b, name, SymbolKind::Parameter, New { declared, ..New::default() });
        }
    }

    fn type_parameters(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut bounds = Vec::new();
        for constraint in node.child_by_field_name("type").map(parts).unwrap_or_default() {
            bounds.push(self.visit(b, constraint));
        }
        let declared = bounds.first().copied();
        for name in fields(node, "name") {
            self.define_local(b, name, SymbolKind::TypeParameter, New { declared, ..New::default() });
        }
    }

    /// Visits the inside of a function; `first` runs in its scope before anything else. Returns its result.
    pub(super) fn function(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        symbol: Option<SymbolId>,
        first: impl FnOnce(&mut Self, &mut Builder<'t>),
    ) -> Option<ExprId> {
        let mut result = None;
        self.within(b, ScopeKind::Function, symbol, |walk, b| {
            first(walk, b);
            walk.field(b, node, "type_parameters");
            walk.field(b, node, "parameters");
            result = walk.result(b, node);
            if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
                symbol.declared = result;
            }
            // The block of a function is its scope.
            for body in node.child_by_field_name("body").map(parts).unwrap_or_default() {
                walk.visit(b, body);
            }
        });
        result
    }

    /// Visits the result of a function: its type, or the types of several as those of a tuple.
    fn result(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let result = node.child_by_field_name("result")?;
        if result.kind() != "parameter_list" {
            return Some(self.visit(b, result));
        }
        let mut all = Vec::new();
        for one in parts(result) {
            let declared = self.field(b, one, "type");
            self.parameters(b, one, declared);
            let same = fields(one, "name").len().max(1);
            all.extend(std::iter::repeat_n(declared.unwrap_or_default(), same));
        }
        several(b, all)
    }

    fn method(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let new = New { exported: is_exported(b.text(name)), ..New::default() };
        let receiver = node.child_by_field_name("receiver").and_then(|list| parts(list).into_iter().next());
        let Some((receiver, (base, arguments))) =
            receiver.and_then(|receiver| Some((receiver, receiver_type(receiver)?)))
        else {
            let symbol = b.define(name, SymbolKind::Function, new);
            self.function(b, node, symbol, |_, _| {});
            return;
        };
        let target = b.name(b.text(base));
        b.used(UseKind::Type, target, base);
        b.within_target(target, Vec::new(), |b| {
            self.locals.enter();
            for argument in arguments {
                self.define_local(b, argument, SymbolKind::TypeParameter, New::default());
            }
            let symbol = b.define(name, SymbolKind::Function, new);
            self.function(b, node, symbol, |walk, b| walk.parameters(b, receiver, Some(target)));
            self.locals.leave();
        });
    }

    fn type_spec(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let (Some(name), Some(of)) = (node.child_by_field_name("name"), node.child_by_field_name("type"))
        else {
            return;
        };
        let new = New { exported: is_exported(b.text(name)), ..New::default() };
        let symbol = b.define(name, SymbolKind::Type, new);
        let mut bases = Vec::new();
        self.within(b, ScopeKind::Type, symbol, |walk, b| {
            walk.field(b, node, "type_parameters");
            match of.kind() {
                "struct_type" => {
                    for field in parts(of).into_iter().flat_map(parts) {
                        walk.struct_field(b, field, &mut bases);
                    }
                }
                "interface_type" => {
                    for element in parts(of) {
                        walk.interface_element(b, element, &mut bases);
                    }
                }
                // Elements, and members of the type that it is made of.
                _ => bases.push(walk.visit(b, of)),
            }
        });
        if let Some(symbol) = symbol.and_then(|symbol| b.symbol_mut(symbol)) {
            symbol.bases = bases;
        }
    }

    /// A field of a struct. An embedded type is a field that is named like the type, and a base.
    fn struct_field(&mut self, b: &mut Builder<'t>, node: Node<'t>, bases: &mut Vec<ExprId>) {
        let Some(of) = node.child_by_field_name("type") else { return };
        let names = fields(node, "name");
        let kind = if names.is_empty() { UseKind::Inherit } else { UseKind::Read };
        let declared = self.visit_as(b, of, kind);
        let embedded = names.is_empty().then(|| simple_name(of)).flatten();
        if embedded.is_some() {
            bases.push(declared);
        }
        for name in names.into_iter().chain(embedded) {
            let new = New { exported: is_exported(b.text(name)), declared: Some(declared), ..New::default() };
            b.define(name, SymbolKind::Field, new);
        }
    }

    fn interface_element(&mut self, b: &mut Builder<'t>, node: Node<'t>, bases: &mut Vec<ExprId>) {
        if let Some(name) = node.child_by_field_name("name") {
            let new = New { exported: is_exported(b.text(name)), ..New::default() };
            let symbol = b.define(name, SymbolKind::Function, new);
            self.function(b, node, symbol, |_, _| {});
        } else {
            // A single type is embedded; several form a constraint, and none of them is a base on its own.
            let of = parts(node);
            let kind = if of.len() == 1 { UseKind::Inherit } else { UseKind::Read };
            for one in &of {
                let base = self.visit_as(b, *one, kind);
                if of.len() == 1 {
                    bases.push(base);
                }
            }
            if of.len() > 1 {
                bases.push(b.unknown());
            }
        }
    }
}

fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(path) = node.child_by_field_name("path") else { return };
    let module = b.text(path).trim_matches(['"', '`']);
    match node.child_by_field_name("name") {
        Some(name) if name.kind() == "dot" => b.import_all(path, module, false),
        Some(name) if name.kind() == "blank_identifier" => b.import(path, module, None, None, None),
        Some(name) => b.import(name, module, None, Some(b.text(name)), None),
        None => b.import(path, module, None, Some(package_name(module)), None),
    }
}

/// The name that the package of an import path probably has: the last element that is not a version.
fn package_name(module: &str) -> &str {
    let is_version = |text: &str| text.strip_prefix('v').is_some_and(|n| n.parse::<u32>().is_ok());
    let mut elements = module.rsplit('/');
    let last = elements.next().unwrap_or_default();
    let last = if is_version(last) { elements.next().unwrap_or(last) } else { last };
    let last = match last.rsplit_once('.') {
        Some((name, version)) if is_version(version) => name,
        _ => last,
    };
    last.strip_prefix("go-").unwrap_or(last)
}

/// A generic type of the language itself; its last argument is the element.
pub(super) fn elements(b: &mut Builder<'_>, arguments: Vec<ExprId>) -> ExprId {
    let foreign = b.name("[]");
    b.add(Expr::Apply(foreign, arguments))
}

/// The results of a function: one type, or a tuple whose members are numbered.
pub(super) fn several(b: &mut Builder<'_>, mut all: Vec<ExprId>) -> Option<ExprId> {
    match all.len() {
        0 | 1 => all.pop(),
        _ => Some(elements(b, all)),
    }
}

/// The name of a receiver's type, and the names of its type parameters.
fn receiver_type<'t>(receiver: Node<'t>) -> Option<(Node<'t>, Vec<Node<'t>>)> {
    let mut of = receiver.child_by_field_name("type")?;
    let mut arguments = Vec::new();
    for _ in 0..4 {
        match of.kind() {
            "type_identifier" => return Some((of, arguments)),
            "pointer_type" | "parenthesized_type" => of = of.named_child(0)?,
            "generic_type" => {
                let listed = of.child_by_field_name("type_arguments").map(parts).unwrap_or_default();
                arguments = listed.into_iter().filter_map(simple_name).collect();
                of = of.child_by_field_name("type")?;
            }
            _ => return None,
        }
    }
    None
}

/// The last name of a type; `None` if it has none.
fn simple_name(of: Node<'_>) -> Option<Node<'_>> {
    let mut of = of;
    for _ in 0..4 {
        match of.kind() {
            "type_identifier" => return Some(of),
            "qualified_type" => return of.child_by_field_name("name"),
            "generic_type" => of = of.child_by_field_name("type")?,
            "pointer_type" | "parenthesized_type" | "type_elem" => of = of.named_child(0)?,
            _ => return None,
        }
    }
    None
}
