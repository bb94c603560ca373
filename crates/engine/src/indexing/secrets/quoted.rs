//! Finds quoted values and where they end.

use std::ops::Range;

use super::file_format::FileFormat;
use super::name_in_text::{NameInText, space_count};
use super::values::VALUE_BYTES_MAX;

/// Strings with delimiters other than quotes: of Ruby, Perl, Elixir and Lua.
const DELIMITED: [(&str, &str); 14] = [
    ("%q(", ")"),
    ("%q[", "]"),
    ("%q{", "}"),
    ("%Q(", ")"),
    ("%(", ")"),
    ("q(", ")"),
    ("q{", "}"),
    ("q[", "]"),
    ("qq(", ")"),
    ("qq{", "}"),
    ("~s(", ")"),
    ("~s[", "]"),
    ("~S(", ")"),
    ("[[", "]]"),
];
/// Maximum number of letters and signs before a quote: `u8R"`, `r##"`.
const PREFIX_BYTES_MAX: usize = 4;

/// Returns the content of the quotes at `at`, after an optional prefix: `b"…"`, `Some("…")`, `[]byte("…")`, `\"…\"`, `%q(…)`.
pub(super) fn content(name: &NameInText<'_>, at: usize) -> Option<Range<usize>> {
    let bytes = name.text.as_bytes();
    let at = after_calls(name, at);
    if name.format == FileFormat::Code
        && let Some((open, close)) =
            DELIMITED.iter().find(|(open, _)| bytes[at..].starts_with(open.as_bytes()))
    {
        return until(name.text, at + open.len(), close.as_bytes());
    }
    let prefix =
        if bytes[at..].starts_with(b"String.raw`") { 10 } else { prefix_length(&bytes[at..], name.format) };
    let is_raw_of_cpp = prefix > 0 && bytes[at + prefix - 1] == b'R';
    let at = at + prefix;
    let escaped = bytes.get(at) == Some(&b'\\');
    let at = at + usize::from(escaped);
    let quote = *bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let at = at + 1;
    if is_raw_of_cpp && bytes.get(at) == Some(&b'(') {
        return until(name.text, at + 1, b")\"");
    }
    if bytes[at..].starts_with(&[quote, quote]) {
        return until(name.text, at + 2, &[quote, quote, quote]);
    }
    let twice = bytes.get(at) == Some(&quote);
    // Literals of reStructuredText, ``…``, and strings of Nix, ''…''.
    if twice && (quote == b'`' || quote == b'\'' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric))
    {
        return until(name.text, at + 1, &[quote, quote]).or(Some(at..at));
    }
    // A doubled quote is part of the string, or separates two adjacent strings; unless no other quote ends the string.
    let (mut end, mut first) = (at, None);
    loop {
        match bytes.get(end) {
            Some(&byte) if byte == quote => {
                let is_twice = end > at && !escaped && bytes.get(end + 1) == Some(&quote);
                if !is_twice {
                    break;
                }
                first.get_or_insert(end);
                end += 2;
            }
            Some(b'\n') | None => {
                end = first?;
                break;
            }
            Some(b'\\') if escaped || bytes.get(end + 1) == Some(&b'\n') => break,
            Some(b'\\') => end += 2,
            Some(_) => end += 1,
        }
        if end - at > VALUE_BYTES_MAX {
            end = first?;
            break;
        }
    }
    Some(trimmed(name.text, at..end))
}

/// Returns the start of the first argument of calls, after the white space before it: `Some("…")`, `[]byte("…")`, `={"…"}`.
fn after_calls(name: &NameInText<'_>, at: usize) -> usize {
    const POWERSHELL_CALL: &[u8] = b"ConvertTo-SecureString ";
    let bytes = name.text.as_bytes();
    let is_in_call =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b' ' | b'!');
    let mut at = at;
    for _ in 0..2 {
        let slice = if bytes[at..].starts_with(b"[]") { 2 } else { 0 };
        let word_length = slice + bytes[at + slice..].iter().take(30).take_while(is_in_call).count();
        match bytes.get(at + word_length) {
            Some(b'(')
                if name.format != FileFormat::Properties && !is_delimiter(&bytes[at..at + word_length]) =>
            {
                at += word_length + 1;
            }
            _ => break,
        }
    }
    if name.format == FileFormat::Code && bytes[at..].starts_with(b"{\"") && name.line_before().contains('<')
    {
        at += 1;
    }
    at += space_count(bytes, at);
    at + if bytes[at..].starts_with(POWERSHELL_CALL) { POWERSHELL_CALL.len() } else { 0 }
}

/// Returns whether the word before a bracket makes it the beginning of a string: `q(…)`.
fn is_delimiter(word: &[u8]) -> bool {
    matches!(word.trim_ascii(), b"q" | b"qq")
}

/// Returns the length of the part of a string before its quote: `b"…"`, `r#"…"#`, `u8R"…"`, `:"…"`.
fn prefix_length(bytes: &[u8], format: FileFormat) -> usize {
    let is_code = format == FileFormat::Code;
    let is_in_prefix = |byte: &&u8| match byte {
        b'@' | b'$' | b'&' => true,
        b'#' | b':' | b'0'..=b'9' => is_code,
        byte => byte.is_ascii_alphabetic(),
    };
    let most = if is_code { PREFIX_BYTES_MAX } else { 2 };
    bytes.iter().take(most).take_while(is_in_prefix).count()
}

/// Returns the content that begins at `at` and ends with `close` in the same line.
fn until(text: &str, at: usize, close: &[u8]) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let line =
        bytes[at..].iter().take(VALUE_BYTES_MAX + close.len()).take_while(|byte| **byte != b'\n').count();
    let length = bytes[at..at + line].windows(close.len()).position(|window| window == close)?;
    Some(trimmed(text, at..at + length))
}

/// Returns the end of the quotes around the content that was found from `at` on.
pub(super) fn end(text: &str, at: usize, content: &Range<usize>) -> usize {
    let bytes = text.as_bytes();
    let is_opening = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'`' | b'(' | b'{' | b'[' | b'#' | b'\\');
    let opened = bytes[at.min(content.start)..content.start].iter().filter(is_opening).count();
    let is_closing =
        |byte: &&u8| matches!(byte, b'"' | b'\'' | b'`' | b')' | b'}' | b']' | b'#' | b'\\' | b' ');
    content.end + bytes[content.end..].iter().take(opened).take_while(is_closing).count()
}

/// Returns the range without surrounding spaces.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(value) = text.get(range.clone()) else { return range };
    let start = range.start + (value.len() - value.trim_start().len());
    start..start + value.trim().len()
}
