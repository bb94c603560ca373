//! Types of C and C++: structures, unions, enumerations, `typedef`, and the expressions that name types.

use tree_sitter::Node;

use super::{Walk, children};
use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, TreeWalk, UseKind};

/// Maximum number of nested parts of the name of a type that are read.
const PARTS_MAX: u32 = 24;
/// Templates of the standard library whose first argument is the type of their content, and whose others are not of interest.
const HOLDERS: &[&str] = &[
    "unique_ptr", "shared_ptr", "weak_ptr", "vector", "deque", "list", "set", "unordered_set", "optional",
    "array",
];

impl<'t> Walk<'t> {
    /// Reports the names in the type of a declaration, and defines the types that it defines. Returns the type; `None` if the
    /// value says it.
    pub(crate) fn declared_type(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> Option<ExprId> {
        let named = node.child_by_field_name("type")?;
        if is_specifier(named) {
            let named_by_others = node.child_by_field_name("declarator").is_some();
            b.descend(|b| self.specifier(b, named, named_by_others));
        } else {
            b.descend(|b| self.type_use(b, named, UseKind::Type));
        }
        if named.kind() == "placeholder_type_specifier" {
            return None;
        }
        let declared = self.type_expr(b, named, PARTS_MAX);
        (*b.expr(declared) != Expr::Unknown).then_some(declared)
    }

    /// The expression that names a type.
    pub(crate) fn type_of(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
        self.type_expr(b, node, PARTS_MAX)
    }

    fn type_expr(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        if depth == 0 {
            return b.unknown();
        }
        match node.kind() {
            "type_identifier" | "identifier" | "namespace_identifier" | "field_identifier" => {
                b.name(b.text(node))
            }
            "qualified_identifier" => self.qualified(b, node, depth),
            "template_type" | "template_function" => {
                let Some(name) = node.child_by_field_name("name") else { return b.unknown() };
                let of = self.type_expr(b, name, depth - 1);
                let arguments = self.template_arguments(b, node, b.text(name), depth);
                if arguments.is_empty() { of } else { b.add(Expr::Apply(of, arguments)) }
            }
            "type_descriptor" => {
                let Some(named) = node.child_by_field_name("type") else { return b.unknown() };
                let of = self.type_expr(b, named, depth - 1);
                match node.child_by_field_name("declarator") {
                    Some(declarator) => {
                        let declared = self.declarator(b, declarator, Some(of)).declared;
                        declared.unwrap_or_else(|| b.unknown())
                    }
                    None => of,
                }
            }
            "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier" => {
                match node.child_by_field_name("name") {
                    Some(name) => self.type_expr(b, name, depth - 1),
                    None => b.unknown(),
                }
            }
            "dependent_type" | "macro_type_specifier" => {
                let named = node.child_by_field_name("type").or_else(|| node.named_child(0));
                match named {
                    Some(named) => self.type_expr(b, named, depth - 1),
                    None => b.unknown(),
                }
            }
            _ => b.unknown(),
        }
    }

    /// The arguments of a template that are types.
    fn template_arguments(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        name: &str,
        depth: u32,
    ) -> Vec<ExprId> {
        let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
        let most = if HOLDERS.contains(&name) { 1 } else { 8 };
        let arguments =
            children(list).filter(|(_, argument)| argument.kind() == "type_descriptor").take(most);
        arguments.map(|(_, argument)| self.type_expr(b, argument, depth - 1)).collect()
    }

    /// A name with scopes before it: `a::b<T>::c`.
    fn qualified(&mut self, b: &mut Builder<'t>, node: Node<'t>, depth: u32) -> ExprId {
        let (mut node, mut of) = (node, None);
        for _ in 0..depth {
            let part = match node.kind() {
                "qualified_identifier" => node.child_by_field_name("scope"),
                _ => Some(node),
            };
            if let Some(part) = part {
                let (name, applied) = match part.kind() {
                    "template_type" | "template_function" => (part.child_by_field_name("name"), Some(part)),
                    "dependent_name" => (part.named_child(0), None),
                    _ => (Some(part), None),
                };
                let Some(name) = name else { return b.unknown() };
                let text = b.text(name);
                let mut next = match of {
                    Some(of) => b.member(of, text),
                    None => b.name(text),
                };
                if let Some(applied) = applied {
                    let arguments = self.template_arguments(b, applied, text, depth / 2);
                    if !arguments.is_empty() {
                        next = b.add(Expr::Apply(next, arguments));
                    }
                }
                of = Some(next);
            }
            if node.kind() != "qualified_identifier" {
                return of.unwrap_or_else(|| b.unknown());
            }
            let Some(name) = node.child_by_field_name("name") else { break };
            node = name;
        }
        b.unknown()
    }

    /// Divides the name of a definition: the type or namespace before it, with the simple name of that, and the name itself.
    pub(super) fn split_name(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
    ) -> (Option<(ExprId, &'t str)>, Node<'t>) {
        let (mut node, mut outer) = (node, None::<(ExprId, &'t str)>);
        for _ in 0..PARTS_MAX {
            match node.kind() {
                "qualified_identifier" => {
                    if let Some(scope) = node.child_by_field_name("scope") {
                        let simple = match scope.kind() {
                            "template_type" => scope.child_by_field_name("name").unwrap_or(scope),
                            _ => scope,
                        };
                        let text = b.text(simple);
                        let of = match outer {
                            Some((of, _)) => b.member(of, text),
                            None => b.name(text),
                        };
                        self.scope_use(b, scope);
                        outer = Some((of, text));
                    }
                    let Some(name) = node.child_by_field_name("name") else { break };
                    node = name;
                }
                "template_function" | "template_method" | "template_type" => {
                    let Some(name) = node.child_by_field_name("name") else { break };
                    node = name;
                }
                _ => break,
            }
        }
        (outer, node)
    }

    /// Reports the names in a type.
    pub(crate) fn type_use(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) {
        match node.kind() {
            "type_identifier" | "identifier" => {
                let name = b.text(node);
                if !self.is_local(name) {
                    let expr = b.name(name);
                    b.used(kind, expr, node);
                }
            }
            "template_type" => {
                if let Some(name) = node.child_by_field_name("name") {
                    b.descend(|b| self.type_use(b, name, kind));
                }
                self.visit_field(b, node, "arguments");
            }
            "qualified_identifier" => self.qualified_use(b, node, kind),
            "dependent_type" | "macro_type_specifier" => {
                b.each_child(node, |b, child| self.type_use(b, child, kind));
            }
            "primitive_type" | "sized_type_specifier" | "placeholder_type_specifier" | "auto" => {}
            "type_descriptor" => {
                if let Some(named) = node.child_by_field_name("type") {
                    b.descend(|b| match is_specifier(named) {
                        true => self.specifier(b, named, true),
                        false => self.type_use(b, named, kind),
                    });
                }
                if let Some(declarator) = node.child_by_field_name("declarator") {
                    b.descend(|b| self.each(b, declarator));
                }
            }
            _ => self.each(b, node),
        }
    }

    /// A structure, union, class or enumeration: defines it if it has a body, else it is used. `named_by_others` says that a
    /// declarator follows, so that the members of a type without a name do not belong to the type around it.
    pub(super) fn specifier(&mut self, b: &mut Builder<'t>, node: Node<'t>, named_by_others: bool) {
        let (name, body) = (node.child_by_field_name("name"), node.child_by_field_name("body"));
        match (name, body) {
            (Some(name), None) => self.type_use(b, name, UseKind::Type),
            (None, None) => self.each(b, node),
            (Some(name), Some(body)) => self.define_type(b, node, name, body),
            (None, Some(body)) if node.kind() == "enum_specifier" => self.enumerators(b, body, false),
            (None, Some(body)) if named_by_others => {
                self.within(b, ScopeKind::Type, None, |walk, b| walk.each(b, body));
            }
            (None, Some(body)) => self.each(b, body),
        }
    }

    /// Defines a type under a name, with its members.
    pub(super) fn define_type(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        name: Node<'t>,
        body: Node<'t>,
    ) {
        let (bases, base_names) = self.bases(b, node);
        let exported = self.anonymous == 0;
        let new = New { exported, bases, ..New::default() };
        let (outer, last) = self.split_name(b, name);
        let (at, text) = (last.start_byte(), b.text(last));
        match outer {
            None => {
                let symbol = b.define_in(b.scope(), text, at, SymbolKind::Type, new);
                self.members(b, node, (text, base_names), symbol, body);
            }
            Some((target, _)) => b.within_target(target, Vec::new(), |b| {
                let symbol = b.define_in(b.scope(), text, at, SymbolKind::Type, new);
                self.members(b, node, (text, base_names), symbol, body);
            }),
        }
    }

    fn members(
        &mut self,
        b: &mut Builder<'t>,
        node: Node<'t>,
        class: (&'t str, Vec<&'t str>),
        symbol: Option<SymbolId>,
        body: Node<'t>,
    ) {
        if node.kind() == "enum_specifier" {
            self.template.clear();
            let is_scoped =
                (0..3).filter_map(|at| node.child(at)).any(|word| matches!(word.kind(), "class" | "struct"));
            if is_scoped {
                return self.within(b, ScopeKind::Type, symbol, |walk, b| walk.enumerators(b, body, true));
            }
            return self.enumerators(b, body, false);
        }
        self.classes.push(class);
        self.within(b, ScopeKind::Type, symbol, |walk, b| walk.each(b, body));
        self.classes.pop();
    }

    /// Defines the members of an enumeration; unless it is a scoped one, they are names of the scope around it.
    fn enumerators(&mut self, b: &mut Builder<'t>, body: Node<'t>, is_scoped: bool) {
        b.each_child(body, |b, child| {
            if child.kind() != "enumerator" {
                return self.visit(b, child);
            }
            if let Some(name) = child.child_by_field_name("name") {
                let exported = self.anonymous == 0;
                b.define(name, SymbolKind::Field, New { exported, is_static: is_scoped, ..New::default() });
            }
            self.visit_field(b, child, "value");
        });
    }

    pub(super) fn type_definition(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(named) = node.child_by_field_name("type") else { return self.each(b, node) };
        let body = named.child_by_field_name("body").filter(|_| is_specifier(named));
        let tag = named.child_by_field_name("name").filter(|_| is_specifier(named));
        let mut names =
            children(node).filter(|(field, _)| *field == Some("declarator")).map(|(_, name)| name).peekable();
        let mut of = None;
        match (tag, body) {
            (None, Some(body)) if names.peek().is_some_and(|name| name.kind() == "type_identifier") => {
                if let Some(name) = names.next() {
                    b.descend(|b| self.define_type(b, named, name, body));
                    of = Some(b.name(b.text(name)));
                }
            }
            _ => of = self.declared_type(b, node),
        }
        let tag = tag.map(|tag| b.text(tag));
        for declarator in names {
            b.descend(|b| {
                let declared = self.declarator(b, declarator, of);
                let Some(name) = declared.name else { return };
                if let Some(parameters) = declared.function.and_then(|f| f.child_by_field_name("parameters"))
                {
                    self.types_in(b, parameters);
                }
                let exported = self.anonymous == 0;
                // `typedef struct a a` announces the structure, and gives it no other name.
                if tag == Some(b.text(name)) {
                    let new = New { exported, is_declaration: true, ..New::default() };
                    b.define(name, SymbolKind::Type, new);
                } else {
                    let declared = declared.declared.filter(|_| declared.function.is_none());
                    b.define(name, SymbolKind::Alias, New { exported, declared, ..New::default() });
                }
            });
        }
    }
}

/// Checks whether a node is a structure, union, class or enumeration.
fn is_specifier(node: Node<'_>) -> bool {
    matches!(node.kind(), "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier")
}
