//! Fixers: each repairs one kind of issue with one patch. Content that cannot be repaired is removed; nothing is invented.

mod block;
mod citation;
mod claim;
mod front_matter;
mod heading;
mod licence;
mod limitations;
mod link;
mod name;
mod token;

use std::collections::BTreeSet;

use crate::claim::marked_id;
use crate::config::RunConfig;
use crate::evidence::Evidence;
use crate::forms::{PagePlan, PlanPage, ProductFacts};
use crate::issue::Issue;
use crate::patch::Patch;
use crate::render::{Sources, WrittenPage};
use crate::site::{Page, Site};

/// The inputs of a fixer.
pub struct FixInput<'a> {
    /// The issue.
    pub issue: &'a Issue,
    /// The changed pages of the site.
    pub pages: &'a Site,
    /// The configuration of the run.
    pub config: &'a RunConfig,
    /// The plan.
    pub plan: &'a PagePlan,
    /// The claims.
    pub facts: &'a ProductFacts,
    /// Claims and snippets as pages refer to them.
    pub sources: &'a Sources<'a>,
    /// The repository.
    pub evidence: &'a dyn Evidence,
}

/// A repair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Repair {
    /// The change of the site.
    pub patch: Option<Patch>,
    /// The claims, if their citations changed.
    pub facts: Option<ProductFacts>,
    /// Hashes of lines of the patch that state nothing.
    pub template_lines: BTreeSet<String>,
    /// The action taken, as the end of a sentence.
    pub done: &'static str,
}

/// Repairs an issue; `None` if it cannot.
type Fixer = fn(&FixInput<'_>) -> Option<Repair>;

/// The fixers by the codes of issues.
const FIXERS: &[(&str, Fixer)] = &[
    ("missing_key", front_matter::fix),
    ("wrong_type", front_matter::fix),
    ("template_token", token::fix),
    ("dead_link", link::fix),
    ("dead_anchor", link::fix),
    ("snippet_syntax", block::fix),
    ("stale_import", block::fix),
    ("stale_name", block::fix),
    ("snippet_not_in_catalog", block::fix),
    ("risky_example", block::fix),
    ("install_command", block::fix),
    ("unknown_claim", claim::fix),
    ("wrong_quote", claim::fix),
    ("uncited_line", claim::fix),
    ("contradicted_claim", claim::fix),
    ("stale_citation", citation::fix),
    ("unsaid_claim", claim::take_away),
    ("unplanned_heading", claim::take_away),
    ("uncited_description", front_matter::fix_description),
    ("product_name", name::fix_product),
    ("repository_url", name::fix_address),
    ("missing_heading", heading::fix),
    ("no_limitations", limitations::fix),
    ("licence_not_named", licence::fix_missing),
    ("other_licence", licence::fix_other),
];

/// Repairs an issue; `None` if no fixer can.
#[must_use]
pub fn repair(input: &FixInput<'_>) -> Option<Repair> {
    let (_, fixer) = FIXERS.iter().find(|(code, _)| *code == input.issue.code)?;
    fixer(input)
}

impl<'a> FixInput<'a> {
    /// The page of the issue.
    fn page(&self) -> Option<&'a Page> {
        self.pages.page(self.issue.path.as_deref()?)
    }

    /// The page of the issue, the number of its line, and the line.
    fn line(&self) -> Option<(&'a Page, u32, &'a str)> {
        let (page, number) = (self.page()?, self.issue.line?);
        let row = usize::try_from(number).ok()?.checked_sub(1)?;
        Some((page, number, page.text.lines().nth(row)?))
    }

    /// The plan of the page of the issue.
    fn planned(&self) -> Option<&'a PlanPage> {
        let path = self.issue.path.as_deref()?;
        self.plan.pages.iter().find(|page| page.output_path == path)
    }
}

/// The ids of the claims of a line.
fn marks(page: &Page, line: u32) -> Vec<&str> {
    let comments = page.comments.iter().filter(|comment| comment.line == line);
    comments.filter_map(|comment| marked_id(&comment.text)).collect()
}

/// Replaces a line, or takes it away.
fn replace_line(page: &Page, number: u32, line: Option<&str>) -> Patch {
    let content = line.map(|line| format!("{line}\n")).unwrap_or_default();
    Patch::of_range(&page.path, &page.text, (number, number), content)
}

/// A repair by a patch.
fn by_patch(patch: Patch, done: &'static str) -> Repair {
    Repair { patch: Some(patch), done, ..Repair::default() }
}

/// A repair that adds a written part at the end of the text below a heading; without a heading, at the end of the page.
fn by_adding(page: &Page, anchor: Option<String>, written: WrittenPage, done: &'static str) -> Repair {
    let patch = Patch::UpdateByAnchor { path: page.path.clone(), anchor, content: written.text };
    Repair { template_lines: written.template_lines, ..by_patch(patch, done) }
}

#[cfg(test)]
mod tests;
