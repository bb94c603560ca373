//! Symbols that only C++ has: namespaces, templates, aliases, base classes, lambdas, constructions. `c/symbols.rs` walks the rest.

use tree_sitter::Node;

use crate::c::symbols::{Walk, children};
use crate::symbols::{Builder, Expr, ExprId, New, ScopeKind, SymbolKind, TreeWalk, UseKind};

/// Maximum number of parts of the name of a namespace.
const PARTS_MAX: usize = 16;

impl<'t> Walk<'t> {
    /// Visits a node that only C++ has. Returns false for others.
    pub(crate) fn visit_cpp(&mut self, b: &mut Builder<'t>, node: Node<'t>, kind: &str) -> bool {
        match kind {
            "namespace_definition" => self.namespace(b, node),
            "namespace_alias_definition" => self.alias(b, node, node.named_child(1)),
            "alias_declaration" => self.alias(b, node, node.child_by_field_name("type")),
            "using_declaration" => self.using(b, node),
            "template_declaration" => self.template_declaration(b, node),
            "concept_definition" => {
                if let Some(name) = node.child_by_field_name("name") {
                    b.define(name, SymbolKind::Type, New { exported: true, ..New::default() });
                }
                self.template.clear();
                self.each_except(b, node, &["name"]);
            }
            "friend_declaration" => b.each_child(node, |b, child| match child.kind() {
                "declaration" => {
                    self.declared_type(b, child);
                }
                _ => self.visit(b, child),
            }),
            "field_initializer" => self.initializer(b, node),
            "new_expression" => {
                if let Some(named) = node.child_by_field_name("type") {
                    b.descend(|b| self.type_use(b, named, UseKind::Call));
                }
                self.each_except(b, node, &["type"]);
            }
            "lambda_expression" => self.within(b, ScopeKind::Function, None, |walk, b| {
                let declarator = node.child_by_field_name("declarator");
                if let Some(list) = declarator.and_then(|d| d.child_by_field_name("parameters")) {
                    walk.parameters(b, list);
                }
                walk.each_except(b, node, &["declarator"]);
            }),
            "for_range_loop" => self.range_loop(b, node),
            _ => return false,
        }
        true
    }

    fn namespace(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(body) = node.child_by_field_name("body") else { return };
        let Some(name) = node.child_by_field_name("name") else {
            self.anonymous += 1;
            self.each(b, body);
            self.anonymous -= 1;
            return;
        };
        let mut names = Vec::new();
        if name.kind() == "nested_namespace_specifier" {
            let mut open = vec![name];
            while let Some(next) = open.pop() {
                if next.kind() == "namespace_identifier" {
                    names.push(next);
                } else if names.len() + open.len() < PARTS_MAX {
                    let mut inner: Vec<_> = children(next).map(|(_, child)| child).take(PARTS_MAX).collect();
                    inner.reverse();
                    open.extend(inner);
                }
            }
        } else {
            names.push(name);
        }
        self.namespaces(b, &names, body);
    }

