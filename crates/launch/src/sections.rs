//! The progress of each section of a site, derived from a run; never stored.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Section;
use crate::issue::Issue;
use crate::published::{KeptPage, KeptReason};
use crate::snapshot::{ItemState, RunSnapshot};
use crate::state::RunState;
use crate::worker::WRITE;

/// Maximum number of pages that are read of a plan.
const PAGES_MAX: usize = 10_000;

/// How far a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SectionState {
    /// Nothing is planned yet.
    NotStarted,
    /// Its pages are planned.
    Outlined,
    /// All its drafts are written.
    Drafted,
    /// All its patches are applied.
    MergedInWorktree,
    /// The last report has no open blocker or error in its pages.
    Done,
    /// The last report has one.
    Blocked,
}

/// A page of a plan, reduced to the fields that other parts of a run need.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedPage {
    /// Its section.
    pub section: String,
    /// Its path in the site.
    pub output_path: String,
}

#[derive(Deserialize)]
struct Plan {
    pages: Vec<PlannedPage>,
    #[serde(default)]
    kept: Vec<KeptPage>,
}

/// Returns the pages of the artifact `page_plan.json`; empty if that is not a plan.
#[must_use]
pub fn planned_pages(page_plan: &[u8]) -> Vec<PlannedPage> {
    let plan: Option<Plan> = serde_json::from_slice(page_plan).ok();
    let mut pages = plan.map(|plan| plan.pages).unwrap_or_default();
    pages.truncate(PAGES_MAX);
    pages
}

/// Returns the same pages as [`planned_pages`], and those that are not written because people own the existing ones.
#[must_use]
pub fn planned_or_kept_pages(page_plan: &[u8]) -> Vec<PlannedPage> {
    let mut pages = planned_pages(page_plan);
    let kept = kept_pages(page_plan).into_iter();
    pages.extend(kept.map(|kept| PlannedPage {
        section: kept.section.as_str().to_owned(),
        output_path: kept.output_path,
    }));
    pages
}

/// Returns the paths of the pages of the artifact `page_plan.json` that have claims: those that the run writes, and those of earlier runs
/// that people edited or moved.
#[must_use]
pub fn claiming_paths(page_plan: &[u8]) -> Vec<String> {
    let kept = kept_pages(page_plan).into_iter().filter_map(|kept| match kept.reason {
        KeptReason::Edited => Some(kept.output_path),
        KeptReason::Moved => kept.other,
        KeptReason::Foreign | KeptReason::AddressTaken | KeptReason::Removed => None,
    });
    planned_pages(page_plan).into_iter().map(|page| page.output_path).chain(kept).collect()
}

fn kept_pages(page_plan: &[u8]) -> Vec<KeptPage> {
    let plan: Option<Plan> = serde_json::from_slice(page_plan).ok();
    let mut kept = plan.map(|plan| plan.kept).unwrap_or_default();
    kept.truncate(PAGES_MAX);
    kept
}

/// Returns the sections of these pages, each once: the standard ones in their fixed order, then others.
#[must_use]
pub fn sections_of(pages: &[PlannedPage]) -> Vec<String> {
    let planned: BTreeSet<&str> = pages.iter().map(|page| page.section.as_str()).collect();
    let known = Section::ALL.map(Section::as_str);
    let others = planned.iter().copied().filter(|section| !known.contains(section));
    known
        .iter()
        .copied()
        .filter(|section| planned.contains(section))
        .chain(others)
        .map(str::to_owned)
        .collect()
}

/// Returns the progress of each of `required`.
#[must_use]
pub fn section_states(
    snapshot: &RunSnapshot,
    required: &BTreeSet<Section>,
    pages: &[PlannedPage],
) -> BTreeMap<Section, SectionState> {
    let open = snapshot.open_issues();
    required.iter().map(|section| (*section, section_state(snapshot, *section, pages, &open))).collect()
}

