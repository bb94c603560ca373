//! Macros of C and C++. The grammar leaves their bodies as text, so the names in them are read from the text.

use tree_sitter::Node;

use super::{Walk, children};
use crate::symbols::{Builder, New, ScopeKind, SymbolKind, UseKind};

/// Maximum number of bytes of a macro's body that are read.
const BODY_BYTES_MAX: usize = 16 * 1024;
/// Words that are not names.
const KEYWORDS: &[&str] = &[
    "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "goto",
    "sizeof", "struct", "union", "enum", "typedef", "const", "volatile", "static", "extern", "inline",
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "class", "namespace",
    "template", "typename", "using", "new", "delete", "this", "true", "false", "nullptr", "NULL", "public",
    "private", "protected", "virtual", "auto", "bool", "defined", "throw", "try", "catch", "operator",
    "static_cast", "reinterpret_cast", "const_cast", "std", "__VA_ARGS__", "__FILE__", "__LINE__",
    "__func__", "__attribute__",
];

impl<'t> Walk<'t> {
    pub(super) fn macro_definition(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let symbol = b.define_in(
            0,
            b.text(name),
            name.start_byte(),
            SymbolKind::Macro,
            New { exported: true, ..New::default() },
        );
        let Some(body) = node.child_by_field_name("value") else { return };
        if !b.text(body).bytes().any(|byte| byte.is_ascii_alphabetic()) {
            return;
        }
        let parameters = node.child_by_field_name("parameters");
        let hidden: Vec<&str> = parameters
            .map_or(Vec::new(), |list| children(list).map(|(_, name)| b.text(name)).take(64).collect());
        b.within(ScopeKind::Function, symbol, |b| names_in(b, b.text(body), body.start_byte(), &hidden));
    }
}

/// Reports the names in the body of a macro, except its parameters and the members of anything.
fn names_in(b: &mut Builder<'_>, text: &str, start: usize, hidden: &[&str]) {
    let text = &text[..text.floor_char_boundary(BODY_BYTES_MAX)];
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (mut at, mut before) = (0, b' ');
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'"' || byte == b'\'' {
            at = after_literal(bytes, at);
            before = byte;
        } else if is_word(byte) {
            let from = at;
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            let name = &text[from..at];
            let follows = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
            let is_member = before == b'.' || before == b'>' || before == b':' || before == b'#';
            let is_name =
                !byte.is_ascii_digit() && !is_member && !KEYWORDS.contains(&name) && !hidden.contains(&name);
            if is_name && follows != Some(&b':') && follows != Some(&b'#') {
                let kind = if follows == Some(&b'(') { UseKind::Call } else { UseKind::Read };
                let expr = b.name(name);
                b.used_at(kind, expr, start + from);
            }
            before = bytes[at - 1];
        } else {
            let is_arrow = byte == b'>' && at > 0 && bytes[at - 1] == b'-';
            before = if byte == b'>' && !is_arrow {
                b' '
            } else if byte.is_ascii_whitespace() {
                before
            } else {
                byte
            };
            at += 1;
        }
    }
}

/// The place after a string or a character that begins at a place.
fn after_literal(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != bytes[at] {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    end + 1
}
