//! Finds multi-line secrets: private keys, and the values of Kubernetes secrets (`kind: Secret`).

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Span;
use super::file_format::FileFormat;
use super::values;

/// Longest private key, in bytes.
const KEY_BYTES_MAX: usize = 40_000;
/// Shortest run of base64 that can be the body of a key, in bytes.
const BASE64_RUN_MIN: usize = 16;

#[expect(clippy::expect_used, reason = "a constant pattern that a test compiles")]
static KEY_BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"-{4,5} ?BEGIN (?:[A-Za-z0-9]{1,12} ){0,4}(?:PRIVATE KEY(?: BLOCK)?|Static key V1) ?-{4,5}")
        .expect("a valid pattern")
});

#[expect(clippy::expect_used, reason = "a constant pattern that a test compiles")]
static KEY_END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"-{4,5} ?END (?:[A-Za-z0-9]{1,12} ){0,4}(?:PRIVATE KEY(?: BLOCK)?|Static key V1) ?-{4,5}")
        .expect("a valid pattern")
});

/// Finds private keys between their PEM markers. A marker without a body, as in code that detects keys, does not count.
pub(super) fn private_keys(text: &str, spans: &mut Vec<Span>) {
    let mut from = 0;
    while let Some(begin) = KEY_BEGIN.find_at(text, from) {
        from = begin.end();
        let window = &text[begin.end()..text.floor_char_boundary(begin.end() + KEY_BYTES_MAX)];
        // The key ends before the next one begins.
        let window = &window[..KEY_BEGIN.find(window).map_or(window.len(), |next| next.start())];
        let end = match KEY_END.find(window) {
            Some(end) if is_key(&window[..end.start()]) => Some(end.end()),
            Some(_) => None,
            None => truncated_key_end(window),
        };
        if let Some(end) = end {
            from = begin.end() + end;
            spans.push(Span::token(begin.start()..from, "private_key"));
        }
    }
}

/// Returns whether the body is a key: it contains a long enough base64 run, or consists only of base64.
fn is_key(body: &str) -> bool {
    let mut run = 0;
    let has_long_run = body.bytes().any(|byte| {
        run = if is_base64(byte) { run + 1 } else { 0 };
        run >= BASE64_RUN_MIN
    });
    let plain = body.trim();
    let is_base64_only = plain.bytes().all(|byte| is_base64(byte) || byte.is_ascii_whitespace());
    has_long_run || (!plain.is_empty() && is_base64_only)
}

/// Returns the end of a key without an end marker: after its base64 lines.
fn truncated_key_end(window: &str) -> Option<usize> {
    let mut end = None;
    let mut at = 0;
    for (number, line) in window.split_inclusive('\n').enumerate() {
        at += line.len();
        let plain = line.trim().trim_matches(['"', '\'', '+', ',', '\\', ' ', '#', '*']);
        let plain = plain.strip_suffix("\\n").unwrap_or(plain);
        let is_header = plain.contains(": ") && plain.len() < 80 && end.is_none();
        if plain.is_empty() || is_header {
            if number > 0 && end.is_some() {
                break;
            }
        } else if plain.bytes().all(is_base64) && (plain.len() >= BASE64_RUN_MIN || plain.starts_with("MII"))
        {
            end = Some(at - (line.len() - line.trim_end_matches(['\r', '\n']).len()));
        } else {
            break;
        }
    }
    end
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Finds the private lines of PuTTY keys.
pub(super) fn putty_keys(text: &str, spans: &mut Vec<Span>) {
    const HEADER: &str = "Private-Lines: ";
    for (at, _) in text.match_indices(HEADER) {
        let digits: String =
            text[at + HEADER.len()..].chars().take_while(char::is_ascii_digit).take(4).collect();
        let Ok(count) = digits.parse::<usize>() else { continue };
        let Some(first) = text[at..].find('\n').map(|end| at + end + 1) else { continue };
        let mut end = first;
        for line in text[first..].split_inclusive('\n').take(count.min(100)) {
            let plain = line.trim();
            if plain.is_empty() || !plain.bytes().all(is_base64) {
                break;
            }
            end += line.trim_end_matches(['\r', '\n']).len();
            spans.push(Span::token(end - line.trim_end_matches(['\r', '\n']).len()..end, "private_key"));
            end += line.len() - line.trim_end_matches(['\r', '\n']).len();
        }
    }
}

#[expect(clippy::expect_used, reason = "a constant pattern that a test compiles")]
static SECRET_KIND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^[ \t]*(?:- )?["']?kind["']?:[ \t]*["']?Secret["']?,?[ \t]*(?:#.*)?\r?$"#)
        .expect("a valid pattern")
});

