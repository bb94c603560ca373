//! Claims: statements about a product, each with the lines of the repository that say so, and the marks that tie sentences of pages
//! to them.

use std::collections::{BTreeMap, BTreeSet};

use platform::sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// What the product does.
    Feature,
    /// How something is done with it.
    Workflow,
    /// A format that it reads or writes.
    Format,
    /// How it is installed.
    Install,
    /// What it does not do.
    Limitation,
    /// A definition that others can use.
    Api,
    /// Anything else.
    Other,
}

impl ClaimKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Workflow => "workflow",
            Self::Format => "format",
            Self::Install => "install",
            Self::Limitation => "limitation",
            Self::Api => "api",
            Self::Other => "other",
        }
    }
}

/// Lines of the repository that say what a claim says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// Path in the repository.
    pub path: String,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// [`span_sha256`] of the lines.
    pub sha256: String,
}

/// A statement with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// [`claim_id`] of its text and kind.
    pub claim_id: String,
    /// The statement.
    pub text: String,
    /// What it is about.
    pub kind: ClaimKind,
    /// The lines that say so; the first is where it was taken from.
    pub citations: Vec<Citation>,
    /// The claim that contradicts it and counts instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
}

/// The claims that pages may make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// By id.
    pub by_id: BTreeMap<String, Claim>,
    /// [`line_sha256`] of lines that templates write and that state nothing of the repository.
    pub template_lines: BTreeSet<String>,
    /// Name of the product, which counts as the same in every text.
    pub product_name: Option<String>,
}

impl Claims {
    /// Returns `true` if a template writes this line.
    #[must_use]
    pub fn is_template_line(&self, line: &str) -> bool {
        self.template_lines.contains(&line_sha256(line))
    }
}

/// The placeholder for the name of the product in a normalised text.
const PRODUCT: &str = "{product}";

/// Normalises a statement for comparison: lower case, single spaces, and `{product}` in place of the name of the product.
#[must_use]
pub fn normalised(text: &str, product_name: Option<&str>) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let text = words(text);
    match product_name.map(words) {
        Some(name) if !name.is_empty() => text.replace(&name, PRODUCT),
        _ => text,
    }
}

/// Returns the id of a claim: a hash of its normalised text and its kind, in hexadecimal digits.
#[must_use]
pub fn claim_id(text: &str, kind: ClaimKind, product_name: Option<&str>) -> String {
    sha256::digest_hex(format!("{}|{}", normalised(text, product_name), kind.as_str()).as_bytes())
}

/// The hash of cited lines: each without white space at its end, joined by line feeds.
#[must_use]
pub fn span_sha256(lines: &str) -> String {
    let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
    sha256::digest_hex(lines.join("\n").as_bytes())
}

/// The hash of a line that a template writes, without white space around it.
#[must_use]
pub fn line_sha256(line: &str) -> String {
    sha256::digest_hex(line.trim().as_bytes())
}

/// The mark that ties a line to a claim.
#[must_use]
pub fn marker(claim_id: &str) -> String {
    format!("<!-- claim_id: {claim_id} -->")
}

/// The mark of a page that makes no claims; it shows a later run that a run wrote the page.
pub const PAGE_MARK: &str = "<!-- launch_page -->";

/// Returns `true` if a run wrote this comment, given its text: the mark of a claim, or [`PAGE_MARK`].
#[must_use]
pub fn is_mark_of_a_run(comment: &str) -> bool {
    marked_id(comment).is_some() || format!("<!-- {} -->", comment.trim()) == PAGE_MARK
}

/// The id of a mark, given the text of a comment.
#[must_use]
pub fn marked_id(comment: &str) -> Option<&str> {
    let id = comment.trim().strip_prefix("claim_id:")?.trim();
    (!id.is_empty() && !id.contains(char::is_whitespace)).then_some(id)
}

/// Returns the statement of a line of Markdown: without item and quote markers, and without backslashes that only escape punctuation.
/// Anything that looks like a comment is kept as text, because only a parser knows whether it is shown.
#[must_use]
pub fn statement(line: &str) -> String {
    unescaped(without_markers(line))
}

