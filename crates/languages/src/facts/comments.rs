//! Comments and documentation strings: joined where they stand below one another, without their marks.

use serde::{Deserialize, Serialize};

use super::query::{Item, Role};
use crate::stop::{Late, Stop};

/// Longest documentation kept as a fact, in characters.
pub(super) const DOC_CHARS_MAX: usize = 300;

/// What people wrote about the code, as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// It documents a definition or the file; others explain a place.
    pub doc: bool,
    /// What it says.
    pub text: String,
}

/// Marks that documentation begins with, in one language or another.
const DOC_MARKS: &[&str] = &["///", "//!", "/**", "/*!", "##", "--|", "-- |", "---", "=begin"];
/// Comments for programs and lawyers: they say nothing about the code.
const NOT_PROSE: &[&str] = &[
    "eslint-",
    "prettier-",
    "noqa",
    "type: ignore",
    "pylint:",
    "nolint",
    "@ts-",
    "rubocop:",
    "clang-format",
    "istanbul ignore",
    "pragma:",
    "phpcs:",
    "go:",
    "+build",
    "!/",
    "-*-",
    "vim:",
    "SPDX-",
    "shellcheck ",
    "swiftlint:",
    "NOSONAR",
    "ktlint-",
    "sourceMappingURL",
];

/// The comments among `items`, in order; `starts` says whether a definition begins in a row.
///
/// # Errors
/// [`Late`] when time ran out.
pub(super) fn comments(
    text: &str,
    items: &[Item<'_, '_>],
    starts: &dyn Fn(usize) -> bool,
    stop: &Stop<'_>,
) -> Result<Vec<Comment>, Late> {
    let mut found: Vec<(usize, usize, bool, String, &'static str)> = Vec::new();
    for item in items.iter().filter(|item| matches!(item.role, Role::Comment | Role::Doc)) {
        let raw = text[item.node.byte_range()].trim_end();
        stop.step(1 + raw.len())?;
        let (first, last) =
            (item.node.start_position().row, item.node.start_position().row + raw.matches('\n').count());
        if raw.starts_with("#!") {
            continue;
        }
        let mark = mark(raw);
        let said = bare(raw);
        if NOT_PROSE.iter().any(|word| said.trim_start().starts_with(word)) {
            continue;
        }
        let doc = item.role == Role::Doc || DOC_MARKS.iter().any(|mark| raw.starts_with(mark));
        match found.last_mut() {
            // Line comments below one another are one text; what stands behind code is not.
            Some((_, end, was_doc, all, before))
                if !mark.is_empty()
                    && *before == mark
                    && first == *end + 1
                    && alone(text, item.node.start_byte()) =>
            {
                *end = last;
                *was_doc |= doc;
                all.push('\n');
                all.push_str(&said);
            }
            _ => found.push((first, last, doc, said, mark)),
        }
    }
    let comments = found.into_iter().filter(|(.., said, _)| said.chars().any(char::is_alphanumeric)).map(
        |(first, last, doc, said, _)| Comment {
            start_line: line_number(first),
            end_line: line_number(last),
            doc: doc || starts(last + 1),
            text: said.trim().to_owned(),
        },
    );
    Ok(comments.collect())
}

/// Whether only whitespace stands before `at` in its line.
fn alone(text: &str, at: usize) -> bool {
    text[..at].rsplit('\n').next().unwrap_or_default().trim().is_empty()
}

/// The mark of a line comment; empty for blocks and strings.
fn mark(raw: &str) -> &'static str {
    ["//", "#", "--", ";", "%"].into_iter().find(|mark| raw.starts_with(mark)).unwrap_or("")
}

/// A comment's text, line by line, without marks, stars and quotes.
fn bare(raw: &str) -> String {
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
    let said = lines.collect::<Vec<_>>().join("\n");
    let said = if ["<summary>", "<param ", "<returns>"].iter().any(|tag| said.contains(tag)) {
        without_tags(&said)
    } else {
        said
    };
    said.trim().trim_matches('"').trim().to_owned()
}

/// The text between XML tags, which documentation comments of .NET are made of.
fn without_tags(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        said.push_str(before);
        match tag.split_once('>') {
            Some((_, after)) => rest = after,
            // Nor does a later one end.
            None => {
                said.push('<');
                rest = tag;
                break;
            }
        }
    }
    said.push_str(rest);
    said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
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
