//! Symbols of C#: the definitions, imports and uses of a file.

mod declarations;
mod patterns;
mod types;

use declarations::{broken, declaration, function, lambda, variables};
use patterns::{is_pattern, pattern, switch_expression, switch_section};
use tree_sitter::Node;
use types::{simple_name, type_name};

use crate::symbols::{
    Builder, Expr, ExprId, New, ScopeKind, SymbolId, SymbolKind, UseKind, all_children, child_of, children,
    field,
};

/// Methods of the class library whose result holds the same elements as their receiver.
const SAME_ELEMENTS: &[&str] = &[
    "AsEnumerable", "ConfigureAwait", "Distinct", "OrderBy", "OrderByDescending", "Reverse", "Skip", "Take",
    "TakeWhile", "ThenBy", "ToArray", "ToList", "Where",
];
/// Methods of the class library that pass an element to a lambda.
const EACH_ELEMENT: &[&str] = &[
    "All", "Any", "Count", "Find", "FindIndex", "First", "FirstOrDefault", "ForEach", "GroupBy", "Last",
    "LastOrDefault", "Max", "Min", "OrderBy", "OrderByDescending", "RemoveAll", "Select", "SelectMany",
    "Single", "SingleOrDefault", "Sum", "TakeWhile", "ToDictionary", "Where",
];

/// Reports the symbols of a file.
pub(super) fn extract<'t>(b: &mut Builder<'t>, root: Node<'t>) {
    b.visit_with(walk);
    if root.is_error() {
        broken(b, &all_children(root));
    } else {
        b.each(root);
    }
}

/// Walks a declaration, statement or expression. Returns the value of an expression.
fn walk<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    match node.kind() {
        "identifier" | "generic_name" | "alias_qualified_name" | "qualified_name" => {
            simple_name(b, node, UseKind::Read)
        }
        "string_literal"
        | "verbatim_string_literal"
        | "raw_string_literal"
        | "interpolated_string_expression" => {
            b.each(node);
            let of = b.name("string");
            b.add(Expr::Instance(of))
        }
        "member_access_expression" | "conditional_access_expression" => member(b, node, UseKind::Read),
        "invocation_expression" => call(b, node),
        "object_creation_expression" => creation(b, node),
        "this" => b.add(Expr::This),
        "base" => b.add(Expr::Super),
        "parenthesized_expression"
        | "postfix_unary_expression"
        | "checked_expression"
        | "ref_expression"
        | "arrow_expression_clause"
        | "argument" => argument(b, node),
        "prefix_unary_expression" => {
            b.each(node);
            b.unknown()
        }
        "await_expression" => {
            let of = b.last_value(node);
            b.add(Expr::Inside(of))
        }
        "cast_expression" | "as_expression" => cast(b, node),
        "conditional_expression" => {
            b.value_of(field(node, "condition"));
            let either = ["consequence", "alternative"].map(|name| b.value_of(field(node, name)));
            b.add(Expr::Either(either.to_vec()))
        }
        "binary_expression" => {
            let values = ["left", "right"].map(|side| b.value_of(field(node, side)));
            match field(node, "operator").map(|operator| operator.kind()) {
                Some("??") => b.add(Expr::Either(values.to_vec())),
                _ => b.unknown(),
            }
        }
        "element_access_expression" => {
            let of = b.value_of(field(node, "expression"));
            b.value_of(field(node, "subscript"));
            b.add(Expr::Inside(of))
        }
        "assignment_expression" => assignment(b, node),
        "is_pattern_expression" | "is_expression" => is_pattern(b, node),
        "switch_expression" => switch_expression(b, node),
        "with_expression" => {
            let parts = children(node);
            let of = b.value_of(parts.first().copied());
            for part in parts.into_iter().skip(1) {
                initialiser(b, part, of);
            }
            of
        }
        _ => {
            other_expression(b, node);
            b.unknown()
        }
    }
}

fn other_expression<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "ERROR" if !matches!(b.scope_kind(), ScopeKind::Function | ScopeKind::Block) => {
            broken(b, &all_children(node));
        }
        "typeof_expression" | "sizeof_expression" | "default_expression" => {
            if let Some(of) = field(node, "type") {
                type_name(b, of, UseKind::Type);
            }
        }
        "array_creation_expression" | "stackalloc_expression" => {
            for part in children(node) {
                if part.kind() == "array_type" {
                    type_name(b, part, UseKind::Type);
                } else {
                    b.value(part);
                }
            }
        }
        "lambda_expression" | "anonymous_method_expression" => lambda(b, node, None),
        "declaration_expression" => {
            let of = field(node, "type").filter(|of| of.kind() != "implicit_type");
            let declared = of.map(|of| type_name(b, of, UseKind::Type));
            local(b, field(node, "name"), declared, None);
        }
        "query_expression" => b.within(ScopeKind::Block, None, |b| b.each(node)),
        "from_clause" | "join_clause" | "let_clause" | "join_into_clause" => query_name(b, node),
        "anonymous_object_creation_expression" => {
            for part in children(node) {
                let is_name =
                    part.kind() == "identifier" && part.next_sibling().is_some_and(|next| next.kind() == "=");
                if !is_name {
                    b.value(part);
                }
            }
        }
        _ => statement(b, node),
    }
}

