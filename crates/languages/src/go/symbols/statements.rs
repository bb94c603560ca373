//! Statements of Go, as far as they open scopes, define local names or assign.

use tree_sitter::Node;

use super::expressions::value_of;
use super::{Walk, fields, is_exported, parts};
use crate::symbols::{Builder, Expr, ExprId, LocalWalk, New, ScopeKind, SymbolKind, UseKind};

impl<'t> Walk<'t> {
    /// Visits a statement. Returns `false` if the node is not a statement that matters here.
    pub(super) fn statement(&mut self, b: &mut Builder<'t>, node: Node<'t>) -> bool {
        match node.kind() {
            "block" | "expression_case" | "default_case" => {
                if !self.locals.is_outside() && has_declarations(node) {
                    self.within(b, ScopeKind::Block, None, |walk, b| walk.children(b, node));
                } else {
                    self.children(b, node);
                }
            }
            "for_statement" | "communication_case" => {
                self.within(b, ScopeKind::Block, None, |walk, b| walk.children(b, node));
            }
            "if_statement" | "expression_switch_statement" => {
                if node.child_by_field_name("initializer").is_some() {
                    self.within(b, ScopeKind::Block, None, |walk, b| walk.children(b, node));
                } else {
                    self.children(b, node);
                }
            }
            "type_switch_statement" => {
                self.within(b, ScopeKind::Block, None, |walk, b| walk.type_switch(b, node));
            }
            "short_var_declaration" => {
                let values = self.list(b, node.child_by_field_name("right"));
                self.bind(b, node.child_by_field_name("left"), &values);
            }
            "range_clause" | "receive_statement" => self.receive(b, node),
            "assignment_statement" => {
                self.list(b, node.child_by_field_name("right"));
                self.assign(b, node.child_by_field_name("left"));
            }
            "inc_statement" | "dec_statement" => {
                for part in parts(node) {
                    self.visit_as(b, part, UseKind::Write);
                }
            }
            "var_declaration" | "const_declaration" => self.variables(b, node),
            "labeled_statement" => {
                for part in parts(node).into_iter().filter(|part| part.kind() != "label_name") {
                    self.visit(b, part);
                }
            }
            "goto_statement" | "break_statement" | "continue_statement" | "comment" => {}
            _ => return false,
        }
        true
    }

    fn list(&mut self, b: &mut Builder<'t>, list: Option<Node<'t>>) -> Vec<ExprId> {
        list.map(parts).unwrap_or_default().into_iter().map(|one| self.visit(b, one)).collect()
    }

    fn assign(&mut self, b: &mut Builder<'t>, left: Option<Node<'t>>) {
        for one in left.map(parts).unwrap_or_default() {
            self.visit_as(b, one, UseKind::Write);
        }
    }

    /// Defines the names on the left of `:=`, except those that their scope already has.
    fn bind(&mut self, b: &mut Builder<'t>, left: Option<Node<'t>>, values: &[ExprId]) {
        let names = left.map(parts).unwrap_or_default();
        let count = names.len();
        for (at, name) in names.into_iter().enumerate() {
            if name.kind() != "identifier" {
                self.visit_as(b, name, UseKind::Write);
            } else if !self.locals.has_here(b.text(name)) {
                let value = value_of(b, values, at, count);
                self.define_local(b, name, SymbolKind::Local, New { value, ..New::default() });
            }
        }
    }

    /// `for k, v := range x` and `case v, ok := <-x`.
    fn receive(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let right = self.field(b, node, "right");
        let (left, mut cursor) = (node.child_by_field_name("left"), node.walk());
        if !node.children(&mut cursor).any(|child| child.kind() == ":=") {
            return self.assign(b, left);
        }
        let unknown = b.unknown();
        let values = match (node.kind(), right) {
            ("range_clause", Some(right)) => {
                let inside = b.add(Expr::Inside(right));
                // A single name gets the element of a channel, or a key, about which nothing is known.
                match left.map_or(0, |left| left.named_child_count()) {
                    1 => vec![inside],
                    _ => vec![unknown, inside],
                }
            }
            (_, Some(right)) => vec![right],
            (_, None) => Vec::new(),
        };
        self.bind(b, left, &values);
    }

    /// `switch x := y.(type)`: the name has a different type in each case.
    fn type_switch(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        self.field(b, node, "initializer");
        let value = self.field(b, node, "value");
        let alias = node.child_by_field_name("alias").and_then(|list| list.named_child(0));
        for case in parts(node) {
            if !matches!(case.kind(), "type_case" | "default_case") {
                continue;
            }
            self.within(b, ScopeKind::Block, None, |walk, b| {
                let types: Vec<ExprId> =
                    fields(case, "type").into_iter().map(|of| walk.visit(b, of)).collect();
                if let Some(alias) = alias.filter(|alias| alias.kind() == "identifier") {
                    let new = match types[..] {
                        [one] => New { declared: Some(one), ..New::default() },
                        _ => New { value, ..New::default() },
                    };
                    walk.define_local(b, alias, SymbolKind::Local, new);
                }
                for list in parts(case).into_iter().filter(|part| part.kind() == "statement_list") {
                    walk.children(b, list);
                }
            });
        }
    }

    /// Variables and constants. In a list of constants, what follows a typed one without a value has its type.
    fn variables(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut repeated = None;
        for part in parts(node) {
            let specs = if part.kind() == "var_spec_list" { parts(part) } else { vec![part] };
            for spec in specs {
                let values = self.list(b, spec.child_by_field_name("value"));
                let declared = self.field(b, spec, "type");
                if declared.is_some() || !values.is_empty() {
                    repeated = declared;
                }
                self.spec(
                    b,
                    spec,
                    repeated.filter(|_| node.kind() == "const_declaration").or(declared),
                    &values,
                );
            }
        }
    }

    fn spec(&mut self, b: &mut Builder<'t>, spec: Node<'t>, declared: Option<ExprId>, values: &[ExprId]) {
        let names = fields(spec, "name");
        let count = names.len();
        for (at, name) in names.into_iter().enumerate() {
            let value = value_of(b, values, at, count).filter(|_| declared.is_none());
            let new = New { declared, value, ..New::default() };
            if self.locals.is_outside() {
                let exported = is_exported(b.text(name));
                b.define(name, SymbolKind::Variable, New { exported, ..new });
            } else {
                self.define_local(b, name, SymbolKind::Local, new);
            }
        }
    }
}

/// Checks whether a block defines names, and therefore needs a scope.
fn has_declarations(node: Node<'_>) -> bool {
    parts(node).into_iter().filter(|part| part.kind() == "statement_list").flat_map(parts).any(|statement| {
        matches!(
            statement.kind(),
            "short_var_declaration" | "var_declaration" | "const_declaration" | "type_declaration"
        )
    })
}
