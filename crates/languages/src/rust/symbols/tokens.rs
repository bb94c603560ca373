//! Token trees of Rust's macros: chains of names, members and calls are recognised, and nothing else.

use tree_sitter::Node;

use super::expressions::awaited;
use super::{Walk, is_capital};
use crate::symbols::{Builder, Expr, ExprId, New, SymbolKind, UseKind};

/// Macros of the standard library; uses of them are not reported.
const STANDARD: &[&str] = &[
    "assert", "assert_eq", "assert_ne", "cfg", "column", "compile_error", "concat", "dbg", "debug_assert",
    "debug_assert_eq", "debug_assert_ne", "env", "eprint", "eprintln", "file", "format", "format_args",
    "include", "include_bytes", "include_str", "line", "matches", "module_path", "option_env", "panic",
    "print", "println", "stringify", "thread_local", "todo", "unimplemented", "unreachable", "vec", "write",
    "writeln",
];

/// A chain of tokens as far as it was read.
struct Chain<'t> {
    value: ExprId,
    /// The last name, if it has not been used yet.
    last: Option<Node<'t>>,
    is_local: bool,
}

impl<'t> Walk<'t> {
    pub(super) fn macro_invocation(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        if let Some(name) = node.child_by_field_name("macro")
            && STANDARD.binary_search(&b.text(name)).is_err()
        {
            self.macro_name(b, name);
        }
        let mut cursor = node.walk();
        for tree in node.named_children(&mut cursor).filter(|child| child.kind() == "token_tree") {
            self.tokens(b, tree);
        }
    }

    /// Uses the name of a macro, which is marked, because a function can have the same name.
    fn macro_name(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let last = node.child_by_field_name("name").unwrap_or(node);
        let marked = format!("{}!", b.text(last));
        let value = match node.child_by_field_name("path") {
            Some(path) => {
                let of = self.path(b, path, None);
                b.member(of, &marked)
            }
            None => b.name(&marked),
        };
        b.used(UseKind::Call, value, last);
    }

    /// Visits a token tree.
    pub(super) fn tokens(&mut self, b: &mut Builder<'t>, tree: Node<'t>) {
        b.descend(|b| {
            let mut cursor = tree.walk();
            let tokens: Vec<Node<'t>> = tree.children(&mut cursor).collect();
            let mut at = 0;
            while let Some(token) = tokens.get(at) {
                at += 1;
                match kind_of(token) {
                    "token_tree" | "token_repetition" => self.tokens(b, *token),
                    "let" => at = self.let_tokens(b, &tokens, at),
                    "|" | "," => at = self.typed_parameter(b, &tokens, at),
                    "identifier" | "self" | "crate" | "super" => at = self.chain(b, &tokens, at - 1).0,
                    _ => {}
                }
            }
        });
    }

