//! Gate `internal_links`: links within the site and into its repository lead somewhere. No address outside is called.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity, quote};
use crate::site::{AnchorStyle, Link, Page, Target, Unresolved, is_page};

pub(super) const GATE: Gate = Gate {
    name: "internal_links",
    about: "Links within the site and into its repository lead somewhere.",
    rules: &[DEAD_LINK, DEAD_ANCHOR, CODE_LINK, UNCHECKED],
    check,
};

const DEAD_LINK: Rule = Rule::fixable("dead_link", "A link leads nowhere");
const DEAD_ANCHOR: Rule =
    Rule::fixable("dead_anchor", "A link leads to an anchor that the page does not have");
const CODE_LINK: Rule = Rule::new("code_link", "A link runs code");
const UNCHECKED: Rule = Rule::new("unchecked_links", "Links into the repository were not checked");

/// Most headings and links of a page of the repository outside of the site that are read.
const ITEMS_MAX: usize = 10_000;

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let mut links = Links { input, anchors: BTreeMap::new(), unchecked: 0 };
    for page in input.pages() {
        for link in &page.links {
            links.check(page, link, found);
        }
    }
    if let (1.., Err(reason)) = (links.unchecked, input.evidence) {
        let message = format!("{} links into the repository were not checked: {reason}.", links.unchecked);
        found.add_to_site(&UNCHECKED, Severity::Info, "", message);
    }
    Checked::Done
}

struct Links<'g, 'a> {
    input: &'g GateInput<'a>,
    /// Anchors of pages by path: of the site, and of the repository with a slash in front.
    anchors: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Links into the repository that nobody could check.
    unchecked: u32,
}

impl Links<'_, '_> {
    fn check(&mut self, page: &Page, link: &Link, found: &mut Found) {
        let place = (page.path.as_str(), link.line);
        match self.input.site.resolve(page, &link.target) {
            Ok(Target::External) => {}
            Ok(Target::InSite { path, anchor }) => {
                let page_shown = self.input.site.page_shown_at(&path).map(|page| page.path.clone());
                if let (Some(anchor), Some(path)) = (anchor, page_shown) {
                    self.check_anchor(page, link, (path, false), &anchor, found);
                }
            }
            Ok(Target::InRepository { path, anchor }) => match self.input.evidence {
                Err(_) => self.unchecked = self.unchecked.saturating_add(1),
                Ok(evidence) if !evidence.exists(&path) => {
                    let message = format!("The repository has no {}.", quote(&path));
                    found.add(&DEAD_LINK, Severity::Error, place, &link.target, message);
                }
                Ok(_) => {
                    if let Some(anchor) = anchor.filter(|_| is_page(&path)) {
                        self.check_anchor(page, link, (path, true), &anchor, found);
                    }
                }
            },
            Err(Unresolved::Code) => {
                let message = format!("The link {} runs code.", quote(&link.target));
                found.add(&CODE_LINK, Severity::Error, place, &link.target, message);
            }
            Err(Unresolved::NoFile(path) | Unresolved::NoRoute(path)) if self.is_hidden_file(&path) => {}
            Err(Unresolved::NoFile(path)) => {
                let message = format!("The site has no {}.", quote(&path));
                found.add(&DEAD_LINK, Severity::Error, place, &link.target, message);
            }
            Err(Unresolved::NoRoute(path)) => {
                // What generates the site may know it.
                let severity = self.input.severity(Severity::Error, Severity::Warning);
                let message = format!("The site has no page or folder {}.", quote(&path));
                found.add(&DEAD_LINK, severity, place, &link.target, message);
            }
        }
    }

    /// Whether a path below a hidden folder, which sites are read without, is that of a file of the repository.
    fn is_hidden_file(&self, path: &str) -> bool {
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        let path = self.input.site.in_repository(path).filter(|_| is_hidden);
        matches!((path, self.input.evidence), (Some(path), Ok(evidence)) if evidence.exists(&path))
    }

    fn check_anchor(
        &mut self,
        page: &Page,
        link: &Link,
        (path, in_repository): (String, bool),
        anchor: &str,
        found: &mut Found,
    ) {
        let shown = if in_repository { format!("/{path}") } else { path.clone() };
        let anchors = self.anchors.entry(shown).or_insert_with(|| anchors(self.input, &path, in_repository));
        // Anchors are compared without case, as readers of GitHub are used to.
        let is_known = |anchors: &BTreeSet<String>| {
            anchors.contains(anchor) || anchors.contains(&anchor.to_lowercase()) || is_of_lines(anchor)
        };
        if anchors.as_ref().is_none_or(is_known) {
            return;
        }
        let severity = self.input.severity(Severity::Error, Severity::Warning);
        let message = format!("{} has no anchor {}.", quote(&path), quote(anchor));
        found.add(&DEAD_ANCHOR, severity, (&page.path, link.line), &link.target, message);
    }
}

/// The anchors of a page; `None` if it cannot be read.
fn anchors(input: &GateInput<'_>, path: &str, in_repository: bool) -> Option<BTreeSet<String>> {
    if !in_repository {
        return input.site.page(path).map(|page| page.anchors(input.site.style()));
    }
    let text = input.evidence.ok()?.text(path)?;
    Some(Page::parse(path, text.to_owned(), ITEMS_MAX).anchors(AnchorStyle::Any))
}

/// Whether an anchor means lines of a text, as code hosts show them, or the top of the page.
fn is_of_lines(anchor: &str) -> bool {
    let is_line = |part: &str| {
        part.strip_prefix('L')
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'C'))
    };
    anchor == "top" || anchor.split('-').all(is_line)
}
