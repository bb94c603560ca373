//! Carries out a plan. The record is written before the file, so that a killed process leaves nothing behind that is not recorded.

use std::fs;
use std::path::PathBuf;

use super::edit_record::{EditRecord, Entry};
use super::files::{self, WriteError};
use super::plan::{Action, Change, Step, plan};

/// A step that was carried out, or a refusal if it could not be.
pub(super) struct Applied {
    pub(super) step: Step,
    /// The copy of the previous contents of the file.
    pub(super) backup: Option<PathBuf>,
}

/// Carries out one step. If the file has changed since the plan, plans once more, because the program that owns the file may be running.
pub(super) fn apply(step: Step, edit_record: &mut EditRecord) -> Applied {
    match try_apply(&step, edit_record) {
        Err(WriteError::Changed) => {}
        outcome => return applied(step, outcome),
    }
    let again = plan(step.task, edit_record);
    let outcome = try_apply(&again, edit_record);
    applied(again, outcome)
}

fn applied(mut step: Step, outcome: Result<Done, WriteError>) -> Applied {
    let refused = match outcome {
        Ok(Done { backup, note }) => {
            step.note = note.or(step.note);
            return Applied { step, backup };
        }
        Err(WriteError::Changed) => {
            "another program keeps changing it; close the agent and run the command again".to_owned()
        }
        Err(WriteError::Failed(why)) => why,
    };
    (step.change, step.note) = (Change::Refused, Some(refused));
    Applied { step, backup: None }
}

/// The outcome of a step whose file is now as planned.
#[derive(Default)]
struct Done {
    backup: Option<PathBuf>,
    /// A problem that occurred after the file was written.
    note: Option<String>,
}

fn try_apply(step: &Step, edit_record: &mut EditRecord) -> Result<Done, WriteError> {
    if !step.writes() {
        return keep_record(step, edit_record).map(|()| Done::default());
    }
    let failed = |error: std::io::Error| WriteError::Failed(format!("the record cannot be written: {error}"));
    let (Some(before), Some(written)) = (&step.before, &step.written) else { return Ok(Done::default()) };
    let (target, spot) = (&before.target, &step.task.spot);
    let earlier = edit_record.find(target, spot).cloned();
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
    let backup = files::back_up(edit_record.folder(), before)
        .map_err(|error| WriteError::Failed(format!("its backup cannot be written: {error}")))?;
    let installs = matches!(task.action, Action::Install { .. });
    if installs {
        // Until the file is written, both the old and the new text are ours.
        let old = earlier.iter().flat_map(|earlier| earlier.written.hashes.iter().cloned());
        entry.written.hashes.extend(old);
        edit_record.record(target, spot, Some(entry.clone())).map_err(failed)?;
    }
    if let Err(error) = files::write(before, step.after.as_deref()) {
        if installs {
            // If this fails, the record lists a text that is in no file; `uninstall` forgets it.
            let _ = edit_record.record(target, spot, earlier);
        }
        return Err(error);
    }
    // The file no longer holds the old text.
    entry.written.hashes.truncate(1);
    let confirmed = edit_record.record(target, spot, installs.then(|| entry.clone())).and_then(|()| {
        if step.change == Change::Delete {
            remove_folders(entry.created_folders, edit_record)
        } else {
            Ok(())
        }
    });
    // By now the file has changed; if this fails, the record still holds the text.
    let note = confirmed
        .err()
        .map(|error| format!("its record cannot be completed: {error}; run the command again"));
    Ok(Done { backup, note })
}

/// Removes the folders that were created for a file. A folder that holds another of our files is recorded with that file instead.
fn remove_folders(mut created: Vec<PathBuf>, edit_record: &mut EditRecord) -> std::io::Result<()> {
    while let Some(folder) = created.last() {
        // Fails if the folder is not empty.
        if fs::remove_dir(folder).is_err() {
            break;
        }
        created.pop();
    }
    let Some(innermost) = created.last() else { return Ok(()) };
    let heir = edit_record.entries.iter().find(|entry| entry.target.starts_with(innermost)).cloned();
    let Some(mut heir) = heir else { return Ok(()) };
    heir.created_folders.splice(0..0, created);
    let (target, spot) = (heir.target.clone(), heir.spot.clone());
    edit_record.record(&target, &spot, Some(heir))
}

/// Records which agents use a text that stays, and forgets a text that is gone.
fn keep_record(step: &Step, edit_record: &mut EditRecord) -> Result<(), WriteError> {
    if step.change != Change::Unchanged {
        return Ok(());
    }
    let failed = |error: std::io::Error| WriteError::Failed(format!("the record cannot be written: {error}"));
    let task = &step.task;
    let recorded = match &step.before {
        Some(before) => edit_record.find(&before.target, &task.spot).cloned(),
        None => edit_record
            .entries
            .iter()
            .find(|entry| entry.file == task.file && entry.spot == task.spot)
            .cloned(),
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
    edit_record.record(&entry.target, &entry.spot, kept).map_err(failed)
}

fn with_agents(earlier: Option<&Entry>, agents: &[String]) -> Vec<String> {
    let mut all = earlier.map(|earlier| earlier.agents.clone()).unwrap_or_default();
    all.extend(agents.iter().filter(|agent| !all.contains(agent)).cloned().collect::<Vec<_>>());
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::edit::{Spot, Wanted};
    use super::super::edit_record::Purpose;
    use super::super::plan::Task;
    use super::*;

    fn task(file: &Path, action: Action) -> Task {
        let (agents, purpose) = (vec!["cursor".to_owned()], Purpose::Instructions);
        Task { agents, purpose, file: file.to_owned(), spot: Spot::Section, project: None, action }
    }

    fn install(file: &Path) -> Task {
        task(file, Action::Install { wanted: Wanted::Text("Ours.".to_owned()), force: false })
    }

    /// Makes every later write of the record fail.
    fn break_record(edit_record: &EditRecord) {
        let record = edit_record.folder().join("installed.json");
        let _ = fs::remove_file(&record);
        fs::create_dir_all(record.join("in the way")).unwrap();
    }

    #[test]
    fn a_file_is_called_unchanged_only_if_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("AGENTS.md");
        fs::write(&file, "mine\n").unwrap();
        let mut edit_record = EditRecord::open(&folder.path().join("agents")).unwrap();
        let installed = apply(plan(install(&file), &edit_record), &mut edit_record);
        assert!(installed.step.change == Change::Modify && installed.step.note.is_none());
        let written = edit_record.entries[0].written.clone();
        break_record(&edit_record);
        let removed = apply(
            plan(task(&file, Action::Uninstall { written, needed_by: Vec::new() }), &edit_record),
            &mut edit_record,
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
        assert_eq!(removed.step.change, Change::Modify, "{:?}", removed.step.note);
        assert!(removed.step.note.unwrap().contains("record cannot be completed"));

        // Nothing is written unless it was recorded first.
        let other = folder.path().join("other.md");
        let before = edit_record.entries.clone();
        let refused = apply(plan(install(&other), &edit_record), &mut edit_record);
        assert_eq!(refused.step.change, Change::Refused);
        assert!(!other.exists() && edit_record.entries == before, "{:?}", edit_record.entries);
    }
}
