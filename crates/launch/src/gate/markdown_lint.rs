//! Gate `markdown_lint`: twelve rules of good Markdown, listed in `docs/launch-check.md`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity, quote};
use crate::pattern::pattern;
use crate::site::{LineKind, LinkKind, Page};

pub(super) const GATE: Gate =
    Gate { name: "markdown_lint", about: "Markdown says what it is meant to say.", rules: LINT_RULES, check };

/// The twelve rules.
pub const LINT_RULES: &[Rule] = &[
    HEADING_JUMP, SECOND_TITLE, DUPLICATE_HEADING, EMPTY_HEADING, EMPTY_LINK, IMAGE_WITHOUT_TEXT, OPEN_FENCE,
    UNDEFINED_REFERENCE, RAGGED_TABLE, CONFLICT_MARKER, ACTIVE_HTML, HIDDEN_CHARACTER,
];

const HEADING_JUMP: Rule = Rule::new("heading_jump", "A heading skips a level");
const SECOND_TITLE: Rule = Rule::new("second_title", "A page has two titles");
const DUPLICATE_HEADING: Rule = Rule::new("duplicate_heading", "Two headings of one section are the same");
const EMPTY_HEADING: Rule = Rule::new("empty_heading", "A heading has no text");
const EMPTY_LINK: Rule = Rule::new("empty_link", "A link has no text or no target");
const IMAGE_WITHOUT_TEXT: Rule =
    Rule::new("image_without_text", "An image has no text for those who do not see it");
const OPEN_FENCE: Rule = Rule::new("open_fence", "A code block has no end");
const UNDEFINED_REFERENCE: Rule = Rule::new("undefined_reference", "The label of a link is not defined");
const RAGGED_TABLE: Rule =
    Rule::new("ragged_table", "A row of a table has another number of cells than its head");
const CONFLICT_MARKER: Rule = Rule::new("conflict_marker", "A merge conflict was left in a page");
const ACTIVE_HTML: Rule = Rule::new("active_html", "A page has HTML that runs code");
const HIDDEN_CHARACTER: Rule = Rule::new("hidden_character", "A page has invisible characters");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let severity = input.severity(Severity::Error, Severity::Warning);
    for page in input.pages() {
        headings(page, severity, found);
        links(page, severity, found);
        tables(page, severity, found);
        lines(page, found);
        for block in page.code_blocks.iter().filter(|block| !block.is_closed) {
            let message = "The code block has no closing fence: all after it is code.".to_owned();
            found.add(&OPEN_FENCE, severity, (&page.path, block.line), "", message);
        }
        for (line, what) in &page.active_html {
            found.add(
                &ACTIVE_HTML,
                severity,
                (&page.path, *line),
                what,
                format!("The page has {}.", quote(what)),
            );
        }
    }
    Checked::Done
}

fn headings(page: &Page, severity: Severity, found: &mut Found) {
    let mut level = 0;
    // By level, the texts of the headings of the current section; a heading ends the sections of all deeper levels.
    let mut siblings: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    let mut titles = 0;
    for heading in &page.headings {
        let place = (page.path.as_str(), heading.line);
        if heading.text.is_empty() {
            found.add(&EMPTY_HEADING, severity, place, "", "The heading has no text.".to_owned());
        }
        if level > 0 && heading.level > level + 1 {
            let message =
                format!("{} has level {} below level {level}.", quote(&heading.text), heading.level);
            found.add(&HEADING_JUMP, severity, place, &heading.text, message);
        }
        titles += u32::from(heading.level == 1);
        if heading.level == 1 && titles == 2 {
            let message = format!("{} is a second heading of level 1.", quote(&heading.text));
            found.add(&SECOND_TITLE, severity, place, &heading.text, message);
        }
        siblings.retain(|other, _| *other <= heading.level);
        let above = siblings.entry(heading.level).or_default();
        if !heading.text.is_empty() && above.contains(&heading.text.as_str()) {
            let message = format!("{} is there already, in the same section.", quote(&heading.text));
            found.add(&DUPLICATE_HEADING, severity, place, &heading.text, message);
        } else if above.len() < SIBLINGS_MAX {
            above.push(&heading.text);
        }
        level = heading.level;
    }
}

