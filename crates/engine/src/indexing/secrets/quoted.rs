//! Finds quoted values and where they end.

use std::ops::Range;

use super::assigned::{NameInText, space_count};
use super::file_format::FileFormat;
use super::values::VALUE_BYTES_MAX;

/// The content of the quotes at `at`, after an optional prefix: `b"…"`, `Some("…")`, `\"…\"`.
pub(super) fn content(name: &NameInText<'_>, at: usize) -> Option<Range<usize>> {
    let bytes = name.text.as_bytes();
    let mut at = at;
    for _ in 0..2 {
        let word_length = bytes[at..]
            .iter()
            .take(30)
            .take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b' ' | b'!')
            })
            .count();
        match bytes.get(at + word_length) {
            Some(b'(') if name.format != FileFormat::Properties => at += word_length + 1,
            _ => break,
        }
    }
    at += space_count(bytes, at);
    const POWERSHELL_CALL: &[u8] = b"ConvertTo-SecureString ";
    if bytes[at..].starts_with(POWERSHELL_CALL) {
        at += POWERSHELL_CALL.len();
    }
    let prefix = bytes[at..]
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'@' | b'$' | b'&'))
        .count();
    at += prefix;
    let escaped = bytes.get(at) == Some(&b'\\');
    at += usize::from(escaped);
    let quote = *bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    at += 1;
    if bytes[at..].starts_with(&[quote, quote]) {
        at += 2;
    } else if bytes[at..].starts_with(b"`") && quote == b'`' {
        // A literal of reStructuredText: ``…``.
        at += 1;
    }
    let mut end = at;
    loop {
        match bytes.get(end) {
            Some(&byte) if byte == quote => break,
            Some(b'\n') | None => return None,
            Some(b'\\') if escaped || bytes.get(end + 1) == Some(&b'\n') => break,
            Some(b'\\') => end += 2,
            Some(_) => end += 1,
        }
        if end - at > VALUE_BYTES_MAX {
            return None;
        }
    }
    Some(trimmed(name.text, at..end))
}

/// The range without surrounding spaces.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(value) = text.get(range.clone()) else { return range };
    let start = range.start + (value.len() - value.trim_start().len());
    start..start + value.trim().len()
}
