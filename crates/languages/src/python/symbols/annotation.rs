//! Type annotations of Python, also those written as strings.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::{Expr, ExprId, UseKind};

/// Generic types that only say something of the type in them.
const TRANSPARENT: &[&str] = &[
    "Annotated", "ClassVar", "Concatenate", "Final", "InitVar", "NotRequired", "Optional", "ReadOnly",
    "Required", "TypeGuard", "TypeIs", "Unpack",
];
/// Generic types whose first argument is the type of their content.
const FIRST: &[&str] = &["AsyncGenerator", "Generator", "defaultdict_key", "tuple", "Tuple"];
/// Maximum depth of a type that is written as a string, and the maximum number of its bytes.
const DEPTH_MAX: u32 = 16;
const BYTES_MAX: usize = 400;

impl<'t> Walk<'_, 't> {
    /// The type that an annotation names; `None` for no type, such as `None` and literals.
    pub(super) fn annotation(&mut self, node: Node<'t>) -> Option<ExprId> {
        if !self.b.enter() {
            return None;
        }
        let named = self.annotation_kind(node);
        self.b.leave();
        named
    }

    fn annotation_kind(&mut self, node: Node<'t>) -> Option<ExprId> {
        match node.kind() {
            "type" | "parenthesized_expression" | "constrained_type" | "splat_type" => {
                let mut cursor = node.walk();
                let all: Vec<_> = node.named_children(&mut cursor).take(8).collect();
                let mut found = None;
                for inner in all {
                    let named = self.annotation(inner);
                    found = found.or(named);
                }
                found
            }
            "identifier" if matches!(self.b.text(node), "Self" | "Any" | "object") => {
                let is_self = self.b.text(node) == "Self";
                is_self.then(|| self.b.add(Expr::ThisType))
            }
            "attribute" if matches!(self.last_name(node), "Self" | "Any") => {
                let is_self = self.last_name(node) == "Self";
                self.value(node);
                is_self.then(|| self.b.add(Expr::ThisType))
            }
            "identifier" | "attribute" => Some(self.value_as(node, UseKind::Type)),
            "subscript" => {
                let of = node.child_by_field_name("value")?;
                let base = self.value_as(of, UseKind::Type);
                let name = self.last_name(of);
                let arguments = self.arguments(name, node);
                self.generic(name, base, arguments)
            }
            "generic_type" => {
                let of = node.named_child(0)?;
                let base = self.value_as(of, UseKind::Type);
                let name = self.last_name(of);
                let list = node.named_child(1)?;
                let arguments = self.arguments(name, list);
                self.generic(name, base, arguments)
            }
            "binary_operator" | "union_type" => {
                let mut cursor = node.walk();
                let all: Vec<_> = node.named_children(&mut cursor).take(8).collect();
                let named = all.into_iter().filter_map(|one| self.annotation(one)).collect();
                self.b.either(named)
            }
            "string" => self.string(node),
            "list" | "tuple" | "expression_list" => {
                let mut cursor = node.walk();
                for one in node.named_children(&mut cursor) {
                    self.annotation(one);
                }
                None
            }
            "none" | "comment" | "ellipsis" => None,
            _ => {
                self.value(node);
                None
            }
        }
    }

    /// The arguments of a generic type, as far as they are types.
    fn arguments(&mut self, name: &str, list: Node<'t>) -> Vec<Option<ExprId>> {
        let is_literal = name == "Literal";
        let mut cursor = list.walk();
        let skipped = usize::from(list.kind() == "subscript");
        let all: Vec<_> = list.named_children(&mut cursor).skip(skipped).take(16).collect();
        let mut arguments = Vec::new();
        for one in all.into_iter().filter(|one| one.kind() != "comment") {
            if !is_literal {
                arguments.push(self.annotation(one));
            }
        }
        arguments
    }

    /// A generic type, or what it says of its arguments.
    fn generic(&mut self, name: &str, base: ExprId, arguments: Vec<Option<ExprId>>) -> Option<ExprId> {
        if name == "Literal" {
            return None;
        }
        if TRANSPARENT.contains(&name) {
            return arguments.into_iter().next().flatten();
        }
        let unknown = self.b.unknown();
        if name == "Union" {
            return self.b.either(arguments.into_iter().flatten().collect());
        }
        let mut arguments: Vec<ExprId> = arguments.into_iter().map(|one| one.unwrap_or(unknown)).collect();
        if FIRST.contains(&name) {
            arguments.truncate(1);
        }
        Some(self.b.add(Expr::Apply(base, arguments)))
    }

    /// The types in the brackets of a subscript.
    pub(super) fn subscripts_as_types(&mut self, node: Node<'t>) -> Vec<ExprId> {
        let arguments = self.arguments("", node);
        let unknown = self.b.unknown();
        arguments.into_iter().map(|one| one.unwrap_or(unknown)).collect()
    }

    /// The type `T` of the annotation `type[T]`: the value is then the type itself.
    pub(super) fn type_of_type(&mut self, node: Node<'t>) -> Option<ExprId> {
        let inner = if node.kind() == "type" { node.named_child(0)? } else { node };
        if !matches!(inner.kind(), "generic_type" | "subscript") {
            return None;
        }
        let name = self.last_name(inner.named_child(0)?);
        if !matches!(name, "type" | "Type") {
            return None;
        }
        let argument = inner.named_child(1)?;
        let argument = if argument.kind() == "type_parameter" { argument.named_child(0)? } else { argument };
        let text = self.b.text(argument).trim_matches(['"', '\'']);
        self.parse(text, argument.start_byte(), false)
    }

    fn last_name(&self, node: Node<'t>) -> &'t str {
        let text = self.b.text(node);
        text.rsplit('.').next().unwrap_or(text).trim()
    }

    fn string(&mut self, node: Node<'t>) -> Option<ExprId> {
        let content = node.named_children(&mut node.walk()).find(|child| child.kind() == "string_content")?;
        self.parse(self.b.text(content), content.start_byte(), true)
    }

    /// A type that is written as a text. `uses` reports the names in it as uses.
    fn parse(&mut self, text: &'t str, at: usize, uses: bool) -> Option<ExprId> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let mut parser = Parser { text, at: 0, offset: at, uses };
        parser.union(self, 0)
    }
}