/// Finds the values below `data:` and `stringData:` of Kubernetes secrets in YAML, and in JSON with one value per line.
pub(super) fn kubernetes(text: &str, format: FileFormat, spans: &mut Vec<Span>) {
    if !matches!(format, FileFormat::Yaml | FileFormat::Data | FileFormat::Prose | FileFormat::Shell)
        || !text.contains("Secret")
        || !SECRET_KIND.is_match(text)
    {
        return;
    }
    let mut start = 0;
    for document in documents(text) {
        if SECRET_KIND.is_match(document) {
            document_secrets(document, start, spans);
        }
        start += document.len();
    }
}

/// Returns the YAML documents of a file, split before each `---`.
fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.match_indices("\n---").next().map_or(rest.len(), |(at, _)| at + 1);
        let document;
        (document, rest) = rest.split_at(end);
        Some(document)
    })
}

fn document_secrets(document: &str, start: usize, spans: &mut Vec<Span>) {
    // Inside `data:` or `stringData:`: its indentation, and whether its values are base64.
    let mut section: Option<(usize, bool)> = None;
    // Inside a multi-line value: the indentation of its name.
    let mut block: Option<usize> = None;
    let mut at = start;
    for line in document.split_inclusive('\n') {
        let line_start = at;
        at += line.len();
        let plain = line.trim_end();
        let indent = plain.len() - plain.trim_start().len();
        let content = plain.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if let Some(name_indent) = block {
            if indent > name_indent {
                if content.contains("{{") || super::replace::is_redacted(content) {
                    continue;
                }
                spans.push(Span::token(line_start + indent..line_start + plain.len(), "kubernetes_secret"));
                continue;
            }
            block = None;
        }
        if section.is_some_and(|(section_indent, _)| indent <= section_indent) {
            section = None;
        }
        let Some((name, value)) = content.split_once(':') else { continue };
        let name = name.trim_matches(['"', '\'', ' ']);
        let value = value.trim();
        match section {
            None if matches!(name, "data" | "stringData") && matches!(value, "" | "{") => {
                section = Some((indent, name == "data"));
            }
            Some((_, _)) if matches!(value, "|" | "|-" | "|+" | ">" | ">-" | ">+") => block = Some(indent),
            Some((_, encoded)) => {
                if let Some(secret) = secret_range(value, encoded) {
                    let value_start = line_start + plain.rfind(value).unwrap_or(indent);
                    spans.push(Span::token(
                        value_start + secret.start..value_start + secret.end,
                        "kubernetes_secret",
                    ));
                }
            }
            None => {}
        }
    }
}

/// Returns the range of the secret within the value, without quotes and comments.
fn secret_range(value: &str, encoded: bool) -> Option<Range<usize>> {
    let is_quoted = value.starts_with(['"', '\'']);
    let start = usize::from(is_quoted);
    let end = if is_quoted {
        start + value[start..].find(value.as_bytes()[0] as char)?
    } else {
        value.find(" #").map_or(value.len(), |end| value[..end].trim_end().len())
    };
    let secret = &value[start..end];
    let is_template = ["{{", "${", "$(", "<"].iter().any(|marker| secret.contains(marker));
    let is_secret = secret.len() >= 4
        && !is_template
        && !super::replace::is_redacted(secret)
        && (!encoded || secret.bytes().all(is_base64))
        && (encoded || values::entropy(secret) > 1.0);
    is_secret.then_some(start..end)
}
