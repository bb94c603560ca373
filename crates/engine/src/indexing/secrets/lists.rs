//! Finds the values of lists: `tokens = ["…", "…"]`, and the items of YAML.

use std::ops::Range;

use super::file_format::FileFormat;
use super::name_in_text::{NameInText, space_count};
use super::quoted;

/// Maximum number of items of a list that are examined.
const ITEMS_MAX: usize = 100;
/// Maximum number of bytes of white space between two items.
const SPACES_MAX: usize = 200;

/// Returns the quoted items of the list that begins at `at`, which may have many lines.
pub(super) fn items(name: &NameInText<'_>, at: usize) -> Vec<Range<usize>> {
    let bytes = name.text.as_bytes();
    let mut found = Vec::new();
    if !matches!(bytes.get(at), Some(b'[' | b'(' | b'{')) {
        return found;
    }
    let mut at = at + 1;
    while found.len() < ITEMS_MAX {
        at += white_space(bytes, at);
        let Some(range) = quoted::content(name, at) else { break };
        let closed = quoted::end(name.text, at, &range);
        at = closed + white_space(bytes, closed);
        let is_last = bytes.get(at) != Some(&b',');
        // The keys of a mapping are not values, and a string may be the beginning of an expression.
        if is_last && !matches!(bytes.get(at), Some(b']' | b')' | b'}')) {
            break;
        }
        found.push(range);
        if is_last {
            break;
        }
        at += 1;
    }
    found
}

/// Returns the items of a YAML list below the name, a line each.
pub(super) fn lines(name: &NameInText<'_>, at: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some(rest) = name.text.get(at..).filter(|_| name.format == FileFormat::Yaml) else { return found };
    let mut start = at;
    for (number, line) in rest.split('\n').take(ITEMS_MAX).enumerate() {
        let item = line.trim().strip_prefix("- ").map(str::trim);
        match item {
            None if line.trim().is_empty() => {}
            // `- name: value` is a mapping.
            Some(item) if number > 0 && !item.contains(": ") => {
                let value = item.trim_matches(['"', '\'']);
                let from = start + line.find(value).unwrap_or(0);
                found.push(from..from + value.len());
            }
            _ => break,
        }
        start += line.len() + 1;
    }
    found
}

fn white_space(bytes: &[u8], at: usize) -> usize {
    let is_space = |byte: &&u8| byte.is_ascii_whitespace();
    space_count(bytes, at).max(bytes[at..].iter().take(SPACES_MAX).take_while(is_space).count())
}
