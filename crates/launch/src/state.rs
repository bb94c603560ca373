//! The states of a run, and the table of its transitions.
//!
//! [`step`] is the only way from one state to another; [`TRANSITIONS`] is its table.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a run, in the order in which a run passes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunState {
    /// Configured; its inputs are not read yet.
    Created,
    /// Repository and site are pinned and read.
    ClonedInputs,
    /// The inputs can be analysed.
    Ingested,
    /// Claims, their evidence and snippets are collected.
    FactsReady,
    /// The pages are planned.
    PlanReady,
    /// Pages are being written.
    Drafting,
    /// Each planned section has its drafts.
    DraftReady,
    /// The drafts are patches of the site.
    Linking,
    /// The patched site is validated.
    Validating,
    /// An issue is being fixed.
    Fixing,
    /// The last report is ok: the run may be published.
    ReadyForPr,
    /// The pull request is open.
    PrOpened,
    /// Everything is done.
    Done,
    /// The run cannot go on.
    Failed,
    /// Somebody cancelled the run.
    Cancelled,
}

impl RunState {
    /// All states, in order.
    pub const ALL: [Self; 15] = [
        Self::Created,
        Self::ClonedInputs,
        Self::Ingested,
        Self::FactsReady,
        Self::PlanReady,
        Self::Drafting,
        Self::DraftReady,
        Self::Linking,
        Self::Validating,
        Self::Fixing,
        Self::ReadyForPr,
        Self::PrOpened,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Its name in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::ClonedInputs => "CLONED_INPUTS",
            Self::Ingested => "INGESTED",
            Self::FactsReady => "FACTS_READY",
            Self::PlanReady => "PLAN_READY",
            Self::Drafting => "DRAFTING",
            Self::DraftReady => "DRAFT_READY",
            Self::Linking => "LINKING",
            Self::Validating => "VALIDATING",
            Self::Fixing => "FIXING",
            Self::ReadyForPr => "READY_FOR_PR",
            Self::PrOpened => "PR_OPENED",
            Self::Done => "DONE",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Returns `true` if no state follows.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Returns `true` if it is a boundary: a resumed run stops here.
    #[must_use]
    pub fn is_stable(self) -> bool {
        matches!(self, Self::PlanReady | Self::DraftReady | Self::ReadyForPr)
    }

    /// Returns the last boundary at or before this state, to which an interrupted run returns, or else the beginning.
    #[must_use]
    pub fn boundary(self) -> Self {
        let stable = Self::ALL.into_iter().rev().find(|state| state.is_stable() && *state <= self);
        stable.unwrap_or(Self::Created)
    }

    /// Returns `true` if the run got at least as far as `state`. A run that failed or was cancelled did not.
    #[must_use]
    pub fn has_reached(self, state: Self) -> bool {
        !matches!(self, Self::Failed | Self::Cancelled) && self >= state
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A step that moves a run to another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The scout has read the inputs.
    CloneInputs,
    /// The inputs may be analysed.
    Ingest,
    /// Facts and snippets are collected.
    CollectFacts,
    /// The plan is complete.
    Plan,
    /// The first draft was begun.
    BeginDrafts,
    /// The last draft is finished.
    EndDrafts,
    /// All patches are built.
    Link,
    /// The patched site was validated for the first time.
    Validate,
    /// The report is ok.
    AcceptReport,
    /// An issue was chosen to be fixed.
    BeginFix,
    /// The fix was validated.
    EndFix,
    /// The report asks for another plan.
    PlanAgain,
    /// A later report is not ok.
    RejectReport,
    /// The pull request was opened.
    OpenPr,
    /// The evidence is packed.
    Finish,
    /// The run cannot go on.
    Fail,
    /// The run was cancelled.
    Cancel,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The state before.
    pub from: RunState,
    /// The step.
    pub step: Step,
    /// The state afterwards.
    pub to: RunState,
}

const fn row(from: RunState, step: Step, to: RunState) -> Transition {
    Transition { from, step, to }
}

/// All transitions but those by [`Step::Fail`] and [`Step::Cancel`], which lead from every state that is not terminal to
/// [`RunState::Failed`] and [`RunState::Cancelled`].
pub const TRANSITIONS: &[Transition] = &[
    row(RunState::Created, Step::CloneInputs, RunState::ClonedInputs),
    row(RunState::ClonedInputs, Step::Ingest, RunState::Ingested),
    row(RunState::Ingested, Step::CollectFacts, RunState::FactsReady),
    row(RunState::FactsReady, Step::Plan, RunState::PlanReady),
    row(RunState::PlanReady, Step::BeginDrafts, RunState::Drafting),
    row(RunState::Drafting, Step::EndDrafts, RunState::DraftReady),
    row(RunState::DraftReady, Step::Link, RunState::Linking),
    row(RunState::Linking, Step::Validate, RunState::Validating),
    row(RunState::Validating, Step::AcceptReport, RunState::ReadyForPr),
    row(RunState::Validating, Step::BeginFix, RunState::Fixing),
    row(RunState::Fixing, Step::EndFix, RunState::Validating),
    row(RunState::Validating, Step::PlanAgain, RunState::FactsReady),
    row(RunState::ReadyForPr, Step::RejectReport, RunState::Validating),
    row(RunState::ReadyForPr, Step::OpenPr, RunState::PrOpened),
    row(RunState::PrOpened, Step::Finish, RunState::Done),
];

/// A step that does not exist from a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IllegalStep {
    /// The state.
    pub from: RunState,
    /// The step.
    pub step: Step,
}

impl fmt::Display for IllegalStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no step {:?} from {}", self.step, self.from)
    }
}

