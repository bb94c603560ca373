//! Finds the literals that are used for a missing value: `get("x") || "…"`, `Field(default="…")`, `.unwrap_or("…")`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::name_in_text::{NameInText, Operator, space_count};
use super::quoted;

/// Longest expression that is searched for a default, in bytes.
const EXPRESSION_BYTES_MAX: usize = 400;
/// Maximum number of defaults of an expression that are examined.
const DEFAULTS_MAX: usize = 4;
/// Longest part between a look-up and the text after it, in bytes.
const LOOKUP_BYTES_MAX: usize = 60;

/// Text before a default: an operator, a named argument or a method, and the parameters of a closure.
#[expect(clippy::expect_used, reason = "a constant pattern that a test compiles")]
static BEFORE_DEFAULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?: \|\| | \?\? | \?: | \b(?:or|else)\b\s?\{?
        | (?i:default|fallback)(?:_?(?i:value|factory|to))? ["']? (?: \s{0,4}(?:=>?|[:({]) | \s )
        | \b(?: unwrap_or(?:_else)? | or(?:_else)? | orElse(?:Get)? | getOrElse | get_or_else | value_or
            | map_or(?:_else)? ) \s? [({]
        | \bErr\(\w{0,20}\)\s?=> | \.class, )
        \s{0,40}
        (?: \|[^|\n]{0,20}\|\s?\{?\s{0,40} | (?:\(\)|_)\s?[=-]>\s? | lambda\s?_?:\s? | \{\s? )?"#,
    )
    .expect("a valid pattern")
});

/// Returns the end of a look-up by a quoted name, if its result is used: after `var("NAME")` and before `.unwrap_or("…")`, an operator on
/// the next line or the `{` of a block.
pub(super) fn lookup_end(name: &NameInText<'_>, closed: usize) -> Option<usize> {
    let bytes = name.text.as_bytes();
    if !name.quoted || !matches!(bytes.get(closed), Some(b')' | b']' | b'?' | b'.' | b' ' | b'\r' | b'\n')) {
        return None;
    }
    let block = closed + space_count(bytes, closed);
    if bytes.get(block) == Some(&b'{') && bytes[closed - 1] == b')' {
        return Some(block);
    }
    let is_between = |at: &usize| match bytes.get(*at) {
        Some(b'?') => !matches!(bytes.get(at + 1), Some(b'?' | b':')),
        Some(byte) => byte.is_ascii_whitespace() || matches!(byte, b')' | b']'),
        None => false,
    };
    let next = closed + (closed..closed + LOOKUP_BYTES_MAX).take_while(is_between).count();
    let rest = &bytes[next..];
    let is_operator = [&b"??"[..], b"||", b"?:"].iter().any(|operator| rest.starts_with(operator));
    let is_used = rest.starts_with(b".") || is_operator && bytes[closed..next].contains(&b'\n');
    is_used.then_some(next)
}

/// Returns the literals in the expression at `at` that can be its default.
pub(super) fn literals(
    name: NameInText<'_>,
    operator: Operator,
    at: usize,
) -> impl Iterator<Item = Range<usize>> {
    let expression = match operator {
        Operator::Equals { .. } | Operator::Colon | Operator::Lookup => expression(name.text, at, false),
        Operator::Argument => expression(name.text, at, true),
        Operator::Element | Operator::Spaces | Operator::Is | Operator::Default => "",
    };
    // `ENV.fetch("NAME") { "…" }`
    let block = (operator == Operator::Lookup && expression.starts_with('{')).then_some(at + 1);
    let ends = BEFORE_DEFAULT.find_iter(expression).take(DEFAULTS_MAX).map(move |found| at + found.end());
    block.into_iter().chain(ends).filter_map(move |at| quoted::content(&name, at))
}

/// Returns the expression at `at`, at most [`EXPRESSION_BYTES_MAX`] bytes. It continues on the next line inside brackets, and if that line
/// begins with an operator. `in_brackets`: the expression begins among the arguments of a call.
fn expression(text: &str, at: usize, mut in_brackets: bool) -> &str {
    let end = text.floor_char_boundary((at + EXPRESSION_BYTES_MAX).min(text.len()));
    let Some(window) = text.get(at..end) else { return "" };
    let mut depth = 0_usize;
    for (length, byte) in window.bytes().enumerate() {
        let ends = match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                false
            }
            b')' | b']' | b'}' if depth > 0 => {
                depth -= 1;
                false
            }
            b')' | b']' | b'}' => !std::mem::take(&mut in_brackets),
            b';' | b',' => depth == 0 && !in_brackets,
            b'\n' if depth == 0 && !in_brackets => {
                !window[length..].trim_start().starts_with(['.', '?', '|'])
            }
            _ => false,
        };
        if ends {
            return &window[..length];
        }
    }
    window
}
