//! Gate `internal_links`: links within the site and into its repository lead somewhere. No external address is requested.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checked, Found, Gate, GateInput};
use crate::evidence::Evidence;
use crate::issue::{Rule, Severity, quote};
use crate::site::{
    AnchorStyle, Link, PAGE_ITEMS_MAX, Page, STATIC_FOLDERS, Target, Unresolved, is_page, names_file,
    page_files,
};

pub(super) const GATE: Gate = Gate {
    name: "internal_links",
    about: "Links within the site and into its repository lead somewhere.",
    rules: &[DEAD_LINK, DEAD_ANCHOR, LOST_ANCHOR, CODE_LINK, UNCHECKED],
    check,
};

const DEAD_LINK: Rule = Rule::fixable("dead_link", "A link leads nowhere");
const DEAD_ANCHOR: Rule =
    Rule::fixable("dead_anchor", "A link leads to an anchor that the page does not have");
const LOST_ANCHOR: Rule = Rule::new("lost_anchor", "A page lost an anchor to which another page links");
const CODE_LINK: Rule = Rule::new("code_link", "A link runs code");
const UNCHECKED: Rule = Rule::new("unchecked_links", "Links into the repository were not checked");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let mut links = Links { input, anchors: BTreeMap::new(), unchecked: 0 };
    for page in input.pages() {
        for link in &page.links {
            links.check(page, link, found);
        }
    }
    lost_anchors(input, found);
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
    /// Links into the repository that could not be checked.
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
                Ok(evidence) if evidence.may_exist(&path) => {
                    self.check_anchor_in_repository(page, link, path, anchor, found);
                }
                Ok(evidence) => {
                    // A path that is not named like a file may be the address of a page.
                    let is_file = names_file(&path);
                    let alone = if is_file { Severity::Error } else { Severity::Warning };
                    let severity = self.input.severity(Severity::Error, alone);
                    if is_file || !page_files(&path).any(|file| evidence.exists(&file)) {
                        let message = format!("The repository has no {}.", quote(&path));
                        found.add(&DEAD_LINK, severity, place, &link.target, message);
                    }
                }
            },
            Ok(Target::FromRoot { path, anchor }) => match self.input.evidence {
                Ok(evidence) if self.is_at_root(&path, evidence) => {
                    self.check_anchor_in_repository(page, link, path, anchor, found);
                }
                _ => {
                    // Only the site generator knows which folder becomes the root.
                    let severity = self.input.severity(Severity::Error, Severity::Warning);
                    let message = format!("The site has no {} at its root.", quote(&path));
                    found.add(&DEAD_LINK, severity, place, &link.target, message);
                }
            },
            Err(Unresolved::Code) => {
                let message = format!("The link {} runs code.", quote(&link.target));
                found.add(&CODE_LINK, Severity::Error, place, &link.target, message);
            }
            Err(Unresolved::NoFile(path) | Unresolved::NoRoute(path)) if self.is_unread(&path) => {}
            Err(Unresolved::NoFile(path)) => {
                let message = format!("The site has no {}.", quote(&path));
                found.add(&DEAD_LINK, Severity::Error, place, &link.target, message);
            }
            Err(Unresolved::NoRoute(path)) => {
                // The site generator may create it.
                let severity = self.input.severity(Severity::Error, Severity::Warning);
                let message = format!("The site has no page or folder {}.", quote(&path));
                found.add(&DEAD_LINK, severity, place, &link.target, message);
            }
        }
    }

    /// Returns `true` if a path of the site is that of a file of the repository that is not read with the site: below a hidden folder, a
    /// link or a submodule.
    fn is_unread(&self, path: &str) -> bool {
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        let (Some(path), Ok(evidence)) = (self.input.site.in_repository(path), self.input.evidence) else {
            return false;
        };
        evidence.is_left_out(&path) || (is_hidden && evidence.exists(&path))
    }

    /// Returns `true` if a path from the root of the site is one from the root of the repository, as code hosts resolve it, or of a folder
    /// whose files generators copy to the root of the site. That folder is not known, so the end of the path decides.
    fn is_at_root(&self, path: &str, evidence: &dyn Evidence) -> bool {
        let is_static = || {
            (path.contains('/') && evidence.has_path_ending(path))
                || STATIC_FOLDERS.iter().any(|folder| evidence.has_path_ending(&format!("{folder}/{path}")))
        };
        self.input.site.base().is_some()
            && (evidence.may_exist(path)
                || page_files(path).any(|file| evidence.exists(&file))
                || is_static())
    }

    fn check_anchor_in_repository(
        &mut self,
        page: &Page,
        link: &Link,
        path: String,
        anchor: Option<String>,
        found: &mut Found,
    ) {
        if let Some(anchor) = anchor.filter(|_| is_page(&path)) {
            self.check_anchor(page, link, (path, true), &anchor, found);
        }
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
        if anchors.as_ref().is_none_or(|anchors| is_known(anchors, anchor)) {
            return;
        }
        let severity = self.input.severity(Severity::Error, Severity::Warning);
        let message = format!("{} has no anchor {}.", quote(&path), quote(anchor));
        found.add(&DEAD_ANCHOR, severity, (&page.path, link.line), &link.target, message);
    }
}

