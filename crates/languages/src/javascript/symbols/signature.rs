//! Types of parameters, from the function types and signatures of TypeScript.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Expr, ExprId, FUNCTION_TYPE, ScopeKind, SymbolId, SymbolKind};

/// Maximum number of parameters whose types are kept.
const PARAMETERS_MAX: usize = 12;
/// Maximum number of different types of one parameter that the signatures of a type have.
const TYPES_MAX: usize = 8;

impl<'t> Walk<'_, 't> {
    /// The types of a function type's parameters, in order. `...rest: T[]` is expanded to the maximum number of parameters.
    pub(super) fn parameter_types(&mut self, node: Node<'t>) -> Vec<ExprId> {
        let mut types = Vec::new();
        let Some(list) = node.child_by_field_name("parameters") else { return types };
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            let pattern = parameter.child_by_field_name("pattern").map_or("", |pattern| pattern.kind());
            let annotation = parameter.child_by_field_name("type");
            match (parameter.kind(), pattern) {
                ("comment", _) => {}
                (_, "this") => {
                    annotation.and_then(|annotation| self.named_type(annotation));
                }
                (_, "rest_pattern") => self.rest_types(annotation, &mut types),
                _ => {
                    let named = annotation.and_then(|annotation| self.named_type(annotation));
                    types.push(self.known_type(named));
                }
            }
        }
        types.truncate(PARAMETERS_MAX);
        types
    }

    fn rest_types(&mut self, annotation: Option<Node<'t>>, types: &mut Vec<ExprId>) {
        let Some(of) = annotation.and_then(|annotation| annotation.named_child(0)) else { return };
        let is_plain = |node: &Node<'t>| !matches!(node.kind(), "rest_type" | "optional_type" | "comment");
        let mut cursor = of.walk();
        match of.kind() {
            "tuple_type" if of.named_children(&mut cursor).all(|element| is_plain(&element)) => {
                let mut cursor = of.walk();
                for element in of.named_children(&mut cursor) {
                    let named = self.named_type(element);
                    types.push(self.known_type(named));
                }
            }
            "array_type" => {
                let element = of.named_child(0).and_then(|element| self.named_type(element));
                let element = self.known_type(element);
                types.resize(PARAMETERS_MAX.max(types.len()), element);
            }
            _ => {
                self.named_type(of);
            }
        }
    }

    /// A type, if it is not one that only the function around knows.
    fn known_type(&mut self, named: Option<ExprId>) -> ExprId {
        let named = named.unwrap_or_else(|| self.b.unknown());
        match self.b.expr(named).clone() {
            Expr::Either(all) => {
                let all = all.into_iter().map(|one| self.known_alternative(one)).collect();
                self.b.either(all).unwrap_or(named)
            }
            _ => self.known_alternative(named),
        }
    }

    fn known_alternative(&mut self, named: ExprId) -> ExprId {
        let own = match *self.b.expr(named) {
            Expr::Name(name) => self.b.find(self.b.scope(), self.b.text_of(name)),
            _ => None,
        };
        let own = own.and_then(|own| self.b.symbol(own)).map(|own| own.kind);
        if own == Some(SymbolKind::TypeParameter) { self.b.unknown() } else { named }
    }

    /// Reads the signature of something that can be called.
    pub(super) fn call_signature(&mut self, node: Node<'t>) {
        if !self.b.open(ScopeKind::Function, None) {
            return;
        }
        self.type_parameters(node);
        let types = self.parameter_types(node);
        if let Some(result) = node.child_by_field_name("return_type") {
            self.named_type(result);
        }
        self.b.close();
        self.signatures.push(types);
    }

    /// The members of a type, which gets the type of a function if it can be called.
    pub(super) fn type_members(&mut self, body: Node<'t>, symbol: Option<SymbolId>) {
        let around = std::mem::take(&mut self.signatures);
        self.members(body);
        let own = std::mem::replace(&mut self.signatures, around);
        if own.is_empty() {
            return;
        }
        let declared = self.joined(&own);
        if let Some(symbol) = symbol.and_then(|symbol| self.b.symbol_mut(symbol)) {
            symbol.declared = Some(declared);
        }
    }

    /// One function type for several signatures. Those that differ only in the arguments of a generic type count once.
    fn joined(&mut self, signatures: &[Vec<ExprId>]) -> ExprId {
        let unknown = self.b.unknown();
        let count = signatures.iter().map(Vec::len).max().unwrap_or_default();
        let mut arguments = Vec::with_capacity(count + 1);
        for number in 0..count {
            let mut types: Vec<ExprId> = Vec::new();
            let mut heads: Vec<ExprId> = Vec::new();
            for of in signatures.iter().filter_map(|signature| signature.get(number)) {
                let alternatives = match self.b.expr(*of) {
                    Expr::Either(all) => all.clone(),
                    _ => vec![*of],
                };
                for one in alternatives {
                    let head = self.head(one);
                    if !heads.contains(&head) {
                        heads.push(head);
                        types.push(one);
                    }
                }
            }
            let joined = if types.len() > TYPES_MAX { None } else { self.b.either(types) };
            arguments.push(joined.unwrap_or(unknown));
        }
        arguments.push(unknown);
        let function = self.b.name(FUNCTION_TYPE);
        self.b.add(Expr::Apply(function, arguments))
    }

    /// The generic type without its arguments; a function type as it is.
    fn head(&self, of: ExprId) -> ExprId {
        match self.b.expr(of) {
            Expr::Apply(generic, _) => match self.b.expr(*generic) {
                Expr::Name(name) if self.b.text_of(*name) == FUNCTION_TYPE => of,
                _ => *generic,
            },
            _ => of,
        }
    }
}
