//! The answer of a job to the call that waits for it. A refusal is an answer, too: the job did what it could, and the queue must not retry
//! it.

use contract::{ErrorCode, Fault};
use engine::jobs::{fault_from_json, fault_to_json};
use launch::event::Failure;
use launch::report::ValidationReport;
use launch::state::RunState;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobAnswer {
    /// The state of the run afterwards.
    pub state: RunState,
    /// The reason why the job did not do what was asked: a fault as it is stored with jobs.
    #[serde(default)]
    pub(super) refused: Option<Value>,
    /// The issue that was fixed.
    #[serde(default)]
    pub fixed_issue_id: Option<String>,
    /// The patches that fixed it.
    #[serde(default)]
    pub applied_patch_ids: Vec<String>,
    /// The report of a run that is only checked again.
    #[serde(default)]
    pub report: Option<ValidationReport>,
}

impl JobAnswer {
    /// The answer of a job that did what was asked.
    pub(super) fn new(state: RunState) -> Self {
        Self { state, refused: None, fixed_issue_id: None, applied_patch_ids: Vec::new(), report: None }
    }

    /// The answer of a job that did not do what was asked.
    pub(super) fn refused(state: RunState, fault: &Fault) -> Self {
        Self { refused: Some(fault_to_json(fault)), ..Self::new(state) }
    }

    /// Returns the answer, or the reason why the job did not do what was asked.
    ///
    /// # Errors
    /// The fault of the job.
    pub fn into_result(self) -> Result<Self, Fault> {
        match self.refused.as_ref().map(fault_from_json) {
            None => Ok(self),
            Some(fault) => Err(fault),
        }
    }

    /// Returns whether a refused request may succeed later; `None` if the job did what was asked.
    pub(super) fn refusal_is_retryable(&self) -> Option<bool> {
        self.refused.as_ref().map(|refused| fault_from_json(refused).retryable)
    }

    /// Returns the reason why the job did not do what was asked, for the log.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.refused.as_ref().and_then(|refused| refused["message"].as_str())
    }
}

/// The reason why a job stops before it has done what was asked.
#[derive(Debug)]
pub(super) enum Stop {
    /// It answers this fault; the run is as it should be.
    Answer(Fault),
    /// It fails, or is tried again.
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        // A run that was cancelled meanwhile has ended as it should.
        if fault.code == ErrorCode::Cancelled { Self::Answer(fault) } else { Self::Fault(fault) }
    }
}

/// Code of the failure of a run whose stored state contradicts its log.
const DAMAGED: &str = "EVENT_CHAIN_BROKEN";

/// Returns the failure of a run whose stored state contradicts its log. The problem completes the sentence.
pub(super) fn damage(problem: &str) -> Failure {
    Failure::new(DAMAGED, format!("The log of the run is damaged: {problem}."))
}

/// Returns the fault of reading something that contradicts the log of its run. The job makes the run fail with it.
pub(super) fn damaged(problem: &str) -> Fault {
    let Failure { code, message, .. } = damage(problem);
    Fault::internal(message, "the hash of what is stored is not the one in the log")
        .with_details(serde_json::json!({ "cause_class": code }))
}

/// The failure that a fault of [`damaged`] means for its run.
pub(super) fn damage_of(fault: &Fault) -> Option<Failure> {
    let cause = fault.details.as_ref().and_then(|details| details["cause_class"].as_str());
    (cause == Some(DAMAGED)).then(|| Failure::new(DAMAGED, fault.message.clone()))
}

/// The fault that a call answers for the failure of its run: `INTERNAL` for a code of a worker.
pub(super) fn fault_of(failure: &Failure) -> Fault {
    let code = ErrorCode::parse(&failure.code).unwrap_or(ErrorCode::Internal);
    let fault = Fault::new(code, failure.message.clone());
    let details = failure.details.clone();
    let details = match fault.code {
        ErrorCode::Internal => Some(serde_json::json!({ "cause_class": failure.code, "details": details })),
        _ => details,
    };
    Fault { details, retryable: false, ..fault }.with_hint(
        "The run has failed; `launch_get_status` shows why, and `reports/failure_summary.md` has the rest.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_survives_the_queue() {
        let fault =
            Fault::new(ErrorCode::FixExhausted, "m").with_hint("h").with_details(json!({ "reason": "x" }));
        let stored = serde_json::to_value(JobAnswer::refused(RunState::Failed, &fault)).unwrap();
        let read: JobAnswer = serde_json::from_value(stored).unwrap();
        assert_eq!(read.refusal(), Some("m"));
        let back = read.into_result().unwrap_err();
        assert_eq!(
            (back.code, back.message, back.hint, back.retryable),
            (fault.code, fault.message, fault.hint, false)
        );
        assert_eq!(back.details, Some(json!({ "reason": "x" })));
        assert!(JobAnswer::new(RunState::Done).into_result().is_ok());
    }

    #[test]
    fn damage_survives_as_the_failure_of_its_run() {
        let failure = damage_of(&damaged("an artifact was changed")).unwrap();
        assert_eq!(failure, damage("an artifact was changed"));
        assert_eq!(fault_of(&failure).details.unwrap()["cause_class"], "EVENT_CHAIN_BROKEN");
        assert_eq!(damage_of(&Fault::internal("m", "cause")), None);
    }

    #[test]
    fn a_failure_is_answered_with_a_code_of_the_table() {
        assert_eq!(fault_of(&Failure::new("FIX_EXHAUSTED", "m")).code, ErrorCode::FixExhausted);
        let internal = fault_of(&Failure::new("URL_COLLISION", "m"));
        assert_eq!((internal.code, internal.retryable), (ErrorCode::Internal, false));
        assert_eq!(internal.details.unwrap()["cause_class"], "URL_COLLISION");
    }
}