/// Reads a type from a text.
struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Start of the text in the file.
    offset: usize,
    uses: bool,
}

impl<'t> Parser<'t> {
    fn peek(&mut self) -> Option<char> {
        let rest = self.text.get(self.at..)?;
        self.at += rest.len() - rest.trim_start().len();
        self.text.get(self.at..)?.chars().next()
    }

    fn skip(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn union(&mut self, walk: &mut Walk<'_, 't>, depth: u32) -> Option<ExprId> {
        let mut all = Vec::new();
        loop {
            all.extend(self.one(walk, depth));
            if !self.skip('|') {
                return walk.b.either(all);
            }
        }
    }

    fn name(&mut self) -> Option<(usize, &'t str)> {
        self.peek()?;
        let rest = self.text.get(self.at..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let from = self.at;
        self.at += end;
        (end > 0).then(|| (from, &rest[..end]))
    }

    fn one(&mut self, walk: &mut Walk<'_, 't>, depth: u32) -> Option<ExprId> {
        let (from, first) = self.name()?;
        let mut expr = walk.b.name(first);
        let mut last = (from, first);
        while self.skip('.') {
            let (from, name) = self.name()?;
            expr = walk.b.member(expr, name);
            last = (from, name);
        }
        if self.uses && !matches!(last.1, "None" | "Any") {
            walk.b.used_at(UseKind::Type, expr, self.offset + last.0);
        }
        let mut arguments = Vec::new();
        let generic = self.skip('[');
        if generic && depth < DEPTH_MAX {
            loop {
                // `Callable` has a list of its own.
                let list = self.skip('[');
                let argument = self.union(walk, depth + 1);
                arguments.push(argument.filter(|_| !list));
                if list {
                    while self.skip(',') {
                        self.union(walk, depth + 1);
                    }
                    self.skip(']');
                }
                if !self.skip(',') {
                    break;
                }
            }
            self.skip(']');
        }
        match last.1 {
            "None" | "Any" => None,
            "Self" => Some(walk.b.add(Expr::ThisType)),
            name if generic => walk.generic(name, expr, arguments),
            _ => Some(expr),
        }
    }
}