fn statement<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "local_declaration_statement"
        | "for_statement"
        | "using_statement"
        | "fixed_statement"
        | "variable_declaration" => scoped_variables(b, node),
        "block" | "switch_statement" | "while_statement" | "lock_statement" | "catch_clause" => {
            b.within(ScopeKind::Block, None, |b| b.each(node));
        }
        "if_statement" => condition(b, node),
        "switch_section" => switch_section(b, node),
        "foreach_statement" => b.within(ScopeKind::Block, None, |b| for_each(b, node)),
        "catch_declaration" => {
            let declared = field(node, "type").map(|of| type_name(b, of, UseKind::Type));
            local(b, field(node, "name"), declared, None);
        }
        "local_function_statement" => function(b, node, SymbolKind::Function),
        "labeled_statement" => {
            for part in children(node).into_iter().skip(1) {
                b.value(part);
            }
        }
        "goto_statement" | "break_statement" | "continue_statement" => {}
        kind if kind.ends_with("_pattern") => {
            pattern(b, node, None);
        }
        _ => declaration(b, node),
    }
}

/// Statements in which variables are declared; but those of a plain declaration hold after it.
fn scoped_variables<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    match node.kind() {
        "variable_declaration" => variables(b, node, SymbolKind::Local, &New::default()),
        "local_declaration_statement" => b.each(node),
        _ => b.within(ScopeKind::Block, None, |b| b.each(node)),
    }
}

/// The condition may bind names. They hold inside the statement, or after it where the condition denies something.
fn condition<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let text = field(node, "condition").map_or("", |condition| b.text(condition));
    if text.contains('!') || text.contains("is not ") || text.contains("out ") {
        b.each(node);
    } else {
        b.within(ScopeKind::Block, None, |b| b.each(node));
    }
}

fn local<'t>(
    b: &mut Builder<'t>,
    name: Option<Node<'t>>,
    declared: Option<ExprId>,
    value: Option<ExprId>,
) -> Option<SymbolId> {
    b.define(name?, SymbolKind::Local, New { declared, value, ..New::default() })
}

fn for_each<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let over = b.value_of(field(node, "right"));
    let of = field(node, "type").filter(|of| of.kind() != "implicit_type");
    let declared = of.map(|of| type_name(b, of, UseKind::Type));
    if let Some(name) = field(node, "left") {
        let inside = b.add(Expr::Inside(over));
        match name.kind() {
            "identifier" => {
                local(b, Some(name), declared, Some(inside));
            }
            "tuple_pattern" => tuple(b, name),
            _ => {
                b.value(name);
            }
        }
    }
    b.value_of(field(node, "body"));
}

/// Names in parentheses, of whose types nothing is known.
fn tuple<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for part in children(node) {
        match part.kind() {
            "identifier" => {
                local(b, Some(part), None, None);
            }
            "tuple_pattern" | "parenthesized_variable_designation" => b.descend(|b| tuple(b, part)),
            _ => {}
        }
    }
}

/// A clause of a query that binds a name to the elements of something, or to a value.
fn query_name<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let parts = children(node);
    let of = field(node, "type");
    let declared = of.map(|of| type_name(b, of, UseKind::Type));
    let name = field(node, "name").or_else(|| parts.iter().copied().find(|part| part.kind() == "identifier"));
    let mut first = None;
    for part in parts.into_iter().filter(|part| Some(*part) != name && Some(*part) != of) {
        let found = b.value(part);
        first = first.or(Some(found));
    }
    let given = match node.kind() {
        "let_clause" => first,
        _ => first.map(|first| b.add(Expr::Inside(first))),
    };
    local(b, name, declared, given);
}

