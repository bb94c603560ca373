//! Gates: the checks that a site passes before it is published. Each is one file and one entry of [`GATES`].
//!
//! A gate that cannot run says so: it is skipped with an issue of severity `info`, or fails where the profile requires it. A site without a
//! run is checked by the same gates, as far as they apply, but less strictly, because it need not be complete.

mod allowed_paths;
mod change_budget;
mod checks;
mod consistency;
mod external_links;
mod frontmatter;
mod input;
mod internal_links;
mod kept_pages;
mod known_names;
mod licence;
mod limitations_and_distribution;
mod markdown_lint;
mod named_commands;
mod own_modules;
mod readme_checks;
mod risk_disclosure;
mod schema;
mod secrets;
mod shell;
mod site_build;
mod site_layout;
mod snippets;
mod template_token_lint;
mod truth_lock;

#[cfg(test)]
mod tests;

pub(crate) use consistency::{ADDRESS, misspelt};
pub use frontmatter::{FrontMatterContract, KeyType, discover_contract};
pub use input::{
    Artifact, Change, FoundSecret, GateInput, Layout, RequiredPage, RunInput, SecretFinder, SectionFolder,
};
pub(crate) use limitations_and_distribution::installs_one_of;
pub use markdown_lint::LINT_RULES;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::allowed_paths::AllowedPaths;
use crate::config::Budgets;
use crate::issue::{Issue, Rule, Severity};
use crate::observed::Observed;
use crate::report::{GateOutcome, GateStatus, Profile, ValidationReport};
use crate::site::Site;

/// Maximum number of issues that one gate reports; a hostile site could have millions.
const ISSUES_PER_GATE_MAX: usize = 1_000;

