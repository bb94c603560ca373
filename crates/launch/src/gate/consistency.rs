//! Gate `consistency`: pages name the product and its repository consistently, and all planned pages and headings are there.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::{Checked, Found, Gate, GateInput, RunInput, kept_pages};
use crate::issue::{Rule, Severity, quote};
use crate::pattern::pattern;
use crate::site::{LineKind, Page};

pub(super) const GATE: Gate = Gate {
    name: "consistency",
    about: "Pages name the product and its repository alike, and all that was planned is there.",
    rules: &[
        PRODUCT_NAME,
        REPOSITORY_URL,
        MISSING_HEADING,
        MISSING_PAGE,
        MISSING_SECTION,
        kept_pages::EDITED,
        kept_pages::FOREIGN,
        kept_pages::ADDRESS_TAKEN,
        kept_pages::REMOVED,
        kept_pages::MOVED,
    ],
    check,
};

const PRODUCT_NAME: Rule = Rule::fixable("product_name", "The product is written in another way");
const REPOSITORY_URL: Rule = Rule::fixable("repository_url", "The address of the repository is another one");
const MISSING_HEADING: Rule = Rule::fixable("missing_heading", "A planned heading is missing");
pub(super) const MISSING_PAGE: Rule = Rule::new("missing_page", "A planned page is missing");
pub(super) const MISSING_SECTION: Rule = Rule::new("missing_section", "A required section has no page");

/// An address of a repository: host, owner and name.
pub(crate) static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"https?://([A-Za-z0-9.-]+)/([A-Za-z0-9_.-]+)/([A-Za-z0-9_.-]+)"));

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let Some(run) = input.run else {
        return Checked::NotApplicable("the name of the product is not known");
    };
    for section in run.required_sections {
        let is_kept = run.kept.iter().any(|kept| kept.section == *section);
        if !is_kept && !run.pages.iter().any(|planned| planned.section == *section) {
            let message = format!("No page is planned for the section `{}`.", section.as_str());
            found.add_to_site(&MISSING_SECTION, Severity::Blocker, section.as_str(), message);
        }
    }
    kept_pages::add(run.kept, found);
    for planned in run.pages {
        let Some(page) = input.site.page(&planned.path) else {
            let message = "The planned page does not exist.".to_owned();
            found.add_to_file(&MISSING_PAGE, Severity::Blocker, &planned.path, "", message);
            continue;
        };
        for heading in &planned.required_headings {
            let is_there = page.headings.iter().any(|one| one.text.eq_ignore_ascii_case(heading));
            if !is_there {
                let message = format!("The page has no heading {}.", quote(heading));
                found.add(&MISSING_HEADING, Severity::Error, (&page.path, 1), heading, message);
            }
        }
    }
    for page in input.pages() {
        names(page, run, found);
        addresses(page, run, found);
    }
    Checked::Done
}

/// Matches the name of the product in any case; `None` for an ordinary word, which people also write without meaning the product.
fn name_in_any_case(name: &str) -> Option<Regex> {
    let capitals = name.chars().filter(|c| c.is_uppercase()).count();
    let is_name =
        name.len() >= 3 && (capitals >= 2 || name.contains(|c: char| c == ' ' || c.is_ascii_digit()));
    let text = format!(r"\b{}\b", regex::escape(name));
    is_name.then(|| RegexBuilder::new(&text).case_insensitive(true).build().ok())?
}

fn names(page: &Page, run: &RunInput<'_>, found: &mut Found) {
    for range in misspelt(&page.masked, run.product_name) {
        let line = page.line_at(range.start);
        let written = page.masked.get(range).unwrap_or_default();
        if page.kind_of(line) == LineKind::FrontMatter {
            continue;
        }
        let message = format!("{} should be {}.", quote(written), quote(run.product_name));
        found.add(&PRODUCT_NAME, Severity::Error, (&page.path, line), written, message);
    }
}

/// Finds the places where a text writes the name of the product in another case. Parts of paths, addresses and packages do not count,
/// because their case follows other rules.
pub(crate) fn misspelt(text: &str, product_name: &str) -> Vec<Range<usize>> {
    let Some(name) = name_in_any_case(product_name) else { return Vec::new() };
    let bytes = text.as_bytes();
    let around = |at: Option<&u8>| at.is_some_and(|byte| matches!(byte, b'/' | b'-' | b'_' | b'@' | b'#'));
    let is_prose = |range: &Range<usize>| {
        let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
        let is_file = bytes.get(range.end) == Some(&b'.')
            && bytes.get(range.end + 1).is_some_and(u8::is_ascii_alphanumeric);
        !(around(before) || before == Some(&b'.') || around(bytes.get(range.end)) || is_file)
    };
    let written = name.find_iter(text).filter(|written| written.as_str() != product_name);
    written.map(|written| written.range()).filter(is_prose).collect()
}

/// Finds addresses of repositories that have the name of this one and another owner.
fn addresses(page: &Page, run: &RunInput<'_>, found: &mut Found) {
    let Some(own) = ADDRESS.captures(run.repository_url) else { return };
    let part = |captures: &regex::Captures<'_>, at: usize| {
        captures.get(at).map(|part| part.as_str().trim_end_matches(".git").to_lowercase()).unwrap_or_default()
    };
    for written in ADDRESS.captures_iter(&page.text) {
        let is_same_name = part(&written, 1) == part(&own, 1) && part(&written, 3) == part(&own, 3);
        if let Some(whole) = written.get(0).filter(|_| is_same_name && part(&written, 2) != part(&own, 2)) {
            let message = format!("{} should be {}.", quote(whole.as_str()), quote(run.repository_url));
            let place = (page.path.as_str(), page.line_at(whole.start()));
            found.add(&REPOSITORY_URL, Severity::Error, place, whole.as_str(), message);
        }
    }
}