/// `a.b`, `a?.b`, `a?[b]`.
fn member<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: UseKind) -> ExprId {
    let of = field(node, "expression").or_else(|| field(node, "condition"));
    let of = match of {
        Some(of) if of.kind() == "predefined_type" => b.unknown(),
        of => b.value_of(of),
    };
    let binding = child_of(node, "member_binding_expression");
    let name = field(node, "name").or_else(|| field(binding?, "name"));
    let Some(name) = name else {
        if let Some(index) = child_of(node, "element_binding_expression") {
            b.each(index);
        }
        return b.add(Expr::Inside(of));
    };
    named_member(b, of, name, kind)
}

fn named_member<'t>(b: &mut Builder<'t>, of: ExprId, name: Node<'t>, kind: UseKind) -> ExprId {
    let plain = child_of(name, "identifier").unwrap_or(name);
    let expr = b.member(of, b.text(plain));
    b.used(kind, expr, plain);
    if let Some(arguments) = child_of(name, "type_argument_list") {
        types::types(b, arguments);
    }
    expr
}

fn call<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let Some(callee) = field(node, "function") else { return b.last_value(node) };
    if b.text(callee) == "nameof" {
        b.value_of(field(node, "arguments"));
        return b.unknown();
    }
    let mut expr = b.unknown();
    b.descend(|b| {
        expr = match callee.kind() {
            "identifier" | "generic_name" => simple_name(b, callee, UseKind::Call),
            "member_access_expression" | "conditional_access_expression" => member(b, callee, UseKind::Call),
            _ => walk(b, callee),
        };
    });
    let of = match b.expr(expr) {
        Expr::Member(of, name) => Some((*of, b.text_of(*name).to_owned())),
        _ => None,
    };
    let element = of.as_ref().filter(|(_, name)| EACH_ELEMENT.contains(&name.as_str()));
    let element = element.map(|(of, _)| *of).map(|of| b.add(Expr::Inside(of)));
    if let Some(arguments) = field(node, "arguments") {
        b.each_child(arguments, |b, given| match children(given).last() {
            Some(last) if last.kind() == "lambda_expression" => lambda(b, *last, element),
            _ => {
                walk(b, given);
            }
        });
    }
    let result = b.add(Expr::Call(expr));
    match of {
        Some((of, name)) if SAME_ELEMENTS.contains(&name.as_str()) => b.add(Expr::Either(vec![result, of])),
        _ => result,
    }
}

/// The value of the last part; a name before `:` is that of the parameter.
fn argument<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let name = field(node, "name");
    let mut last = b.unknown();
    for part in children(node).into_iter().filter(|part| Some(*part) != name) {
        last = b.value(part);
    }
    match node.child(0).map(|first| first.kind()) {
        Some("this") => b.add(Expr::This),
        _ => last,
    }
}

fn creation<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let Some(created) = field(node, "type") else { return b.unknown() };
    let kind = if created.kind() == "array_type" { UseKind::Type } else { UseKind::Call };
    let of = type_name(b, created, kind);
    let made = b.add(Expr::Instance(of));
    b.value_of(field(node, "arguments"));
    if let Some(initial) = field(node, "initializer") {
        initialiser(b, initial, made);
    }
    made
}

/// `{ A = 1, … }` of a new object: the names are members of it.
fn initialiser<'t>(b: &mut Builder<'t>, node: Node<'t>, made: ExprId) {
    if node.kind() == "with_initializer" {
        let parts = children(node);
        if let [name, given] = parts[..] {
            named_member(b, made, name, UseKind::Write);
            b.value(given);
        }
        return;
    }
    b.each_child(node, |b, part| {
        let name = field(part, "left").filter(|left| left.kind() == "identifier");
        match name.filter(|_| part.kind() == "assignment_expression") {
            Some(name) => {
                let of = named_member(b, made, name, UseKind::Write);
                match field(part, "right") {
                    Some(inner) if inner.kind() == "initializer_expression" => initialiser(b, inner, of),
                    right => {
                        b.value_of(right);
                    }
                }
            }
            None => {
                walk(b, part);
            }
        }
    });
}

fn cast<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    b.value_of(field(node, "value").or_else(|| field(node, "left")));
    match field(node, "type").or_else(|| field(node, "right")) {
        Some(of) => {
            let of = type_name(b, of, UseKind::Type);
            b.add(Expr::Instance(of))
        }
        None => b.unknown(),
    }
}

fn assignment<'t>(b: &mut Builder<'t>, node: Node<'t>) -> ExprId {
    let left = field(node, "left").map(|left| match left.kind() {
        "identifier" => simple_name(b, left, UseKind::Write),
        "member_access_expression" | "conditional_access_expression" => {
            let mut found = b.unknown();
            b.descend(|b| found = member(b, left, UseKind::Write));
            found
        }
        _ => b.value(left),
    });
    b.value_of(field(node, "right"));
    left.unwrap_or(0)
}