fn section_state(
    snapshot: &RunSnapshot,
    section: Section,
    pages: &[PlannedPage],
    open: &[&Issue],
) -> SectionState {
    let paths: BTreeSet<&str> = pages
        .iter()
        .filter(|page| page.section == section.as_str())
        .map(|page| page.output_path.as_str())
        .collect();
    // The progress of a run that failed or was cancelled is derived from its artifacts.
    let has_ended_early = matches!(snapshot.state, RunState::Failed | RunState::Cancelled);
    let is_planned = has_ended_early || snapshot.state.has_reached(RunState::PlanReady);
    if paths.is_empty() || !is_planned {
        return SectionState::NotStarted;
    }
    let is_in_section = |issue: &&&Issue| issue.path.as_deref().is_some_and(|path| paths.contains(path));
    let is_blocked = open.iter().filter(is_in_section).any(|issue| issue.is_failure());
    let is_drafted =
        snapshot.latest(WRITE, section.as_str()).is_some_and(|(_, item)| item.state == ItemState::Finished);
    match (snapshot.site_tree.is_some(), snapshot.report_ok) {
        (true, Some(_)) if is_blocked => SectionState::Blocked,
        (true, Some(_)) => SectionState::Done,
        (true, None) => SectionState::MergedInWorktree,
        (false, _) if is_drafted => SectionState::Drafted,
        (false, _) => SectionState::Outlined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ItemRef;
    use crate::issue::{Rule, Severity};
    use crate::snapshot::tests::in_state;
    use crate::snapshot::{Item, TrackedIssue};

    fn pages() -> Vec<PlannedPage> {
        planned_pages(
            br#"{"pages":[{"section":"docs","output_path":"content/a.md","title":"A"},
                {"section":"extra","output_path":"content/x.md"},{"section":"products","output_path":"content/p.md"}]}"#,
        )
    }

    fn state_of(snapshot: &RunSnapshot) -> SectionState {
        section_states(snapshot, &BTreeSet::from([Section::Docs]), &pages())[&Section::Docs]
    }

    #[test]
    fn sections_are_listed_in_their_fixed_order() {
        assert_eq!(sections_of(&pages()), ["products", "docs", "extra"]);
        assert_eq!(planned_pages(b"no plan"), []);
    }

    #[test]
    fn pages_that_people_own_belong_to_the_plan() {
        let plan = br#"{"pages":[{"section":"docs","output_path":"a.md"}],"kept":[
            {"section":"kb","output_path":"b.md","reason":"edited"},
            {"section":"kb","output_path":"c.md","reason":"moved","other":"d.md"},
            {"section":"kb","output_path":"e.md","reason":"removed"}]}"#;
        assert_eq!(claiming_paths(plan), ["a.md", "b.md", "d.md"]);
        assert_eq!(sections_of(&planned_or_kept_pages(plan)), ["docs", "kb"]);
        assert_eq!(sections_of(&planned_pages(plan)), ["docs"], "nothing is written of the other");
    }

    #[test]
    fn a_section_passes_through_its_states() {
        let mut run = in_state(RunState::FactsReady);
        assert_eq!(state_of(&run), SectionState::NotStarted);
        run.state = RunState::Drafting;
        assert_eq!(state_of(&run), SectionState::Outlined);
        let key = ItemRef { worker: WRITE.to_owned(), scope_key: "docs".to_owned(), attempt: 1 };
        let item = Item {
            state: ItemState::Finished,
            inputs_hash: String::new(),
            outputs: Vec::new(),
            error: None,
            started_ms: None,
            finished_ms: None,
        };
        run.items.insert(key, item);
        assert_eq!(state_of(&run), SectionState::Drafted);
        (run.state, run.site_tree) = (RunState::Linking, Some("tree".to_owned()));
        assert_eq!(state_of(&run), SectionState::MergedInWorktree);
        (run.state, run.report_ok) = (RunState::Validating, Some(false));
        assert_eq!(state_of(&run), SectionState::Done, "the issues are elsewhere");
        let rule = Rule::new("code", "Title");
        let issue = Issue::new("g", &rule, Severity::Error, Some(("content/a.md", None)), "x", String::new());
        let tracked = TrackedIssue { issue, opened_seq: 1, closed_seq: None };
        run.issues.insert("x".to_owned(), tracked);
        assert_eq!(state_of(&run), SectionState::Blocked);
        run.state = RunState::Failed;
        assert_eq!(state_of(&run), SectionState::Blocked, "as far as it got");
    }
}
