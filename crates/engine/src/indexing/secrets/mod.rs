//! Redacts secrets in text before it is stored or embedded.
//!
//! The rules are data (`tokens.toml`, `words.toml`, `files.toml`). One pass over the text finds the keywords of all rules;
//! each rule then examines a bounded number of bytes around its keyword, so the time is linear in the text.

mod assigned;
mod blocks;
#[cfg(test)]
mod corpus;
mod file_format;
mod files;
mod names;
mod rules;
mod unquoted;
mod urls;
mod values;

use std::borrow::Cow;
use std::ops::Range;

use file_format::FileFormat;
pub(crate) use files::is_secret_file;
use names::Class;
use rules::{KeywordUse, RULES, Rule};
use values::Level;

/// Version of the rules. Files stored under another version are read again, because they may contain secrets that the
/// current rules redact.
pub const REDACTION_VERSION: u32 = 3;

/// A redacted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text with each secret replaced by `[REDACTED:kind]`. The number of lines does not change.
    pub text: Cow<'t, str>,
    /// Number of replaced secrets.
    pub count: usize,
}

/// Maximum number of passes over a text. A redaction can expose a further secret next to it.
const ROUNDS_MAX: usize = 4;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    kind: &'static str,
    /// Whether the form of the token alone identifies its kind.
    token: bool,
}

impl Span {
    fn token(range: Range<usize>, kind: &'static str) -> Self {
        Self { range, kind, token: true }
    }

    fn value(range: Range<usize>, kind: &'static str) -> Self {
        Self { range, kind, token: false }
    }
}

/// Redacts a text that is not a file. Linear in the text.
#[must_use]
pub fn redact(text: &str) -> Redacted<'_> {
    redact_at(text, FileFormat::of(None))
}

/// Redacts the text of a file. The path tells code from configuration.
/// Linear in the text.
#[must_use]
pub fn redact_file<'t>(path: &str, text: &'t str) -> Redacted<'t> {
    redact_at(text, FileFormat::of(Some(path)))
}

/// Whether `value` is a secret, given the name of its field.
#[must_use]
pub fn is_secret_value(name: &str, value: &str) -> bool {
    names::class(name).is_some_and(|class| values::is_secret(value, class, Level::Config))
}

fn redact_at(text: &str, format: FileFormat) -> Redacted<'_> {
    let mut redacted = Redacted { text: Cow::Borrowed(text), count: 0 };
    for _ in 0..ROUNDS_MAX {
        let spans = merged(spans(&redacted.text, format));
        if spans.is_empty() {
            break;
        }
        redacted.count += spans.len();
        redacted.text = Cow::Owned(replaced(&redacted.text, &spans));
    }
    redacted
}

/// The text with these spans replaced.
fn replaced(text: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * spans.len());
    let mut at = 0;
    for span in spans {
        out.push_str(&text[at..span.range.start]);
        out.push_str("[REDACTED:");
        out.push_str(span.kind);
        out.push(']');
        let lines = text[span.range.clone()].bytes().filter(|&byte| byte == b'\n').count();
        out.extend(std::iter::repeat_n('\n', lines));
        at = span.range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Sorts the spans and merges overlapping ones; a kind identified by form wins.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range.start, !span.token));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                if span.token && !last.token {
                    (last.kind, last.token) = (span.kind, true);
                }
                last.range.end = last.range.end.max(span.range.end);
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// All secrets of a text, unordered; they may overlap.
fn spans(text: &str, format: FileFormat) -> Vec<Span> {
    let mut spans = Vec::new();
    if text.contains("BEGIN ") {
        blocks::private_keys(text, &mut spans);
    }
    if text.contains("Private-Lines: ") {
        blocks::putty_keys(text, &mut spans);
    }
    blocks::kubernetes(text, format, &mut spans);
    let rules = &*RULES;
    // End of the last scanned name, and of the last secret identified by form.
    let (mut name_end, mut token_end) = (0, 0);
    let mut classes = names::Classes::default();
    for hit in rules.words.find_overlapping_iter(text) {
        match &rules.found[hit.pattern()] {
            KeywordUse::Token(rule, word) => {
                if hit.start() < token_end || text.as_bytes()[hit.range()] != *word.as_bytes() {
                    continue;
                }
                if let Some(range) = token(text, hit.range(), &rules.tokens[*rule]) {
                    token_end = range.end;
                    spans.push(Span::token(range, &rules.tokens[*rule].kind));
                }
            }
            KeywordUse::Name => {
                if hit.start() < name_end {
                    continue;
                }
                if let Some(name) = assigned::NameInText::around(text, hit.range(), format) {
                    name_end = name.end;
                    if let Some(range) = assigned::secret(name, &mut classes, &mut name_end) {
                        spans.push(Span::value(range, "password"));
                    }
                }
            }
            KeywordUse::Url => {
                if let Some(range) = urls::password(text, hit.start(), format) {
                    spans.push(Span::value(range, "url_password"));
                }
            }
            KeywordUse::Scheme => {
                if let Some(range) = after_scheme(text, hit.range()) {
                    spans.push(Span::value(range, "password"));
                }
            }
        }
    }
    spans
}

/// The range of the rule's token around the keyword at `word`.
fn token(text: &str, word: Range<usize>, rule: &Rule) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let back = bytes[..word.start]
        .iter()
        .rev()
        .take(rule.back)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-' | b'+' | b'/')
        })
        .count();
    let start = word.start - back;
    if !rule.inside && !may_begin(bytes, start) {
        return None;
    }
    let pattern = rule.pattern()?;
    let found = if pattern.captures_len() == 1 {
        pattern.find(&text[start..])?
    } else {
        let captures = pattern.captures(&text[start..])?;
        ["s", "t", "u"].iter().find_map(|group| captures.name(group)).or_else(|| captures.get(0))?
    };
    let range = start + found.start()..start + found.end();
    let after = bytes.get(range.end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let secret = found.as_str();
    let is_secret = (rule.open || !after)
        && !secret.contains("[REDACTED")
        && (rule.kind != "password" || values::is_literal(secret))
        && (!rule.digit || values::has_digit(secret))
        && values::entropy(secret) >= rule.entropy;
    is_secret.then_some(range)
}

/// Whether a token can begin here: not inside a word, except after `\n` and `%3D` as escaped in strings and URLs.
fn may_begin(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|at| bytes[at]);
    match before(1) {
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
            (before(2) == Some(b'\\') && matches!(byte, b'n' | b't' | b'r'))
                || (before(3) == Some(b'%')
                    && byte.is_ascii_hexdigit()
                    && before(2).is_some_and(|byte| byte.is_ascii_hexdigit()))
        }
        _ => true,
    }
}

/// The credential after `Bearer` or `Basic`.
fn after_scheme(text: &str, scheme: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if !may_begin(bytes, scheme.start) {
        return None;
    }
    let length = bytes[scheme.end..]
        .iter()
        .take(values::VALUE_BYTES_MAX)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(byte))
        .count();
    let range = scheme.end..scheme.end + length;
    let value = &text[range.clone()];
    let is_secret =
        if bytes[scheme.start].eq_ignore_ascii_case(&b'b') && text[scheme].eq_ignore_ascii_case("basic ") {
            values::is_basic(value)
        } else {
            length >= 12 && values::is_secret(value, Class::Secret, Level::Code)
        };
    is_secret.then_some(range)
}

#[cfg(test)]
mod tests;
