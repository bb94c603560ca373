//! Reads a chain of names: `self.a[0].b(c)->d`.

use super::values::VALUE_BYTES_MAX;
use crate::identifier::Marks;

/// Separators between the parts of a dotted name.
pub(super) const SEPARATORS: &[&str] = &["?.", "!.", "::", "->", ".", "\\", ":"];
/// A keyword that may follow a separator in C++.
const TEMPLATE: &str = "template ";

/// Keywords before a chain: `new a.B`, `&mut self.x`.
const LEADING_WORDS: &[&str] = &["new", "mut", "ref", "await", "co_await", "try", "try?", "try!", "typename"];

/// Returns the start of a chain after its keywords. A keyword without a chain after it is a name.
fn chain_start(raw: &str) -> usize {
    let mut chain = raw;
    loop {
        let bare = chain.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '&' | '*'));
        let Some((word, rest)) = bare.split_once(char::is_whitespace) else { break };
        let rest = rest.trim_start();
        if !LEADING_WORDS.contains(&word) || rest.is_empty() || SEPARATORS.iter().any(|s| rest.starts_with(s))
        {
            break;
        }
        chain = rest;
    }
    raw.len() - chain.len()
}

/// The names of a chain with the bytes where they start.
pub(super) fn parts(raw: &str, marks: &Marks) -> Option<Vec<(usize, String)>> {
    let mut parts: Vec<(usize, String)> = Vec::new();
    // The closing characters of the open brackets, the innermost last.
    let mut open: Vec<char> = Vec::new();
    let mut new_part = true;
    // Whether the last name has ended, so that only a separator can continue the chain.
    let mut ended = false;
    let mut at = chain_start(raw);
    // Bytes searched in vain for the ends of strings; a regular expression can contain many quotes.
    let mut unended = 0;
    while let Some(c) = raw[at..].chars().next() {
        let rest = &raw[at..];
        // A mark ends a name: `save!`, `valid?`.
        let ends = open.is_empty() && !new_part && !ended && matches!(c, '!' | '?') && marks.is_last(c);
        if let Some((_, name)) = parts.last_mut().filter(|_| ends) {
            name.push(c);
            (ended, at) = (true, at + 1);
            continue;
        }
        let closing = marks.closing(c).filter(|_| new_part && open.is_empty());
        if let Some(inner) = closing.and_then(|close| quoted(rest, close)) {
            parts.push((at, inner.to_owned()));
            (new_part, ended, at) = (false, true, at + inner.len() + 2);
            continue;
        }
        // Check separators first, because some contain a bracket character.
        if open.is_empty()
            && let Some(separator) = SEPARATORS.iter().find(|separator| rest.starts_with(**separator))
        {
            new_part = true;
            // C++: `a.template b<T>`.
            at = raw.len() - rest[separator.len()..].trim_start_matches(TEMPLATE).len();
            continue;
        }
        at += c.len_utf8();
        let in_types = open.last().is_none_or(|close| *close == '>');
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            // Elsewhere `<` is a comparison.
            '<' if in_types => open.push('>'),
            _ if open.last() == Some(&c) => {
                open.pop();
                ended = true;
            }
            // A string in brackets may contain brackets. Among types, a quote begins a lifetime.
            '"' | '`' | '\'' if !in_types && unended <= UNENDED_TIMES_MAX * raw.len() => {
                match string_end(&raw[at..], c) {
                    Ok(end) => at += end,
                    Err(looked) => unended += looked,
                }
            }
            _ if !open.is_empty() => {}
            c if c.is_whitespace() || matches!(c, '&' | '*') => ended = true,
            '!' | '?' | '@' => {}
            '$' if !marks.is_inside(c) => {}
            '#' if (ended && !new_part) || raw[at..].starts_with(char::is_whitespace) => {
                at += raw[at..].find('\n').unwrap_or(raw.len() - at);
            }
            c if c.is_alphanumeric() || matches!(c, '_' | '#' | '~' | '\'' | '$') || is_beyond_ascii(c) => {
                if let Some((_, name)) = parts.last_mut().filter(|_| !new_part) {
                    if ended {
                        return None;
                    }
                    name.push(c);
                } else {
                    parts.push((at - c.len_utf8(), c.to_string()));
                    (new_part, ended) = (false, false);
                }
            }
            _ => return None,
        }
        if parts.len() > VALUE_BYTES_MAX {
            return None;
        }
    }
    // `r#match`.
    parts.iter_mut().filter(|(_, name)| name.contains('#')).for_each(|(_, name)| *name = marks.stored(name));
    Some(parts)
}

/// A name between two marks at the start of a text.
fn quoted(text: &str, close: char) -> Option<&str> {
    let inner = text.get(1..)?;
    let end = inner.bytes().take(VALUE_BYTES_MAX).position(|byte| char::from(byte) == close)?;
    inner.get(..end).filter(|name| !name.is_empty())
}

/// Checks whether a character outside ASCII belongs to a name: a combining mark, an emoji.
pub(super) fn is_beyond_ascii(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !c.is_control()
}

/// Maximum number of times that the bytes of a text may be searched in vain for the ends of strings.
pub(super) const UNENDED_TIMES_MAX: usize = 8;

/// Length of the rest of a string that began with `quote`, including the closing quote. The error is the length of the rest of
/// the line if the string does not end there.
pub(super) fn string_end(text: &str, quote: char) -> Result<usize, usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return Err(at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Ok(at + c.len_utf8()),
            _ => {}
        }
    }
    Err(text.len())
}