/// Maximum number of headings of a section that are compared with each other.
const SIBLINGS_MAX: usize = 500;

fn links(page: &Page, severity: Severity, found: &mut Found) {
    for link in &page.links {
        let place = (page.path.as_str(), link.line);
        match link.kind {
            LinkKind::Link if link.target.trim().is_empty() => {
                let message = format!("The link {} has no target.", quote(&link.text));
                found.add(&EMPTY_LINK, severity, place, &link.text, message);
            }
            LinkKind::Link if link.text.trim().is_empty() && !link.has_content => {
                let message = format!("The link to {} has no text.", quote(&link.target));
                found.add(&EMPTY_LINK, severity, place, &link.target, message);
            }
            LinkKind::Image if link.text.trim().is_empty() && !link.has_content => {
                let message = format!("The image {} has no text.", quote(&link.target));
                found.add(&IMAGE_WITHOUT_TEXT, severity.max(Severity::Warning), place, &link.target, message);
            }
            _ => {}
        }
    }
    for (line, label) in page.undefined_references.iter().filter(|(_, label)| !is_object(label)) {
        let message =
            format!("The label {} is not defined, so brackets are shown instead of a link.", quote(label));
        found.add(&UNDEFINED_REFERENCE, severity, (&page.path, *line), label, message);
    }
}

/// Returns `true` if a label is the path of a code object, which documentation generators resolve: `[text][package.module.Class]`.
fn is_object(label: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    label.contains('.') && label.split('.').all(is_name)
}

/// Compares the number of cells of each row with that of the header, which is the row above the row of dashes.
fn tables(page: &Page, severity: Severity, found: &mut Found) {
    let mut head: Option<usize> = None;
    let mut above: Option<usize> = None;
    for (number, kind, line) in page.numbered_lines() {
        if kind != LineKind::Table {
            (head, above) = (None, None);
            continue;
        }
        let cells = cells(line);
        match head {
            None if is_delimiter(line) => head = above,
            None => above = Some(cells),
            Some(head) if cells > head => {
                let message =
                    format!("The row has {cells} cells and the head {head}; what is too much is not shown.");
                found.add(&RAGGED_TABLE, severity, (&page.path, number), line, message);
            }
            Some(_) => {}
        }
    }
}

/// Returns the number of cells of a row. Even within code, a vertical bar ends a cell unless a backslash precedes it.
fn cells(line: &str) -> usize {
    let row = line.trim().trim_start_matches(['>', ' ']);
    let row = row.strip_prefix('|').unwrap_or(row);
    let (mut bars, mut is_escaped, mut ends_with_bar) = (0, false, false);
    for char in row.chars() {
        let is_bar = char == '|' && !is_escaped;
        bars += usize::from(is_bar);
        ends_with_bar = is_bar;
        is_escaped = char == '\\' && !is_escaped;
    }
    bars + usize::from(!ends_with_bar)
}

fn is_delimiter(line: &str) -> bool {
    line.contains('-')
        && line.trim().trim_start_matches('>').chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// The first and last line of a merge conflict. The line between them could also be the underline of a heading.
static CONFLICT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(<{7}|>{7}) \S"));
/// Characters that reverse the direction of text, or that encode hidden text.
static HIDDEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[\u{202a}-\u{202e}\u{2066}-\u{2069}\u{e0001}-\u{e007f}]"));
/// The flags of England, Scotland and Wales: a black flag with the letters of the country as hidden characters. Other sequences of this
/// form are shown as a plain black flag, and could hide any text.
static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}",
    )
});

fn lines(page: &Page, found: &mut Found) {
    for (number, kind, line) in page.numbered_lines() {
        if kind != LineKind::Code && CONFLICT.is_match(line) {
            let message = "The page has the marks of a merge conflict.".to_owned();
            found.add(&CONFLICT_MARKER, Severity::Error, (&page.path, number), line, message);
        }
        if let Some(hidden) = HIDDEN.find(&FLAG.replace_all(line, "")) {
            let message = format!("The line has the hidden character {}.", quote(hidden.as_str()));
            found.add(&HIDDEN_CHARACTER, Severity::Error, (&page.path, number), hidden.as_str(), message);
        }
    }
}