/// A gate.
pub struct Gate {
    /// Stable name in snake case.
    pub name: &'static str,
    /// The subject of its checks, in one sentence.
    pub about: &'static str,
    /// The kinds of issues that it finds.
    pub rules: &'static [Rule],
    /// Runs it.
    check: fn(&GateInput<'_>, &mut Found) -> Checked,
}

/// All gates, in the order in which they run.
pub static GATES: &[Gate] = &[
    schema::GATE,
    frontmatter::GATE,
    markdown_lint::GATE,
    template_token_lint::GATE,
    site_layout::GATE,
    internal_links::GATE,
    snippets::GATE,
    truth_lock::GATE,
    consistency::GATE,
    limitations_and_distribution::GATE,
    licence::GATE,
    risk_disclosure::GATE,
    secrets::GATE,
    allowed_paths::GATE,
    change_budget::GATE,
    readme_checks::GATE,
    site_build::GATE,
    checks::GATE,
    external_links::GATE,
];

/// Issues that only another plan resolves: pages are missing, or are in folders that the site's layout does not have.
pub const NEEDS_PLAN: &[Rule] =
    &[consistency::MISSING_PAGE, consistency::MISSING_SECTION, site_layout::OUTSIDE_LAYOUT];

/// Issues that every gate may report.
pub const GENERAL_RULES: &[Rule] = &[NOT_RUN, NOT_APPLICABLE, MORE_ISSUES];

const NOT_RUN: Rule = Rule::new("gate_not_run", "The gate could not run");
const NOT_APPLICABLE: Rule = Rule::new("gate_not_applicable", "The gate does not apply");
const MORE_ISSUES: Rule = Rule::new("more_issues", "The gate found more than it reports");

/// The outcome of a gate.
enum Checked {
    /// It ran.
    Done,
    /// There is nothing that it could check, for this reason.
    NotApplicable(&'static str),
    /// It was not asked for, for this reason: the operator configured nothing for it, or there is no run that needs it. A gate that does
    /// not apply is reported as an issue; this is not worth one.
    NotAsked(&'static str),
    /// It lacks what it needs, for this reason.
    Unable(String),
}

/// The rank that decides which issues are kept and in which order: severity, path, line and id; the worst issue has the least rank.
type Rank = (Severity, String, u32, String);

/// Collects the issues of one gate: at most [`ISSUES_PER_GATE_MAX`], the worst of all that were found.
struct Found {
    gate: &'static str,
    issues: BTreeMap<Rank, Issue>,
    /// Ranks of the issues by their ids. Each id is reported once.
    ranks: HashMap<String, Rank>,
    left_out: u32,
    /// The worst severity of the omitted issues.
    worst_left_out: Option<Severity>,
}

impl Found {
    fn new(gate: &'static str) -> Self {
        Self { gate, issues: BTreeMap::new(), ranks: HashMap::new(), left_out: 0, worst_left_out: None }
    }

    /// Adds an issue at a line of a file. `subject` identifies it within the file.
    fn add(&mut self, rule: &Rule, severity: Severity, place: (&str, u32), subject: &str, message: String) {
        self.push(rule, severity, Some((place.0, Some(place.1))), subject, message);
    }

    /// Adds an issue of a whole file.
    fn add_to_file(&mut self, rule: &Rule, severity: Severity, path: &str, subject: &str, message: String) {
        self.push(rule, severity, Some((path, None)), subject, message);
    }

    /// Adds an issue of the whole site.
    fn add_to_site(&mut self, rule: &Rule, severity: Severity, subject: &str, message: String) {
        self.push(rule, severity, None, subject, message);
    }

    fn push(
        &mut self,
        rule: &Rule,
        severity: Severity,
        place: Option<(&str, Option<u32>)>,
        subject: &str,
        message: String,
    ) {
        let (path, line) = place.map_or(("", 0), |(path, line)| (path, line.unwrap_or_default()));
        // Pages come in the order of ranks, so if there are many issues, most return here.
        let is_mildest = |last: &Rank| (severity, path, line) > (last.0, last.1.as_str(), last.2);
        if self.issues.len() >= ISSUES_PER_GATE_MAX && self.issues.keys().next_back().is_some_and(is_mildest)
        {
            return self.leave_out(severity);
        }
        let issue = Issue::new(self.gate, rule, severity, place, subject, message);
        if let Some(known) = self.ranks.get(&issue.issue_id) {
            if known.0 <= severity {
                return;
            }
            self.issues.remove(known);
        }
        let rank = (severity, path.to_owned(), line, issue.issue_id.clone());
        self.ranks.insert(issue.issue_id.clone(), rank.clone());
        self.issues.insert(rank, issue);
        // Remove the mildest issue, whether it was found first or last: milder ones must not hide a worse one.
        if self.issues.len() > ISSUES_PER_GATE_MAX
            && let Some((rank, _)) = self.issues.pop_last()
        {
            self.ranks.remove(&rank.3);
            self.leave_out(rank.0);
        }
    }

    fn leave_out(&mut self, severity: Severity) {
        self.left_out = self.left_out.saturating_add(1);
        self.worst_left_out = Some(self.worst_left_out.map_or(severity, |worst| worst.min(severity)));
    }
}

/// A validation was stopped between two gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Runs all gates over a site.
#[must_use]
pub fn check(input: &GateInput<'_>) -> ValidationReport {
    let (outcomes, issues): (Vec<_>, Vec<_>) = GATES.iter().map(|gate| run(gate, input)).unzip();
    ValidationReport::new(input.profile, outcomes, issues.into_iter().flatten().collect())
}

/// Runs all gates over a site, as long as `goes_on` returns true; it is called with the name of each gate before it runs.
///
/// # Errors
/// [`Stopped`] if it returned false.
pub fn check_while(
    input: &GateInput<'_>,
    goes_on: &mut dyn FnMut(&'static str) -> bool,
) -> Result<ValidationReport, Stopped> {
    let (mut outcomes, mut issues) = (Vec::new(), Vec::new());
    for gate in GATES {
        if !goes_on(gate.name) {
            return Err(Stopped);
        }
        let (outcome, found) = run(gate, input);
        outcomes.push(outcome);
        issues.extend(found);
    }
    Ok(ValidationReport::new(input.profile, outcomes, issues))
}

/// Returns the conflicts of the changed pages of a site with all others: in their addresses, and in links.
#[must_use]
pub fn structure_issues(site: &Site, changes: &[Change]) -> Vec<Issue> {
    let run_input = RunInput {
        product_name: "",
        repository_url: "",
        changes,
        allowed_paths: &AllowedPaths::default(),
        budgets: Budgets { max_files_changed: u32::MAX, max_lines_per_file: u32::MAX },
        required_sections: &BTreeSet::new(),
        pages: &[],
        kept: &[],
        layout: None,
        contracts: &BTreeMap::new(),
        snippet_hashes: &BTreeSet::new(),
        install_commands: &[],
        artifacts: &[],
        observed: &Observed::default(),
    };
    let input = GateInput {
        site,
        snippets: &[],
        evidence: Err("the repository is not asked"),
        claims: None,
        run: Some(&run_input),
        secrets: &NoSecrets,
        profile: Profile::Local,
    };
    let found = [&site_layout::GATE, &internal_links::GATE].into_iter().flat_map(|gate| run(gate, &input).1);
    found.filter(Issue::is_failure).collect()
}

/// A finder that finds no secrets.
struct NoSecrets;

impl SecretFinder for NoSecrets {
    fn find(&self, _: &str, _: &str) -> Vec<FoundSecret> {
        Vec::new()
    }
}

fn run(gate: &Gate, input: &GateInput<'_>) -> (GateOutcome, Vec<Issue>) {
    let mut found = Found::new(gate.name);
    let checked = (gate.check)(input, &mut found);
    let mut issues: Vec<Issue> = found.issues.into_values().collect();
    if found.left_out > 0 {
        let message = format!("{} more issues of this gate are not listed.", found.left_out);
        issues.push(Issue::new(gate.name, &MORE_ISSUES, Severity::Info, None, "", message));
    }
    let mut severities = issues.iter().map(|issue| issue.severity).chain(found.worst_left_out);
    let fails = severities.any(|severity| input.profile.fails_on(severity));
    let (status, reason) = match checked {
        Checked::Done if fails => (GateStatus::Failed, None),
        Checked::Done => (GateStatus::Passed, None),
        Checked::NotAsked(reason) => (GateStatus::Skipped, Some(reason.to_owned())),
        Checked::NotApplicable(reason) => {
            let message = format!("Not checked: {reason}.");
            issues.push(Issue::new(gate.name, &NOT_APPLICABLE, Severity::Info, None, reason, message));
            (GateStatus::Skipped, Some(reason.to_owned()))
        }
        Checked::Unable(reason) => {
            let is_required = input.profile > Profile::Local;
            let severity = if is_required { Severity::Error } else { Severity::Info };
            let message = format!("The gate could not run: {reason}.");
            issues.push(Issue::new(gate.name, &NOT_RUN, severity, None, "", message));
            let status = if is_required || fails { GateStatus::Failed } else { GateStatus::Skipped };
            (status, Some(reason))
        }
    };
    let count = u32::try_from(issues.len()).unwrap_or(u32::MAX);
    (GateOutcome { gate: gate.name.to_owned(), status, reason, issues: count }, issues)
}
