//! Redacts secrets in text before it is stored or embedded.
//!
//! The rules are data (`tokens.toml`, `words.toml`, `files.toml`). One pass over the text finds the keywords of all
//! rules; each rule then examines a bounded number of bytes around its keyword, so the time is linear in the text.

mod assigned;
mod attributes;
mod blocks;
#[cfg(test)]
mod corpus;
mod data_files;
mod defaults;
mod file_format;
mod files;
mod lexical;
mod lists;
mod name_in_text;
mod names;
mod phrases;
mod quoted;
mod replace;
mod rules;
mod syntaxes;
mod unquoted;
mod urls;
mod values;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use data_files::may_contain_secrets;
use file_format::FileFormat;
pub(crate) use files::is_secret_file;
use languages::Language;
use name_in_text::NameInText;
use names::SecretClass;
use rules::{KeywordUse, RULES, TokenFormat};
use syntaxes::Syntax;
use values::ValueContext;

/// Version of the rules. Files stored under another version are read again, because they may contain secrets that the
/// current rules redact.
pub const REDACTION_VERSION: u32 = 6;

/// A redacted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text with each secret replaced by `[REDACTED:kind]`, or in code by `REDACTED_kind`. Lines, strings, comments and brackets are
    /// those of the text.
    pub text: Cow<'t, str>,
    /// Number of replaced secrets.
    pub count: usize,
}

/// Maximum number of passes over a text. A redaction can expose a further secret next to it.
const PASSES_MAX: usize = 4;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    kind: &'static str,
    /// `true` if it was recognised by its format, not by its name.
    is_token: bool,
}

impl Span {
    fn token(range: Range<usize>, kind: &'static str) -> Self {
        Self { range, kind, is_token: true }
    }

    fn value(range: Range<usize>, kind: &'static str) -> Self {
        Self { range, kind, is_token: false }
    }
}

/// Redacts a text that is not a file. Linear in the text.
#[must_use]
pub fn redact(text: &str) -> Redacted<'_> {
    redact_as(text, FileFormat::from_path(None), None)
}

/// Number of bytes from which the language of a text is detected.
const FIRST_BYTES: usize = 4096;

/// Redacts the text of a file. Its path and first bytes decide how it writes values and strings. Linear in the text.
#[must_use]
pub fn redact_file<'t>(path: &str, text: &'t str) -> Redacted<'t> {
    let language = languages::detect(path, &text.as_bytes()[..text.len().min(FIRST_BYTES)]);
    redact_as(text, FileFormat::from_path(Some(path)), language.and_then(syntaxes::of))
}

/// Redacts a text that was extracted from a file: for a notebook its code and commands, for other documents prose. Linear in the text.
#[must_use]
pub fn redact_extracted<'t>(language: Option<&Language>, text: &'t str) -> Redacted<'t> {
    if language.is_some_and(Language::is_prose) {
        return redact_as(text, FileFormat::Prose, None);
    }
    let syntax = language.and_then(syntaxes::of);
    // The commands of a notebook assign values as shells do.
    let code = redact_as(text, FileFormat::Code, syntax);
    let commands = redact_as(&code.text, FileFormat::Data, syntax);
    if commands.count == 0 {
        return code;
    }
    Redacted { count: code.count + commands.count, text: Cow::Owned(commands.text.into_owned()) }
}

/// Returns whether `value` is a secret, given the name of its field.
#[must_use]
pub fn is_secret_value(name: &str, value: &str) -> bool {
    names::name_class(name).is_some_and(|class| values::is_secret(value, class, ValueContext::Config))
}