/// The statement of a line that ends with marks of claims. `ids` are those of the comments that a parser found on the line; nothing
/// else is cut.
#[must_use]
pub fn marked_statement(line: &str, ids: &[&str]) -> String {
    let mut text = line.trim_end();
    for id in ids.iter().rev() {
        text = text.strip_suffix(&marker(id)).unwrap_or(text).trim_end();
    }
    statement(text)
}

/// A line without the marks of quotes, items and tasks in front of it.
fn without_markers(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let numbered = rest[digits..].strip_prefix(['.', ')']).filter(|_| (1..=9).contains(&digits));
        let item = rest.strip_prefix(['-', '*', '+']).or(numbered).filter(|after| after.starts_with(' '));
        let shorter = rest
            .strip_prefix('>')
            .or(item)
            .or_else(|| rest.strip_prefix("[ ] "))
            .or_else(|| rest.strip_prefix("[x] "));
        match shorter {
            Some(shorter) => rest = shorter.trim_start(),
            None => return rest,
        }
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_code = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        // Between backticks a backslash is shown.
        in_code ^= char == '`';
        let escaped = chars.next_if(|next| char == '\\' && !in_code && next.is_ascii_punctuation());
        plain.push(escaped.unwrap_or(char));
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_ignores_case_spaces_and_the_product_name() {
        let id = |text, name| claim_id(text, ClaimKind::Feature, name);
        assert_eq!(id("Shop reads  CSV.", Some("Shop")), id("shop\nreads csv.", Some("shop")));
        assert_eq!(id("Shop reads CSV.", Some("Shop")), id("Store reads CSV.", Some("Store")));
        assert_ne!(id("Shop reads CSV.", None), id("Shop reads TSV.", None));
        assert_ne!(id("a", None), claim_id("a", ClaimKind::Api, None));
        assert_eq!(id("a", None).len(), 64);
    }

    #[test]
    fn marks_read_back() {
        let mark = marker("abc");
        let comment = mark.trim_start_matches("<!--").trim_end_matches("-->");
        assert_eq!(marked_id(comment), Some("abc"));
        for other in ["claim_id:", "claim_id: a b", "note: abc", ""] {
            assert_eq!(marked_id(other), None, "{other}");
        }
    }

    #[test]
    fn the_statement_of_a_line_is_what_it_says() {
        for (line, expected) in [
            ("- Reads CSV.", "Reads CSV."),
            ("  1. Reads <!-- a --> CSV.", "Reads <!-- a --> CSV."),
            ("Reads `a\\*b` and \\`c.", "Reads `a\\*b` and `c."),
            ("> * [x] Reads \\*.csv", "Reads *.csv"),
            ("C:\\path and 2. more", "C:\\path and 2. more"),
            ("-no item", "-no item"),
            ("text <!-- open", "text <!-- open"),
        ] {
            assert_eq!(statement(line), expected, "{line}");
        }
    }

    #[test]
    fn only_marks_at_the_end_of_a_line_are_cut() {
        for (line, ids, expected) in [
            ("- Reads CSV. <!-- claim_id: x -->", &["x"][..], "Reads CSV."),
            ("Reads. <!-- claim_id: x --> <!-- claim_id: y -->", &["x", "y"], "Reads."),
            ("Reads CSV. <!-- claim_id: x -->", &[], "Reads CSV. <!-- claim_id: x -->"),
            (
                "Reads CSV\\<!-- and never fails -->. <!-- claim_id: x -->",
                &["x"],
                "Reads CSV<!-- and never fails -->.",
            ),
            (
                "Reads CSV.<!--> Never fails --> <!-- claim_id: x -->",
                &["x"],
                "Reads CSV.<!--> Never fails -->",
            ),
            ("<!-- claim_id: x --> Reads CSV.", &["x"], "<!-- claim_id: x --> Reads CSV."),
        ] {
            assert_eq!(marked_statement(line, ids), expected, "{line}");
        }
    }

    #[test]
    fn white_space_at_the_end_of_cited_lines_does_not_count() {
        assert_eq!(span_sha256("a \r\nb\n"), span_sha256("a\nb"));
        assert_ne!(span_sha256("a\nb"), span_sha256("a b"));
        assert_eq!(line_sha256(" x "), line_sha256("x"));
    }
}