    /// `let name = chain`: the name is local from here on.
    fn let_tokens(&mut self, b: &mut Builder<'t>, tokens: &[Node<'t>], from: usize) -> usize {
        let kind = |at: usize| tokens.get(at).map_or("", kind_of);
        let name = if kind(from) == "mutable_specifier" { from + 1 } else { from };
        let is_chain = matches!(kind(name + 2), "identifier" | "self" | "crate" | "super");
        if kind(name) != "identifier" || kind(name + 1) != "=" || !is_chain {
            return from;
        }
        let (at, value) = self.chain(b, tokens, name + 2);
        self.define_local(b, tokens[name], SymbolKind::Local, New { value: Some(value), ..New::default() });
        at
    }

    /// `name: Type` after `|` or between other parameters, up to the next `,` or `|`.
    fn typed_parameter(&mut self, b: &mut Builder<'t>, tokens: &[Node<'t>], from: usize) -> usize {
        let kind = |at: usize| tokens.get(at).map_or("", kind_of);
        let name = if kind(from) == "mutable_specifier" { from + 1 } else { from };
        let mut of = name + 2;
        while matches!(kind(of), "&" | "mutable_specifier") {
            of += 1;
        }
        let is_type = tokens.get(of).is_some_and(|of| of.kind() == "identifier" && is_capital(b.text(*of)));
        if kind(name) != "identifier"
            || kind(name + 1) != ":"
            || !is_type
            || !matches!(kind(of + 1), "|" | ",")
        {
            return from;
        }
        let declared = b.name(b.text(tokens[of]));
        b.used(UseKind::Type, declared, tokens[of]);
        let new = New { declared: Some(declared), ..New::default() };
        self.define_local(b, tokens[name], SymbolKind::Parameter, new);
        of + 1
    }

    /// Reads a chain that begins at a token, and returns the number of the token after it, and its value.
    fn chain(&mut self, b: &mut Builder<'t>, tokens: &[Node<'t>], from: usize) -> (usize, ExprId) {
        let kind = |at: usize| tokens.get(at).map_or("", kind_of);
        let first = tokens[from];
        let mut chain = self.first(b, first, from > 0 && kind(from - 1) == ".");
        let mut at = from + 1;
        // `name = value` and `name: value` name an argument or a field.
        if matches!(kind(at), "=" | ":") {
            return (at, chain.value);
        }
        loop {
            b.descend(|_| {});
            match (kind(at), kind(at + 1)) {
                ("::", "<") => match generics_end(tokens, at + 1) {
                    Some(end) => at = end,
                    None => break,
                },
                ("::", "identifier") => {
                    use_type(b, &chain);
                    chain = member(b, chain.value, tokens[at + 1]);
                    at += 2;
                }
                (".", "await") => {
                    chain.used(b, UseKind::Read);
                    chain.value = awaited(b, chain.value);
                    at += 2;
                }
                (".", "identifier" | "integer_literal") => {
                    chain.used(b, UseKind::Read);
                    chain = member(b, chain.value, tokens[at + 1]);
                    at += 2;
                }
                ("!", "token_tree") => {
                    if let Some(name) =
                        chain.last.filter(|name| STANDARD.binary_search(&b.text(*name)).is_err())
                    {
                        let marked = format!("{}!", b.text(name));
                        let value = match *b.expr(chain.value) {
                            Expr::Member(of, _) => b.member(of, &marked),
                            _ => b.name(&marked),
                        };
                        b.used(UseKind::Call, value, name);
                    }
                    self.tokens(b, tokens[at + 1]);
                    return (at + 2, b.unknown());
                }
                ("?", _) => {
                    chain.used(b, UseKind::Read);
                    chain.value = b.add(Expr::Inside(chain.value));
                    at += 1;
                }
                ("token_tree", _) => match tokens[at].child(0).map_or("", |open| open.kind()) {
                    "(" => {
                        chain.used(b, UseKind::Call);
                        chain.value = b.add(Expr::Call(chain.value));
                        self.tokens(b, tokens[at]);
                        at += 1;
                    }
                    "[" => {
                        chain.used(b, UseKind::Read);
                        chain.value = b.add(Expr::Inside(chain.value));
                        self.tokens(b, tokens[at]);
                        at += 1;
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        chain.used(b, UseKind::Read);
        (at, chain.value)
    }

    /// The beginning of a chain; after a dot it is a member of something that was not read.
    fn first(&mut self, b: &mut Builder<'t>, token: Node<'t>, is_member: bool) -> Chain<'t> {
        let text = b.text(token);
        if is_member {
            let unknown = b.unknown();
            return member(b, unknown, token);
        }
        match (token.kind(), text) {
            ("self", _) => Chain { value: b.add(Expr::This), last: None, is_local: true },
            ("crate" | "super", _) => {
                let path = self.absolute(&[text]);
                Chain { value: b.name(&path), last: None, is_local: true }
            }
            (_, "Self") => Chain { value: b.add(Expr::ThisType), last: None, is_local: true },
            _ => {
                self.locals.mention(text, token.start_byte());
                Chain { value: b.name(text), last: Some(token), is_local: self.locals.has(text) }
            }
        }
    }
}

/// The kind of a token. Words that are keywords only in places are names here.
fn kind_of<'t>(token: &Node<'t>) -> &'t str {
    match token.kind() {
        "default" | "gen" | "raw" | "union" => "identifier",
        kind => kind,
    }
}

/// Maximum number of tokens of the arguments of a generic name.
const GENERICS_MAX: usize = 40;

/// The number of the token after generic arguments that begin at a token.
fn generics_end(tokens: &[Node<'_>], from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from).take(GENERICS_MAX) {
        match token.kind() {
            "<" => depth += 1,
            ">" => depth -= 1,
            ">>" => depth -= 2,
            _ => {}
        }
        if depth <= 0 {
            return Some(at + 1);
        }
    }
    None
}

impl<'t> Chain<'t> {
    /// Reports the use of the last name, once.
    fn used(&mut self, b: &mut Builder<'t>, kind: UseKind) {
        if let Some(name) = self.last.take()
            && (kind == UseKind::Call || !self.is_local)
        {
            b.used(kind, self.value, name);
        }
    }
}

fn member<'t>(b: &mut Builder<'t>, of: ExprId, name: Node<'t>) -> Chain<'t> {
    Chain { value: b.member(of, b.text(name)), last: Some(name), is_local: false }
}

/// Reports a name before `::`, if it is written like a type.
fn use_type<'t>(b: &mut Builder<'t>, chain: &Chain<'t>) {
    if let Some(name) = chain.last.filter(|_| !chain.is_local)
        && is_capital(b.text(name))
    {
        b.used(UseKind::Type, chain.value, name);
    }
}