/// Returns `true` if an anchor is among those of a page. Case is ignored, as it is on GitHub.
fn is_known(anchors: &BTreeSet<String>, anchor: &str) -> bool {
    anchors.contains(anchor) || anchors.contains(&anchor.to_lowercase()) || is_of_lines(anchor)
}

/// Finds anchors that a run removes from pages although unchanged pages link to them. Links that were dead before are not its fault.
fn lost_anchors(input: &GateInput<'_>, found: &mut Found) {
    let mut lost: BTreeMap<&str, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for change in input.run.into_iter().flat_map(|run| run.changes) {
        if let (Some(before), Some(page)) = (&change.before, input.site.page(&change.path)) {
            let before = Page::parse(&change.path, before.clone(), PAGE_ITEMS_MAX);
            let style = input.site.style();
            lost.insert(change.path.as_str(), (before.anchors(style), page.anchors(style)));
        }
    }
    if lost.is_empty() {
        return;
    }
    let scope = input.scope();
    for page in input.site.pages().iter().filter(|page| !scope.contains(&page.path)) {
        for link in page.links.iter().filter(|link| link.target.contains('#')) {
            let Ok(Target::InSite { path, anchor: Some(anchor) }) = input.site.resolve(page, &link.target)
            else {
                continue;
            };
            let Some(target) = input.site.page_shown_at(&path) else { continue };
            let Some((before, now)) = lost.get(target.path.as_str()) else { continue };
            if is_known(before, &anchor) && !is_known(now, &anchor) {
                let message = format!(
                    "{} links to the anchor {}, which the page has lost.",
                    quote(&page.path),
                    quote(&anchor)
                );
                let subject = format!("{} {anchor}", page.path);
                found.add_to_file(&LOST_ANCHOR, Severity::Error, &target.path, &subject, message);
            }
        }
    }
}

/// Returns the anchors of a page; `None` if it cannot be read.
fn anchors(input: &GateInput<'_>, path: &str, in_repository: bool) -> Option<BTreeSet<String>> {
    if !in_repository {
        return input.site.page(path).map(|page| page.anchors(input.site.style()));
    }
    let text = input.evidence.ok()?.text(path)?;
    Some(Page::parse(path, text.to_owned(), PAGE_ITEMS_MAX).anchors(AnchorStyle::Any))
}

/// Returns `true` if an anchor refers to lines of a text, as code hosts show them, or to the top of the page.
fn is_of_lines(anchor: &str) -> bool {
    let is_line = |part: &str| {
        part.strip_prefix('L')
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'C'))
    };
    anchor == "top" || anchor.split('-').all(is_line)
}
