//! Tries texts before they become part of a page: each is checked by the gates as a page by itself. A text with faults is not repeated,
//! even if the repository contains it.

use std::collections::BTreeSet;

use super::WorkerInput;
use crate::gate::{self, GateInput};
use crate::issue::{Issue, Severity};
use crate::report::Profile;
use crate::site::{MemoryFiles, Site, SiteLimits};
use crate::snippet::ParsedSnippet;

/// Texts that are tried at a time: few enough that no gate omits any of its issues.
const BATCH: usize = 50;
/// Code of the issue that a gate found more than it reports.
const MORE_ISSUES: &str = "more_issues";
/// Code of the issue that a text names an operation with a risk. The text may be repeated on a page that says so.
const UNDISCLOSED_RISK: &str = "undisclosed_risk";

/// The verdict of the gates on a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Codes of its faults, sorted.
    pub(super) problems: BTreeSet<String>,
    /// `true` if a page that has it must warn of a risk.
    pub(super) is_risky: bool,
}

/// Texts to try.
#[derive(Debug, Clone, Default)]
pub(super) struct Trial {
    texts: Vec<String>,
}

impl Trial {
    /// A trial of these texts.
    pub(super) fn new(texts: impl Iterator<Item = String>) -> Self {
        Self { texts: texts.collect() }
    }

    /// All texts as the pages of one site.
    pub(super) fn site(&self) -> Site {
        site(self.texts.iter().zip(0..).map(|(text, number)| (path(number), text.as_str())))
    }

    /// Returns the verdict of the gates on each text, in order.
    pub(super) fn verdicts(&self, input: &WorkerInput<'_>, snippets: &[ParsedSnippet]) -> Vec<Verdict> {
        let batches = self.texts.chunks(BATCH).zip((0..).step_by(BATCH));
        batches.flat_map(|(texts, first)| verdicts(texts, first, input, snippets)).collect()
    }
}

/// Returns the page of a text. Pages are sorted in the order of texts.
pub(super) fn path(number: usize) -> String {
    format!("t{number:06}.md")
}

fn site<'t>(pages: impl Iterator<Item = (String, &'t str)>) -> Site {
    let files: MemoryFiles = pages.collect();
    Site::read(&files, None, &SiteLimits::default())
}

fn verdicts(
    texts: &[String],
    first: usize,
    input: &WorkerInput<'_>,
    snippets: &[ParsedSnippet],
) -> Vec<Verdict> {
    let site = site(texts.iter().zip(first..).map(|(text, number)| (path(number), text.as_str())));
    let report = gate::check(&GateInput {
        site: &site,
        snippets,
        evidence: Ok(input.evidence),
        claims: None,
        run: None,
        secrets: input.secrets,
        profile: Profile::Local,
    });
    let is_complete = report.issues.iter().all(|issue| issue.code != MORE_ISSUES);
    let verdict = |number: usize| {
        let page = path(number);
        let own = || report.issues.iter().filter(|issue| issue.path.as_deref() == Some(page.as_str()));
        let is_problem = |issue: &&Issue| issue.severity < Severity::Info;
        let mut problems: BTreeSet<String> =
            own().filter(is_problem).map(|issue| issue.code.clone()).collect();
        if !is_complete {
            problems.insert(MORE_ISSUES.to_owned());
        }
        Verdict { problems, is_risky: own().any(|issue| issue.code == UNDISCLOSED_RISK) }
    };
    (first..first + texts.len()).map(verdict).collect()
}
