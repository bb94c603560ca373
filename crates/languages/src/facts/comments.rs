//! Extracts the text of comments and documentation strings, without comment markers; joins adjacent line comments.

use serde::{Deserialize, Serialize};

use super::query::{Item, Role};
use crate::cells;
use crate::stop::{Stop, Stopped};

/// Longest documentation kept as a fact, in characters.
pub(super) const DOC_CHARS_MAX: usize = 300;

/// A comment, or adjacent line comments, as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// `true` if it documents a definition or the file.
    pub doc: bool,
    /// Its text without markers.
    pub text: String,
}

/// Markers of documentation comments in the supported languages.
const DOC_MARKS: &[&str] = &["///", "//!", "/**", "/*!", "##", "--|", "-- |", "---", "=begin"];
/// Prefixes of comments that are directives to tools or licence identifiers, rather than prose about the code.
const NOT_PROSE: &[&str] = &[
    "eslint-", "prettier-", "noqa", "type: ignore", "pylint:", "nolint", "@ts-", "rubocop:", "clang-format",
    "istanbul ignore", "pragma:", "phpcs:", "go:", "+build", "!/", "-*-", "vim:", "SPDX-", "shellcheck ",
    "swiftlint:", "NOSONAR", "ktlint-", "sourceMappingURL",
];

/// The comments among `items`, in order; `starts` returns whether a definition begins in a row.
///
/// # Errors
/// [`Stopped`] if the time limit passed or the work was cancelled.
pub(super) fn comments(
    text: &str,
    items: &[Item<'_, '_>],
    starts: &dyn Fn(usize) -> bool,
    stop: &Stop<'_>,
) -> Result<Vec<Comment>, Stopped> {
    let mut found: Vec<(usize, usize, bool, String, &'static str)> = Vec::new();
    for item in items.iter().filter(|item| matches!(item.role, Role::Comment | Role::Doc)) {
        let raw = text[item.node.byte_range()].trim_end();
        stop.step(1 + raw.len())?;
        let (first, last) =
            (item.node.start_position().row, item.node.start_position().row + raw.matches('\n').count());
        let mark = mark(raw);
        let body_text = strip_markers(raw);
        if !is_about_code(raw, &body_text) {
            continue;
        }
        let doc = item.role == Role::Doc || DOC_MARKS.iter().any(|mark| raw.starts_with(mark));
        match found.last_mut() {
            // A line comment on the line after another one continues its text; one that follows code on its own line begins a new text.
            Some((_, end, was_doc, all, before))
                if !mark.is_empty()
                    && *before == mark
                    && first == *end + 1
                    && is_alone_on_line(text, item.node.start_byte()) =>
            {
                *end = last;
                *was_doc |= doc;
                all.push('\n');
                all.push_str(&body_text);
            }
            _ => found.push((first, last, doc, body_text, mark)),
        }
    }
    let comments = found
        .into_iter()
        .filter(|(.., body_text, _)| body_text.chars().any(char::is_alphanumeric))
        .map(|(first, last, doc, body_text, _)| Comment {
            start_line: line_number(first),
            end_line: line_number(last),
            doc: doc || starts(last + 1),
            text: body_text.trim().to_owned(),
        });
    Ok(comments.collect())
}

/// Checks whether a comment is meant for readers of the code. `raw` is the comment as written, `body_text` its text without markers.
pub(super) fn is_about_code(raw: &str, body_text: &str) -> bool {
    !raw.starts_with("#!")
        && !cells::is_mark(raw)
        && !NOT_PROSE.iter().any(|word| body_text.trim_start().starts_with(word))
}

/// Checks whether only whitespace precedes `at` in its line.
fn is_alone_on_line(text: &str, at: usize) -> bool {
    text[..at].rsplit('\n').next().unwrap_or_default().trim().is_empty()
}

/// The marker of a line comment; empty for block comments and strings.
fn mark(raw: &str) -> &'static str {
    ["//", "#", "--", ";", "%"].into_iter().find(|mark| raw.starts_with(mark)).unwrap_or("")
}

/// A comment's text without markers, leading stars and quotes.
pub(super) fn strip_markers(raw: &str) -> String {
    let body = raw.trim();
    let body = body.strip_prefix("=begin").and_then(|b| b.strip_suffix("=end")).unwrap_or(body);
    let ends: &[(&str, &str)] = &[
        ("/*", "*/"),
        ("<!--", "-->"),
        ("{-", "-}"),
        ("\"\"\"", "\"\"\""),
        ("'''", "'''"),
        ("--[[", "]]"),
        ("(*", "*)"),
    ];
    let inner = ends.iter().find_map(|(open, close)| {
        let at = body.find(open).filter(|at| *at <= 2)?;
        Some(body[at + open.len()..].strip_suffix(close).unwrap_or(&body[at + open.len()..]))
    });
    let lines = inner.unwrap_or(body).lines().map(|line| {
        let line = line.trim();
        let line = if inner.is_some() {
            line.trim_start_matches(['*', '!'])
        } else {
            line.trim_start_matches(['/', '#', '-', ';', '%', '!', '|'])
        };
        // Haddock begins documentation with a bar.
        line.trim().trim_start_matches(['|', '^']).trim_start()
    });
    let body_text = lines.collect::<Vec<_>>().join("\n");
    let body_text = if ["<summary>", "<param ", "<returns>"].iter().any(|tag| body_text.contains(tag)) {
        without_tags(&body_text)
    } else {
        body_text
    };
    body_text.trim().trim_matches('"').trim().to_owned()
}

/// Removes XML tags, which documentation comments of .NET use.
fn without_tags(text: &str) -> String {
    let mut body_text = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        body_text.push_str(before);
        match tag.split_once('>') {
            Some((_, after)) => rest = after,
            // Without a `>`, later tags cannot end either.
            None => {
                body_text.push('<');
                rest = tag;
                break;
            }
        }
    }
    body_text.push_str(rest);
    body_text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The first characters of a documentation text, cut at a word.
pub(super) fn cut_doc(text: &str) -> String {
    match text.char_indices().nth(DOC_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => {
            let end = text[..at].rfind(char::is_whitespace).unwrap_or(at);
            format!("{}…", text[..end].trim_end())
        }
    }
}

fn line_number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}