impl std::error::Error for IllegalStep {}

/// The state that follows.
///
/// # Errors
/// [`IllegalStep`] if the table has no such transition.
pub fn step(from: RunState, step: Step) -> Result<RunState, IllegalStep> {
    match step {
        Step::Fail if !from.is_terminal() => Ok(RunState::Failed),
        Step::Cancel if !from.is_terminal() => Ok(RunState::Cancelled),
        _ => TRANSITIONS
            .iter()
            .find(|row| row.from == from && row.step == step)
            .map(|row| row.to)
            .ok_or(IllegalStep { from, step }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    const STEPS: [Step; 17] = [
        Step::CloneInputs,
        Step::Ingest,
        Step::CollectFacts,
        Step::Plan,
        Step::BeginDrafts,
        Step::EndDrafts,
        Step::Link,
        Step::Validate,
        Step::AcceptReport,
        Step::BeginFix,
        Step::EndFix,
        Step::PlanAgain,
        Step::RejectReport,
        Step::OpenPr,
        Step::Finish,
        Step::Fail,
        Step::Cancel,
    ];

    /// All states that some steps lead to from `from`.
    fn reachable(from: RunState) -> BTreeSet<RunState> {
        let mut found = BTreeSet::from([from]);
        loop {
            let next: BTreeSet<RunState> = found
                .iter()
                .flat_map(|state| STEPS.map(|taken| step(*state, taken)).into_iter().flatten())
                .chain(found.iter().copied())
                .collect();
            if next == found {
                return found;
            }
            found = next;
        }
    }

    #[test]
    fn every_state_that_is_not_terminal_can_be_done_fail_and_be_cancelled() {
        for state in RunState::ALL {
            let reached = reachable(state);
            if state.is_terminal() {
                assert_eq!(reached, BTreeSet::from([state]));
            } else {
                for end in [RunState::Done, RunState::Failed, RunState::Cancelled] {
                    assert!(reached.contains(&end), "{state} never ends in {end}");
                }
            }
        }
        assert_eq!(reachable(RunState::Created).len(), RunState::ALL.len(), "a state is never reached");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for state in RunState::ALL {
            assert_eq!(RunState::parse(state.as_str()), Some(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert_eq!(RunState::parse("created"), None);
    }

    #[test]
    fn an_interrupted_run_returns_to_the_boundary_before() {
        assert_eq!(RunState::FactsReady.boundary(), RunState::Created);
        assert_eq!(RunState::Drafting.boundary(), RunState::PlanReady);
        assert_eq!(RunState::Fixing.boundary(), RunState::DraftReady);
        assert_eq!(RunState::ReadyForPr.boundary(), RunState::ReadyForPr);
    }

    #[test]
    fn a_run_that_failed_has_reached_nothing() {
        assert!(RunState::Done.has_reached(RunState::Linking));
        assert!(!RunState::Failed.has_reached(RunState::Created));
        assert!(!RunState::DraftReady.has_reached(RunState::Linking));
    }

    proptest! {
        /// No sequence of steps leaves a terminal state, and each change is a row of the table.
        #[test]
        fn a_walk_only_uses_rows_of_the_table(tried in prop::collection::vec(prop::sample::select(STEPS.to_vec()), 0..200)) {
            let mut state = RunState::Created;
            for taken in tried {
                let Ok(next) = step(state, taken) else { continue };
                prop_assert!(!state.is_terminal());
                let in_table = TRANSITIONS.contains(&row(state, taken, next));
                let ends = matches!((taken, next), (Step::Fail, RunState::Failed) | (Step::Cancel, RunState::Cancelled));
                prop_assert!(in_table || ends, "{state} -> {next}");
                state = next;
            }
        }
    }
}
