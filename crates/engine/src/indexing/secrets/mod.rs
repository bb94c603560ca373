//! Secrets in text are replaced before anything is stored or embedded.
//!
//! The rules are data (`tokens.toml`, `words.toml`, `files.toml`). One pass over the text finds the words of all rules;
//! where one stands, its rule looks at a bounded number of bytes around it: linear in the text.

mod assigned;
mod blocks;
#[cfg(test)]
mod corpus;
mod files;
mod names;
mod places;
mod rules;
mod unquoted;
mod urls;
mod values;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use files::is_secret_file;
use names::Class;
use places::Place;
use rules::{Found, RULES, Rule};
use values::Level;

/// Version of the rules. What was stored under another one may hold what is replaced now, so it is read anew.
pub const REDACTION_VERSION: u32 = 3;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// Each secret is now `[REDACTED:kind]`; there are as many lines as before.
    pub text: Cow<'t, str>,
    /// How many were replaced.
    pub count: usize,
}

/// How often a text is looked at, at most: what stood beside a secret may be one once that is gone.
const ROUNDS_MAX: usize = 4;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    kind: &'static str,
    /// Its form alone says what it is.
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

/// Replaces what looks like a secret in a text that is no file. Linear in the text.
#[must_use]
pub fn redact(text: &str) -> Redacted<'_> {
    redact_at(text, Place::of(None))
}

/// Replaces what looks like a secret in the file at this path, which says what is code and what is configuration.
/// Linear in the text.
#[must_use]
pub fn redact_file<'t>(path: &str, text: &'t str) -> Redacted<'t> {
    redact_at(text, Place::of(Some(path)))
}

/// Whether the text that a field of this name holds is a secret.
#[must_use]
pub fn is_secret_value(name: &str, value: &str) -> bool {
    names::class(name).is_some_and(|class| values::is_secret(value, class, Level::Config))
}

fn redact_at(text: &str, place: Place) -> Redacted<'_> {
    let mut redacted = Redacted { text: Cow::Borrowed(text), count: 0 };
    for _ in 0..ROUNDS_MAX {
        let spans = merged(spans(&redacted.text, place));
        if spans.is_empty() {
            break;
        }
        redacted.count += spans.len();
        redacted.text = Cow::Owned(replaced(&redacted.text, &spans));
    }
    redacted
}

/// The text with these parts replaced.
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

/// Secrets in order, those that overlap as one: it is called what its form says.
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

/// All secrets of a text, in no order; they may overlap.
fn spans(text: &str, place: Place) -> Vec<Span> {
    let mut spans = Vec::new();
    if text.contains("BEGIN ") {
        blocks::private_keys(text, &mut spans);
    }
    if text.contains("Private-Lines: ") {
        blocks::putty_keys(text, &mut spans);
    }
    blocks::kubernetes(text, place, &mut spans);
    let rules = &*RULES;
    // Where the last name ended that was looked at, and the last secret that a form told.
    let (mut name_end, mut token_end) = (0, 0);
    let mut classes = names::Classes::default();
    for hit in rules.words.find_overlapping_iter(text) {
        match &rules.found[hit.pattern()] {
            Found::Token(rule, word) => {
                if hit.start() < token_end || text.as_bytes()[hit.range()] != *word.as_bytes() {
                    continue;
                }
                if let Some(range) = token(text, hit.range(), &rules.tokens[*rule]) {
                    token_end = range.end;
                    spans.push(Span::token(range, &rules.tokens[*rule].kind));
                }
            }
            Found::Name => {
                if hit.start() < name_end {
                    continue;
                }
                if let Some(name) = assigned::Name::around(text, hit.range(), place) {
                    name_end = name.end;
                    if let Some(range) = assigned::secret(name, &mut classes, &mut name_end) {
                        spans.push(Span::value(range, "password"));
                    }
                }
            }
            Found::Url => {
                if let Some(range) = urls::password(text, hit.start(), place) {
                    spans.push(Span::value(range, "url_password"));
                }
            }
            Found::Scheme => {
                if let Some(range) = after_scheme(text, hit.range()) {
                    spans.push(Span::value(range, "password"));
                }
            }
        }
    }
    spans
}

/// The token of a rule whose word stands at `word`.
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

/// Whether a token may begin here: not within a word, but for `\n` and `%3D` as they are written in strings and URLs.
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

/// What follows `Bearer` or `Basic`.
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
