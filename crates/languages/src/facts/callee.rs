//! Finds the names of expressions that are called, awaited or thrown. A chain of names may follow an expression without a name: a literal,
//! a template, parentheses, a block.

use tree_sitter::Node;

use super::values::{self, VALUE_BYTES_MAX};
use crate::identifier::Marks;

/// Maximum number of receivers without a name at which a chain is tried, and of bytes of the text after one.
const RECEIVERS_MAX: usize = 8;
const TAIL_BYTES_MAX: usize = 8 * VALUE_BYTES_MAX;
/// Maximum number of parentheses around a callee.
const PARENTHESES_MAX: usize = 8;
/// Keywords that begin an expression with a block or an argument of their own. Before brackets they look like the name of a function.
const BLOCK_WORDS: &[&str] = &[
    "func", "function", "fn", "fun", "lambda", "match", "unsafe", "loop", "if", "when", "try", "do",
    "switch", "case", "while", "for", "async", "object", "begin", "class", "struct", "typeof", "default",
    "checked", "unchecked", "sizeof", "map", "chan",
];
/// Casts of C++, which look like calls.
const CASTS: &[&str] = &["static_cast<", "dynamic_cast<", "reinterpret_cast<", "const_cast<"];
/// Parts of the names that grammars give to functions without a name. Calling one at once calls nothing that has a name.
const ANONYMOUS: &[&str] = &[
    "lambda", "closure", "arrow_function", "anonymous_", "func_literal", "function_expression",
    "function_definition",
];
/// Parts of the names that grammars give to literals that look like names.
const LITERALS: &[&str] = &["symbol", "character", "char_literal"];
/// Names of shell commands may have dots, and quoted parts before them.
const COMMAND: &str = "command_name";

/// The chain of names that a text of a node ends with, and where it begins: at the start of the node, or after a receiver without a
/// name. `join` of `"".join`, and `join.encode` of `"".join(x).encode`. The text ends at `end`; `None` if it ends with no name.
pub(super) fn named(text: &str, node: &Node<'_>, end: usize, marks: &Marks) -> Option<(usize, String)> {
    let start = node.start_byte();
    let raw = text.get(start..end)?;
    if has(ANONYMOUS, node.kind()) {
        return None;
    }
    if !begins_unnamed(text, node, raw)
        && let Some(chain) = values::chain(raw, marks)
    {
        return Some((start, chain));
    }
    if node.kind() == COMMAND || node.child_count() == 0 {
        return Some((start, values::command(raw)?));
    }
    // The receivers, the outermost first: each begins where the node does.
    let mut tails = Vec::new();
    let mut cursor = node.walk();
    while cursor.goto_first_child() && tails.len() < RECEIVERS_MAX {
        if !cursor.node().is_named() {
            break;
        }
        let after = std::iter::successors(cursor.node().next_sibling(), Node::next_sibling);
        let Some(after) = after.take(RECEIVERS_MAX).find(|node| !node.is_extra()) else { continue };
        let Some(tail) = text.get(after.start_byte()..end) else { continue };
        if tail.len() > TAIL_BYTES_MAX {
            break;
        }
        if values::begins_with_separator(tail) {
            tails.push((after.start_byte(), tail));
        }
    }
    tails.into_iter().rev().find_map(|(from, tail)| Some((from, values::chain(tail, marks)?)))
}

/// Removes the parentheses around a callee: `(this.f)(x)` calls `this.f`.
pub(super) fn without_parentheses<'t>(node: Node<'t>) -> Node<'t> {
    let mut inner = node;
    for _ in 0..PARENTHESES_MAX {
        if !inner.kind().starts_with("parenthes") || inner.named_child_count() != 1 {
            break;
        }
        let Some(only) = inner.named_child(0) else { break };
        inner = only;
    }
    inner
}

/// Checks whether a text that may look like a chain begins with something that has no name.
fn begins_unnamed(text: &str, node: &Node<'_>, raw: &str) -> bool {
    if CASTS.iter().any(|cast| raw.starts_with(cast)) {
        return true;
    }
    let begins_with_word = BLOCK_WORDS.iter().any(|word| raw.starts_with(word));
    if !begins_with_word && !raw.starts_with([':', '?', '\'']) {
        return false;
    }
    let mut cursor = node.walk();
    while cursor.goto_first_child() {
        if has(LITERALS, cursor.node().kind()) || has(ANONYMOUS, cursor.node().kind()) {
            return true;
        }
    }
    let leaf = cursor.node();
    leaf.id() != node.id() && !leaf.is_named() && BLOCK_WORDS.contains(&&text[leaf.byte_range()])
}

/// Checks whether the name of a kind of node contains one of these parts.
fn has(parts: &[&str], kind: &str) -> bool {
    parts.iter().any(|part| kind.contains(part))
}
