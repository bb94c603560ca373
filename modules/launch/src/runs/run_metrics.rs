//! Metrics of launch runs: how many there are in each state, how work items ended, which gates failed.

use std::collections::BTreeMap;

use contract::{Fault, ProjectId};
use launch::gate::GATES;
use launch::report::{GateStatus, ValidationReport};
use launch::state::RunState;
use platform::telemetry::Metrics;
use store::launch::runs;
use store::postgres::LAUNCH;
use store::{Access, ProjectTx, Store};

use super::pinned;

/// Replaces the names of gates that operators define, because labels come from fixed lists.
const OTHER_GATE: &str = "other";

/// The gates of a report that failed, as labels.
pub(super) fn failed_gates(report: Option<&ValidationReport>) -> Vec<&'static str> {
    let outcomes = report.map(|report| report.gates.as_slice()).unwrap_or_default();
    outcomes.iter().filter(|gate| gate.status == GateStatus::Failed).map(|gate| label(&gate.gate)).collect()
}

fn label(gate: &str) -> &'static str {
    let mut known = GATES.iter().map(|known| known.name).chain([pinned::GATE]);
    known.find(|known| *known == gate).unwrap_or(OTHER_GATE)
}

/// Records an item that was finished, and the gates that failed in it.
pub(super) fn record_finished(metrics: &Metrics, worker: &'static str, failed_gates: Vec<&'static str>) {
    metrics.record_launch_item(worker, "finished");
    for gate in failed_gates {
        metrics.record_gate_failure(gate);
    }
}

/// Counts the runs of these projects by their state. A project that cannot be read now counts as one without runs.
pub(super) async fn count_runs(metrics: &Metrics, store: &Store, projects: &[String]) {
    let mut counts: BTreeMap<RunState, i64> = RunState::ALL.into_iter().map(|state| (state, 0)).collect();
    for id in projects {
        match counts_of(store, id).await {
            Ok(found) => {
                for (state, count) in found {
                    *counts.entry(state).or_default() += count;
                }
            }
            Err(fault) => {
                tracing::debug!(project = id, "the launch runs of a project could not be counted: {fault}");
            }
        }
    }
    metrics.set_launch_runs(counts.into_iter().map(|(state, count)| (state.as_str(), count)));
}

async fn counts_of(store: &Store, id: &str) -> Result<Vec<(RunState, i64)>, Fault> {
    let id = ProjectId::parse(id)?;
    let Some(project) = tenancy::open(store, &id, store::DecidedBy::Argument).await? else {
        return Ok(Vec::new());
    };
    if !store::has_module(store, &project, &LAUNCH).await? {
        return Ok(Vec::new());
    }
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let counts = runs::count_by_state(&mut tx).await?;
    tx.commit().await?;
    Ok(counts.into_iter().filter_map(|(state, count)| Some((RunState::parse(&state)?, count))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::report::{GateOutcome, Profile};

    #[test]
    fn only_gates_of_the_program_are_labels() {
        let outcome =
            |gate: &str, status| GateOutcome { gate: gate.to_owned(), status, reason: None, issues: 0 };
        let gates = vec![
            outcome("secrets", GateStatus::Failed),
            outcome("schema", GateStatus::Passed),
            outcome("pinned_commit", GateStatus::Failed),
            outcome("check:spelling", GateStatus::Failed),
        ];
        let report = ValidationReport::new(Profile::Local, gates, Vec::new());
        assert_eq!(failed_gates(Some(&report)), ["secrets", "pinned_commit", OTHER_GATE]);
        assert_eq!(failed_gates(None), [""; 0]);
    }
}