fn redact_as<'t>(text: &'t str, format: FileFormat, syntax: Option<&'static Syntax>) -> Redacted<'t> {
    let mut redacted = Redacted { text: Cow::Borrowed(text), count: 0 };
    for _ in 0..PASSES_MAX {
        let spans = merged(find_secrets(&redacted.text, format));
        if spans.is_empty() {
            break;
        }
        let (text, count) = replace::replaced(&redacted.text, &spans, syntax);
        // The remaining text may still look like a secret, for example if it consists only of delimiters.
        if count == 0 {
            break;
        }
        redacted.count += count;
        redacted.text = Cow::Owned(text);
    }
    redacted
}

/// Sorts the spans and merges overlapping ones; the kind of a token wins.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range.start, !span.is_token));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                if span.is_token && !last.is_token {
                    (last.kind, last.is_token) = (span.kind, true);
                }
                last.range.end = last.range.end.max(span.range.end);
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// Finds the secrets of a text; they are unordered and may overlap.
fn find_secrets(text: &str, file_format: FileFormat) -> Vec<Span> {
    let mut spans = Vec::new();
    if text.contains("BEGIN ") {
        blocks::private_keys(text, &mut spans);
    }
    if text.contains("Private-Lines: ") {
        blocks::putty_keys(text, &mut spans);
    }
    blocks::kubernetes(text, file_format, &mut spans);
    let rules = &*RULES;
    // Ends of the last examined name and of the last token.
    let (mut name_end, mut token_end) = (0, 0);
    let mut class_cache = names::ClassCache::default();
    for hit in rules.keywords.find_overlapping_iter(text) {
        match &rules.keyword_uses[hit.pattern()] {
            KeywordUse::Token { format, spelling } => {
                if hit.start() < token_end || text.as_bytes()[hit.range()] != *spelling.as_bytes() {
                    continue;
                }
                let format = &rules.token_formats[*format];
                if let Some(range) = find_token(text, hit.range(), format) {
                    token_end = range.end;
                    spans.push(Span::token(range, &format.kind));
                }
            }
            KeywordUse::Name => {
                if hit.start() < name_end {
                    continue;
                }
                if let Some(name) = NameInText::around(text, hit.range(), file_format) {
                    name_end = name.end;
                    let found = assigned::secrets(name, &mut class_cache, &mut name_end);
                    spans.extend(found.into_iter().map(|range| Span::value(range, "password")));
                }
            }
            KeywordUse::Url => {
                if let Some(range) = urls::password(text, hit.start(), file_format) {
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

/// Returns the range of a token of this format around `keyword`.
fn find_token(text: &str, keyword: Range<usize>, format: &TokenFormat) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let bytes_before = bytes[..keyword.start]
        .iter()
        .rev()
        .take(format.bytes_before_keyword_max)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-' | b'+' | b'/')
        })
        .count();
    let start = keyword.start - bytes_before;
    if !format.may_follow_word && !may_begin(bytes, start) {
        return None;
    }
    let regex = format.regex()?;
    let found = if regex.captures_len() == 1 {
        regex.find(&text[start..])?
    } else {
        let captures = regex.captures(&text[start..])?;
        ["s", "t", "u"].iter().find_map(|group| captures.name(group)).or_else(|| captures.get(0))?
    };
    let range = start + found.start()..start + found.end();
    let next_byte = bytes.get(range.end);
    let precedes_word = next_byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let secret = found.as_str();
    let is_secret = (format.may_precede_word || !precedes_word)
        && !replace::is_redacted(secret)
        && (format.kind != "password" || values::is_literal(secret))
        && (!format.needs_digit || values::has_digit_or_rare_pairs(secret))
        && values::entropy(secret) >= format.entropy_min;
    is_secret.then_some(range)
}

/// Returns whether a token can begin at `at`: not inside a word, except after an escape: `\n` in a string, `%3D` in a URL.
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

/// Returns the credential after one of [`rules::SCHEMES`], such as `Bearer`.
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
            length >= 12 && values::is_secret(value, SecretClass::Token, ValueContext::Code)
        };
    is_secret.then_some(range)
}

#[cfg(test)]
mod syntax_tests;
#[cfg(test)]
mod tests;
