//! Carries out a plan. The record is written before the file, so that a killed process leaves nothing that it does not know of.

use std::fs;
use std::path::PathBuf;

use super::files::{self, WriteError};
use super::plan::{Action, Change, Step, plan};
use super::receipt::{Entry, Receipt};

/// A step after it was carried out: a refusal if it could not be.
pub(super) struct Applied {
    pub(super) step: Step,
    /// The copy of what the file held before.
    pub(super) backup: Option<PathBuf>,
}

/// Carries out one step. If the file has changed since the plan, plans again, once: the program whose file it is may be running.
pub(super) fn apply(step: Step, receipt: &mut Receipt) -> Applied {
    match try_apply(&step, receipt) {
        Err(WriteError::Changed) => {}
        outcome => return applied(step, outcome),
    }
    let again = plan(step.task, receipt);
    let outcome = try_apply(&again, receipt);
    applied(again, outcome)
}

fn applied(mut step: Step, outcome: Result<Option<PathBuf>, WriteError>) -> Applied {
    let refused = match outcome {
        Ok(backup) => return Applied { step, backup },
        Err(WriteError::Changed) => {
            "another program keeps changing it; close the agent and run the command again".to_owned()
        }
        Err(WriteError::Failed(why)) => why,
    };
    (step.change, step.note) = (Change::Refused, Some(refused));
    Applied { step, backup: None }
}

fn try_apply(step: &Step, receipt: &mut Receipt) -> Result<Option<PathBuf>, WriteError> {
    if !step.writes() {
        return keep_record(step, receipt).map(|()| None);
    }
    let failed = |error: std::io::Error| WriteError::Failed(format!("the record cannot be written: {error}"));
    let (Some(before), Some(written)) = (&step.before, &step.written) else { return Ok(None) };
    let (target, spot) = (&before.target, &step.task.spot);
    let earlier = receipt.find(target, spot).cloned();
    let created_folders = match &earlier {
        Some(earlier) => earlier.created_folders.clone(),
        None => files::missing_folders(target),
    };
    let task = &step.task;
    let mut entry = Entry {
        agents: with_agents(earlier.as_ref(), &task.agents),
        purpose: task.purpose,
        file: task.file.clone(),
        target: target.clone(),
        spot: spot.clone(),
        project: task.project.clone(),
        created_folders,
        written: written.clone(),
    };
    let backup = files::back_up(receipt.folder(), before)
        .map_err(|error| WriteError::Failed(format!("its backup cannot be written: {error}")))?;
    let installs = matches!(task.action, Action::Install { .. });
    if installs {
        // Until the file is written, both the old and the new text are ours.
        let old = earlier.iter().flat_map(|earlier| earlier.written.hashes.iter().cloned());
        entry.written.hashes.extend(old);
        receipt.record(target, spot, Some(entry.clone())).map_err(failed)?;
    }
    if let Err(error) = files::write(before, step.after.as_deref()) {
        if installs {
            receipt.record(target, spot, earlier).map_err(failed)?;
        }
        return Err(error);
    }
    entry.written.hashes.truncate(1);
    receipt.record(target, spot, installs.then(|| entry.clone())).map_err(failed)?;
    if step.change == Change::Delete {
        remove_folders(entry.created_folders, receipt).map_err(failed)?;
    }
    Ok(backup)
}

/// Removes the folders that were created for a file. One in which we have written another file goes with that.
fn remove_folders(mut created: Vec<PathBuf>, receipt: &mut Receipt) -> std::io::Result<()> {
    while let Some(folder) = created.last() {
        // Fails if there is something in it.
        if fs::remove_dir(folder).is_err() {
            break;
        }
        created.pop();
    }
    let Some(innermost) = created.last() else { return Ok(()) };
    let heir = receipt.entries.iter().find(|entry| entry.target.starts_with(innermost)).cloned();
    let Some(mut heir) = heir else { return Ok(()) };
    heir.created_folders.splice(0..0, created);
    let (target, spot) = (heir.target.clone(), heir.spot.clone());
    receipt.record(&target, &spot, Some(heir))
}

/// Records who uses a text that stays, and forgets a text that is gone.
fn keep_record(step: &Step, receipt: &mut Receipt) -> Result<(), WriteError> {
    if step.change != Change::Unchanged {
        return Ok(());
    }
    let failed = |error: std::io::Error| WriteError::Failed(format!("the record cannot be written: {error}"));
    let task = &step.task;
    let recorded = match &step.before {
        Some(before) => receipt.find(&before.target, &task.spot).cloned(),
        None => {
            receipt.entries.iter().find(|entry| entry.file == task.file && entry.spot == task.spot).cloned()
        }
    };
    let Some(mut entry) = recorded else { return Ok(()) };
    let kept = match &task.action {
        Action::Install { .. } => {
            let agents = with_agents(Some(&entry), &task.agents);
            if agents == entry.agents {
                return Ok(());
            }
            entry.agents = agents;
            Some(entry.clone())
        }
        Action::Uninstall { needed_by, .. } => {
            entry.agents.clone_from(needed_by);
            (!needed_by.is_empty()).then(|| entry.clone())
        }
    };
    receipt.record(&entry.target, &entry.spot, kept).map_err(failed)
}

fn with_agents(earlier: Option<&Entry>, agents: &[String]) -> Vec<String> {
    let mut all = earlier.map(|earlier| earlier.agents.clone()).unwrap_or_default();
    all.extend(agents.iter().filter(|agent| !all.contains(agent)).cloned().collect::<Vec<_>>());
    all
}