    /// Opens namespaces, one in the other, around a body.
    fn namespaces(&mut self, b: &mut Builder<'t>, names: &[Node<'t>], body: Node<'t>) {
        let Some((name, inner)) = names.split_first() else { return self.each(b, body) };
        let exported = self.anonymous == 0;
        let symbol = b.define(*name, SymbolKind::Namespace, New { exported, ..New::default() });
        self.within(b, ScopeKind::Namespace, symbol, |walk, b| walk.namespaces(b, inner, body));
    }

    /// Another name for a type or namespace.
    fn alias(&mut self, b: &mut Builder<'t>, node: Node<'t>, of: Option<Node<'t>>) {
        self.template.clear();
        let (Some(name), Some(of)) = (node.child_by_field_name("name"), of) else { return };
        let declared = match of.kind() {
            "nested_namespace_specifier" => {
                let parts: Vec<_> = children(of).map(|(_, part)| part).take(PARTS_MAX).collect();
                path(b, &parts)
            }
            "namespace_identifier" => b.name(b.text(of)),
            _ => self.type_of(b, of),
        };
        let exported = self.anonymous == 0;
        b.define(name, SymbolKind::Alias, New { exported, declared: Some(declared), ..New::default() });
        b.descend(|b| self.visit(b, of));
    }

    /// `using a::b` and `using namespace a::b`. The mark `::` before a module distinguishes a namespace from an included file.
    fn using(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let is_namespace = (0..3).filter_map(|at| node.child(at)).any(|word| word.kind() == "namespace");
        let Some(of) = children(node).map(|(_, child)| child).last() else { return };
        if is_namespace {
            let module = format!("::{}", b.text(of).trim_start_matches("::"));
            return b.import_all(of, &module, false);
        }
        if of.kind() != "qualified_identifier" {
            return;
        }
        // In a class, it names a member of a base class, which is found there.
        let (_, last) = self.last_name(of);
        let name = b.text(last);
        let path = b.text(of).strip_suffix(name).map_or("", |path| path.trim_end().trim_end_matches(':'));
        if b.scope_kind() != ScopeKind::Type && !path.is_empty() {
            let module = format!("::{}", path.trim_start_matches("::"));
            b.import(last, &module, Some(name), Some(name), None);
        }
        b.descend(|b| self.visit(b, of));
    }

    fn last_name(&self, node: Node<'t>) -> (usize, Node<'t>) {
        let (mut last, mut depth) = (node, 0);
        while depth < PARTS_MAX && last.kind() == "qualified_identifier" {
            let Some(name) = last.child_by_field_name("name") else { break };
            (last, depth) = (name, depth + 1);
        }
        (depth, last)
    }

    fn template_declaration(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if let Some(list) = node.child_by_field_name("parameters") {
            for (_, parameter) in children(list).take(64) {
                let name = match parameter.kind() {
                    "type_parameter_declaration" | "variadic_type_parameter_declaration" => {
                        parameter.named_child(0)
                    }
                    "optional_type_parameter_declaration" => parameter.child_by_field_name("name"),
                    _ => {
                        parameter.child_by_field_name("declarator").filter(|name| name.kind() == "identifier")
                    }
                };
                self.template.extend(name);
                self.visit_field(b, parameter, "default_type");
            }
        }
        self.each_except(b, node, &["parameters"]);
        self.template.clear();
    }

    /// The base types of a class, and their simple names.
    pub(crate) fn bases(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> (Vec<ExprId>, Vec<&'t str>) {
        let (mut bases, mut names) = (Vec::new(), Vec::new());
        let clause =
            children(node).map(|(_, child)| child).take(8).find(|child| child.kind() == "base_class_clause");
        let Some(clause) = clause else { return (bases, names) };
        for (_, base) in children(clause).take(64) {
            if matches!(base.kind(), "type_identifier" | "template_type" | "qualified_identifier") {
                let (_, last) = self.last_name(base);
                let last = last.child_by_field_name("name").unwrap_or(last);
                names.push(b.text(last));
                bases.push(self.type_of(b, base));
                b.descend(|b| self.type_use(b, base, UseKind::Inherit));
            }
        }
        (bases, names)
    }

    /// `field(value)` or `Base(value)` before the body of a constructor.
    fn initializer(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.named_child(0) else { return };
        let text = b.text(name);
        if name.kind() == "field_identifier" {
            let constructs =
                self.classes.last().is_some_and(|(class, bases)| *class == text || bases.contains(&text));
            let expr = b.name(text);
            b.used(if constructs { UseKind::Call } else { UseKind::Write }, expr, name);
        } else {
            b.descend(|b| self.type_use(b, name, UseKind::Call));
        }
        for (_, child) in children(node).skip(1) {
            b.descend(|b| self.visit(b, child));
        }
    }

    /// Reports that a declaration calls a constructor: `T x(a)`, `T x{a}`.
    pub(crate) fn construction(&mut self, b: &mut Builder<'t>, declaration: Node<'t>) {
        let Some(named) = declaration.child_by_field_name("type") else { return };
        if matches!(named.kind(), "type_identifier" | "template_type" | "qualified_identifier") {
            let (_, last) = self.last_name(named);
            let last = last.child_by_field_name("name").unwrap_or(last);
            let of = self.type_of(b, named);
            let of = if let Expr::Apply(of, _) = b.expr(of) { *of } else { of };
            b.used(UseKind::Call, of, last);
        }
    }

    /// The names of `auto [a, b] = x`. When iterating, the second one is the value.
    pub(crate) fn bind_parts(&mut self, b: &mut Builder<'t>, declarator: Node<'t>, value: Option<Node<'t>>) {
        for (at, (_, name)) in children(declarator).enumerate().take(64) {
            let value = value.filter(|_| at == 1).map(|value| {
                let of = self.expr(b, value);
                b.add(Expr::Inside(of))
            });
            self.local(b, name, New { value, ..New::default() });
        }
    }

    fn range_loop(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        self.visit_field(b, node, "right");
        self.within(b, ScopeKind::Block, None, |walk, b| {
            let base = walk.declared_type(b, node);
            let right = node.child_by_field_name("right");
            if let Some(declarator) = node.child_by_field_name("declarator") {
                let binding = match declarator.kind() {
                    "reference_declarator" => declarator.named_child(0).unwrap_or(declarator),
                    _ => declarator,
                };
                if binding.kind() == "structured_binding_declarator" {
                    walk.bind_parts(b, binding, right);
                } else {
                    let declared = walk.declarator(b, declarator, base);
                    let value = right.filter(|_| declared.declared.is_none()).map(|right| {
                        let of = walk.expr(b, right);
                        b.add(Expr::Inside(of))
                    });
                    if let Some(name) = declared.name {
                        walk.local(b, name, New { declared: declared.declared, value, ..New::default() });
                    }
                }
            }
            walk.each_except(b, node, &["type", "declarator", "right"]);
        });
    }
}

/// The expression of a path of namespaces.
fn path(b: &mut Builder<'_>, parts: &[Node<'_>]) -> ExprId {
    let mut of = None;
    for part in parts {
        let text = b.text(*part);
        of = Some(match of {
            Some(of) => b.member(of, text),
            None => b.name(text),
        });
    }
    of.unwrap_or_else(|| b.unknown())
}
