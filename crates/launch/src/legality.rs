//! The tools that are legal in each state of a run.

use crate::state::RunState;

/// A tool that changes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunTool {
    /// `launch_validate`.
    Validate,
    /// `launch_fix_next`.
    FixNext,
    /// `launch_resume`.
    Resume,
    /// `launch_cancel`.
    Cancel,
    /// `launch_open_pr`.
    OpenPr,
}

/// The effect of a tool in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legality {
    /// It runs.
    Runs,
    /// It reports the existing result, and changes nothing.
    Repeats,
    /// It is refused, because the run was cancelled.
    Cancelled,
    /// It is refused; the text says when it is legal.
    Refused(&'static str),
}

impl RunTool {
    /// All of them, in the order in which they are proposed.
    pub const ALL: [Self; 5] = [Self::Resume, Self::Validate, Self::FixNext, Self::OpenPr, Self::Cancel];

    /// The tool's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validate => "launch_validate",
            Self::FixNext => "launch_fix_next",
            Self::Resume => "launch_resume",
            Self::Cancel => "launch_cancel",
            Self::OpenPr => "launch_open_pr",
        }
    }

    /// Returns the effect of the tool on a run in this state with this last report.
    #[must_use]
    pub fn in_state(self, state: RunState, report_ok: Option<bool>) -> Legality {
        use Legality::{Cancelled, Refused, Repeats, Runs};
        match (self, state) {
            (Self::Cancel, RunState::Cancelled) => Repeats,
            (_, RunState::Cancelled) => Cancelled,
            (Self::Cancel, RunState::Done | RunState::Failed) => Refused("a state that is not terminal"),
            (Self::Cancel, _) => Runs,
            (Self::Resume, _) if state.is_terminal() => Refused("a state that is not terminal"),
            (Self::Resume, _) => Runs,
            (Self::Validate, RunState::Linking | RunState::Validating | RunState::ReadyForPr) => Runs,
            (Self::Validate, RunState::PrOpened | RunState::Done) => Repeats,
            (Self::Validate, _) => Refused("LINKING, VALIDATING or READY_FOR_PR"),
            (Self::FixNext, RunState::Validating) if report_ok == Some(false) => Runs,
            (Self::FixNext, _) => Refused("VALIDATING with a report that is not ok"),
            (Self::OpenPr, RunState::ReadyForPr) if report_ok == Some(true) => Runs,
            (Self::OpenPr, RunState::PrOpened | RunState::Done) => Repeats,
            (Self::OpenPr, _) => Refused("READY_FOR_PR with a report that is ok"),
        }
    }
}

/// Returns the tools that would change something now. While a job holds the run, only cancelling does.
#[must_use]
pub fn legal_tools(state: RunState, report_ok: Option<bool>, is_held: bool) -> Vec<&'static str> {
    let runs = |tool: &RunTool| {
        tool.in_state(state, report_ok) == Legality::Runs && (!is_held || *tool == RunTool::Cancel)
    };
    RunTool::ALL.iter().filter(|tool| runs(tool)).map(|tool| tool.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_runs_where_the_table_says() {
        use RunState::{Done, Failed, Linking, PrOpened, ReadyForPr, Validating};
        let runs = |tool: RunTool, report_ok| -> Vec<RunState> {
            let all = RunState::ALL.into_iter();
            all.filter(|state| tool.in_state(*state, report_ok) == Legality::Runs).collect()
        };
        assert_eq!(runs(RunTool::Validate, None), [Linking, Validating, ReadyForPr]);
        assert_eq!(runs(RunTool::FixNext, Some(false)), [Validating]);
        assert_eq!(runs(RunTool::FixNext, Some(true)), []);
        assert_eq!(runs(RunTool::FixNext, None), []);
        assert_eq!(runs(RunTool::OpenPr, Some(true)), [ReadyForPr]);
        assert_eq!(runs(RunTool::OpenPr, Some(false)), []);
        for tool in [RunTool::Resume, RunTool::Cancel] {
            assert_eq!(runs(tool, None).len(), 12, "every state that is not terminal");
        }
        for state in [PrOpened, Done] {
            assert_eq!(RunTool::OpenPr.in_state(state, Some(true)), Legality::Repeats);
            assert_eq!(RunTool::Validate.in_state(state, Some(true)), Legality::Repeats);
        }
        assert!(matches!(RunTool::Cancel.in_state(Failed, None), Legality::Refused(_)));
    }

    #[test]
    fn a_cancelled_run_can_only_be_cancelled_again() {
        for tool in RunTool::ALL {
            let expected = if tool == RunTool::Cancel { Legality::Repeats } else { Legality::Cancelled };
            assert_eq!(tool.in_state(RunState::Cancelled, Some(true)), expected);
        }
    }

    #[test]
    fn what_is_legal_now_depends_on_who_holds_the_run() {
        let legal = |held| legal_tools(RunState::Validating, Some(false), held);
        assert_eq!(legal(false), ["launch_resume", "launch_validate", "launch_fix_next", "launch_cancel"]);
        assert_eq!(legal(true), ["launch_cancel"]);
        assert_eq!(legal_tools(RunState::Done, Some(true), false), [""; 0]);
    }
}
