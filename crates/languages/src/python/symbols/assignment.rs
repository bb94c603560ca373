//! The names that Python's assignments, loops and other statements bind.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind};

impl<'t> Walk<'_, 't> {
    pub(super) fn assignment(&mut self, node: Node<'t>) -> ExprId {
        let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let annotation = node.child_by_field_name("type");
        let type_of_type = annotation.and_then(|annotation| self.type_of_type(annotation));
        let declared = annotation.and_then(|annotation| self.annotation(annotation));
        // In `a = b = c`, the right side is an assignment itself.
        let value = right.map(|right| self.assigned(right));
        let (declared, bound) = match type_of_type {
            Some(named) => (None, Some(named)),
            None => (declared, value.filter(|_| right.is_none_or(|right| right.kind() != "none"))),
        };
        if let Some(left) = left {
            if self.b.scope_kind() == ScopeKind::File && self.b.text(left) == "__all__" {
                self.all_names(right);
            }
            self.bind_pattern(left, declared, bound, right);
        }
        value.unwrap_or_else(|| self.b.unknown())
    }

    /// Visits a value that is assigned, and returns it as an expression.
    pub(super) fn assigned(&mut self, node: Node<'t>) -> ExprId {
        let value = self.value(node);
        self.assigned_from = node.end_byte();
        value
    }

    /// The names that `__all__` lists.
    fn all_names(&mut self, list: Option<Node<'t>>) {
        let Some(list) = list.filter(|list| matches!(list.kind(), "list" | "tuple")) else { return };
        let mut cursor = list.walk();
        for string in list.named_children(&mut cursor).filter(|child| child.kind() == "string") {
            let name = self.b.text(string).trim_matches(['"', '\'']);
            let value = self.b.name(name);
            self.b.export(name, value);
        }
    }

    /// Binds the names of the left side of an assignment.
    pub(super) fn bind_pattern(
        &mut self,
        left: Node<'t>,
        declared: Option<ExprId>,
        value: Option<ExprId>,
        right: Option<Node<'t>>,
    ) {
        if !self.b.enter() {
            return;
        }
        match left.kind() {
            "identifier" => self.bind(left, declared, value),
            "attribute" => self.bind_attribute(left, declared, value),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "expression_list" => {
                let parts = self.tuple_parts(left, right, value);
                let mut cursor = left.walk();
                for (at, part) in left.named_children(&mut cursor).enumerate() {
                    let value = parts.as_ref().and_then(|parts| parts.get(at).copied());
                    self.bind_pattern(part, None, value, None);
                }
            }
            "list_splat_pattern" | "list_splat" | "as_pattern_target" | "parenthesized_expression" => {
                let mut cursor = left.walk();
                let parts: Vec<Node<'t>> = left.named_children(&mut cursor).take(64).collect();
                for part in parts {
                    let value = value.filter(|_| !left.kind().starts_with("list"));
                    self.bind_pattern(part, declared, value, None);
                }
            }
            _ => {
                self.value(left);
            }
        }
        self.b.leave();
    }

    /// The values that the names of a tuple get, if the right side is a tuple, too.
    fn tuple_parts(
        &mut self,
        left: Node<'t>,
        right: Option<Node<'t>>,
        value: Option<ExprId>,
    ) -> Option<Vec<ExprId>> {
        let right = right.filter(|right| matches!(right.kind(), "expression_list" | "tuple"))?;
        if right.named_child_count() != left.named_child_count() {
            return None;
        }
        // The value of a written tuple is a generic type whose argument lists its parts.
        let Expr::Instance(of) = *self.b.expr(value?) else { return None };
        let Expr::Apply(_, arguments) = self.b.expr(of) else { return None };
        match arguments.as_slice() {
            [only] => match self.b.expr(*only) {
                Expr::Either(parts) if parts.len() == right.named_child_count() => Some(parts.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Binds a name where assignments do.
    pub(super) fn bind(&mut self, name: Node<'t>, declared: Option<ExprId>, value: Option<ExprId>) {
        let text = self.b.text(name);
        let (scope, kind) = self.binding_scope();
        let foreign = self.frames.last().is_some_and(|frame| frame.foreign.contains(text));
        let new = New { declared, value, exported: !text.starts_with('_'), ..New::default() };
        match kind {
            ScopeKind::Function if foreign => {
                let expr = self.b.name(text);
                self.b.used(UseKind::Write, expr, name);
                if let (Some(known), Some(value)) = (self.b.find(0, text), value) {
                    let value = self.b.outward(value);
                    self.b.add_value(known, value);
                }
            }
            ScopeKind::Function => match self.b.find(scope, text) {
                Some(known) if self.is_given(known) && (declared.is_some() || value.is_some()) => {
                    self.assign_parameter(known, name, new);
                }
                Some(known) => {
                    if let (Some(declared), Some(symbol)) = (declared, self.b.symbol_mut(known)) {
                        symbol.declared.get_or_insert(declared);
                    }
                    if let Some(value) = value {
                        self.b.add_value(known, value);
                    }
                }
                None => {
                    self.b.define_in(scope, text, name.start_byte(), SymbolKind::Local, new);
                }
            },
            ScopeKind::Type => {
                self.b.define_in(scope, text, name.start_byte(), SymbolKind::Field, new);
            }
            _ => {
                self.b.define_in(scope, text, name.start_byte(), SymbolKind::Variable, new);
            }
        }
    }

    /// Checks whether a symbol is a parameter without a declared type, so that its callers determine what it is.
    fn is_given(&self, symbol: SymbolId) -> bool {
        let symbol = self.b.symbol(symbol);
        symbol.is_some_and(|symbol| symbol.kind == SymbolKind::Parameter && symbol.declared.is_none())
    }

    /// Defines what a parameter is from where it is assigned: before, it is what the caller gave. In a loop, that may be anywhere in
    /// it, and where the assignment runs only sometimes, the parameter may still be what it was. The place of the symbol is the one
    /// from which on it is meant, and not that of its name.
    fn assign_parameter(&mut self, parameter: SymbolId, name: Node<'t>, new: New) {
        let (scope, _) = self.binding_scope();
        let (branches, outer_loop) =
            self.frames.last().map_or((0, None), |frame| (frame.branches, frame.outer_loop));
        let given = self.b.symbol(parameter).and_then(|symbol| symbol.value);
        let at = outer_loop.unwrap_or(name.start_byte().max(self.assigned_from));
        let text = self.b.text(name);
        let local = self.b.define_in(scope, text, at, SymbolKind::Local, new);
        if let Some(local) = local.filter(|_| branches > 0) {
            let given = given.unwrap_or_else(|| self.b.unknown());
            self.b.add_value(local, given);
        }
    }

    /// Binds a name in the innermost scope, even if that is a block.
    fn bind_here(&mut self, node: Node<'t>, value: Option<ExprId>) {
        if node.kind() == "identifier" && self.b.scope_kind() == ScopeKind::Block {
            self.b.define(node, SymbolKind::Local, New { value, ..New::default() });
        } else if self.b.scope_kind() == ScopeKind::Block && self.b.enter() {
            let mut cursor = node.walk();
            for part in node.named_children(&mut cursor) {
                self.bind_here(part, None);
            }
            self.b.leave();
        }
    }

    /// `self.x = …` in a method defines a field of the type.
    fn bind_attribute(&mut self, node: Node<'t>, declared: Option<ExprId>, value: Option<ExprId>) {
        let (object, name) = (node.child_by_field_name("object"), node.child_by_field_name("attribute"));
        let (Some(object), Some(name)) = (object, name) else { return };
        let own = self.frames.last().and_then(|frame| frame.own);
        let is_own = object.kind() == "identifier" && own.is_some_and(|(own, _)| own == self.b.text(object));
        if is_own && let Some(scope) = self.method_of() {
            let value = value.map(|value| self.b.outward(value));
            let text = self.b.text(name);
            match self.b.find(scope, text) {
                Some(known) => {
                    if self.b.symbol(known).is_some_and(|known| known.kind == SymbolKind::Field) {
                        if let (Some(declared), Some(symbol)) = (declared, self.b.symbol_mut(known)) {
                            symbol.declared.get_or_insert(declared);
                        }
                        if let Some(value) = value {
                            self.b.add_value(known, value);
                        }
                    }
                }
                None => {
                    let exported = !text.starts_with('_');
                    let new = New { declared, value, exported, ..New::default() };
                    self.b.define_in(scope, text, name.start_byte(), SymbolKind::Field, new);
                    self.value(object);
                    return;
                }
            }
        }
        self.value_as(node, UseKind::Write);
    }

    pub(super) fn for_loop(&mut self, node: Node<'t>) {
        let right = node.child_by_field_name("right").map(|right| self.assigned(right));
        let value = right.map(|right| self.b.add(Expr::Inside(right)));
        if let Some(left) = node.child_by_field_name("left") {
            self.bind_pattern(left, None, value, None);
        }
        self.sometimes(Some(node), |walk| {
            for field in ["body", "alternative"] {
                if let Some(block) = node.child_by_field_name(field) {
                    walk.statement(block);
                }
            }
        });
    }

    /// The loops and conditions of a comprehension, in the scope of it.
    pub(super) fn comprehension(&mut self, node: Node<'t>) {
        if !self.b.open(ScopeKind::Block, None) {
            return;
        }
        let mut cursor = node.walk();
        let body = node.child_by_field_name("body");
        for child in
            node.named_children(&mut cursor).filter(|child| Some(child.id()) != body.map(|body| body.id()))
        {
            if child.kind() == "for_in_clause" {
                let right = child.child_by_field_name("right").map(|right| self.value(right));
                let value = right.map(|right| self.b.add(Expr::Inside(right)));
                if let Some(left) = child.child_by_field_name("left") {
                    self.bind_here(left, value);
                }
            } else {
                self.block(child);
            }
        }
        if let Some(body) = body {
            match body.kind() {
                "pair" => self.block(body),
                _ => {
                    self.value(body);
                }
            }
        }
        self.b.close();
    }

    pub(super) fn with_item(&mut self, node: Node<'t>) {
        let Some(value_node) = node.child_by_field_name("value") else { return };
        if value_node.kind() != "as_pattern" {
            self.value(value_node);
            return;
        }
        let Some(entered) = value_node.named_child(0) else { return };
        let value = self.assigned(entered);
        let is_async = node
            .parent()
            .and_then(|clause| clause.parent())
            .is_some_and(|with| with.child(0).is_some_and(|first| first.kind() == "async"));
        let enter = self.b.member(value, if is_async { "__aenter__" } else { "__enter__" });
        let value = self.b.add(Expr::Call(enter));
        if let Some(alias) = value_node.child_by_field_name("alias") {
            self.bind_pattern(alias, None, Some(value), None);
        }
    }

    pub(super) fn except(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "as_pattern" => {
                    let caught = child.named_child(0).map(|caught| self.value(caught));
                    let caught = caught.map(|caught| self.caught(caught));
                    if let Some(alias) = child.child_by_field_name("alias") {
                        self.bind_pattern(alias, None, caught, None);
                    }
                }
                _ => self.statement(child),
            }
        }
    }

    /// Returns the caught exception: an instance of a type, or of one of a tuple of types.
    fn caught(&mut self, of: ExprId) -> ExprId {
        let tuple = match *self.b.expr(of) {
            Expr::Instance(of) => match self.b.expr(of) {
                Expr::Apply(_, arguments) => arguments.first().copied(),
                _ => None,
            },
            _ => None,
        };
        self.b.add(Expr::Instance(tuple.unwrap_or(of)))
    }

    pub(super) fn match_statement(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if child.kind() == "block" {
                let mut inner = child.walk();
                for case in child.named_children(&mut inner) {
                    self.case(case);
                }
            } else {
                self.value(child);
            }
        }
    }

    fn case(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "case_pattern" => self.pattern(child),
                "comment" => {}
                _ => self.statement(child),
            }
        }
    }

    /// A pattern of `case`: names without a dot are bound, classes are used.
    fn pattern(&mut self, node: Node<'t>) {
        if !self.b.enter() {
            return;
        }
        let mut cursor = node.walk();
        match node.kind() {
            "dotted_name" => {
                let parts: Vec<Node<'t>> = node.named_children(&mut cursor).take(16).collect();
                match parts.as_slice() {
                    [name] if self.b.text(*name) != "_" => self.bind(*name, None, None),
                    [] | [_] => {}
                    _ => {
                        self.dotted_use(&parts, UseKind::Read);
                    }
                }
            }
            "class_pattern" => {
                let mut class = None;
                for child in node.named_children(&mut cursor) {
                    if child.kind() == "dotted_name" && class.is_none() {
                        let mut parts = child.walk();
                        let parts: Vec<Node<'t>> = child.named_children(&mut parts).take(16).collect();
                        class = Some(self.dotted_use(&parts, UseKind::Type));
                    } else {
                        self.pattern(child);
                    }
                }
            }
            "keyword_pattern" => {
                for child in node.named_children(&mut cursor).skip(1) {
                    self.pattern(child);
                }
            }
            "as_pattern" => {
                for child in node.named_children(&mut cursor) {
                    match child.kind() {
                        "identifier" => self.bind(child, None, None),
                        _ => self.pattern(child),
                    }
                }
            }
            "splat_pattern" => {
                for child in node.named_children(&mut cursor).filter(|child| child.kind() == "identifier") {
                    self.bind(child, None, None);
                }
            }
            "identifier" | "string" | "concatenated_string" => {}
            _ => {
                for child in node.named_children(&mut cursor) {
                    self.pattern(child);
                }
            }
        }
        self.b.leave();
    }

    /// Uses of all parts of a dotted name.
    pub(super) fn dotted_use(&mut self, parts: &[Node<'t>], kind: UseKind) -> ExprId {
        let mut expr = self.b.unknown();
        for (at, part) in parts.iter().enumerate() {
            let name = self.b.text(*part);
            expr = if at == 0 { self.b.name(name) } else { self.b.member(expr, name) };
            let kind = if at + 1 == parts.len() { kind } else { UseKind::Read };
            self.b.used(kind, expr, *part);
        }
        expr
    }
}
