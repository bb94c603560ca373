//! A plan: the changes of each file, computed before any is made. `--print` shows it, `apply` carries it out.

use std::path::{Path, PathBuf};

use serde::Serialize;
use similar::TextDiff;

use super::detect::Machine;
use super::edit::{Edit, Spot, Wanted, Written};
use super::edit_record::{EditRecord, Entry, Purpose};
use super::files::{self, FileState};
use super::mask::Mask;
use crate::cli::clients::{AGENT_INSTRUCTIONS, Client, Form, Instructions};

/// Longest line of a diff: some programs write their configuration on one line.
const DIFF_LINE_CHARS_MAX: usize = 160;
/// Maximum number of lines in a diff.
const DIFF_LINES_MAX: usize = 120;

/// Whose files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scope {
    /// The user's own, for every project
    User,
    /// Those of the repository around the current folder, for everybody who works on it
    Project,
}

/// A text to be written to or removed from a file.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) agents: Vec<String>,
    pub(super) purpose: Purpose,
    pub(super) file: PathBuf,
    pub(super) spot: Spot,
    pub(super) project: Option<PathBuf>,
    pub(super) action: Action,
}

/// The action of a task.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// Writes the wanted text; replaces another author's text only with `force`.
    Install { wanted: Wanted, force: bool },
    /// Removes the text, or only forgets the task's agents if others need it.
    Uninstall { written: Written, needed_by: Vec<String> },
}

/// The change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    Create,
    Modify,
    Delete,
    Unchanged,
    Refused,
}

/// A task together with its effect.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) task: Task,
    pub(super) change: Change,
    /// The reason why the user has to edit the file, or a remark on an unchanged file.
    pub(super) note: Option<String>,
    pub(super) before: Option<FileState>,
    pub(super) after: Option<String>,
    pub(super) written: Option<Written>,
}

impl Step {
    /// Returns `true` if the step changes a file.
    pub(super) fn writes(&self) -> bool {
        matches!(self.change, Change::Create | Change::Modify | Change::Delete)
    }

    /// Returns the change as a unified diff, with little context and without values, because they may be tokens.
    pub(super) fn diff(&self) -> String {
        if !self.writes() {
            return String::new();
        }
        let old = self.before.as_ref().and_then(|before| before.text.as_deref()).unwrap_or_default();
        let new = self.after.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(old, new).unified_diff().context_radius(1).to_string();
        let ours = self.ours();
        let mask = Mask::new(old, new, &ours);
        let mut shown = String::new();
        for (number, line) in diff.lines().enumerate() {
            if number == DIFF_LINES_MAX {
                shown.push_str("…\n");
                break;
            }
            let line = mask.line(line);
            let mut chars = line.chars();
            shown.extend(chars.by_ref().take(DIFF_LINE_CHARS_MAX));
            shown.push_str(if chars.next().is_some() { "…\n" } else { "\n" });
        }
        shown
    }

    /// Returns the text that may be shown because it is ours.
    fn ours(&self) -> String {
        match (&self.task.action, &self.task.spot) {
            (Action::Install { wanted, .. }, spot) => spot.paste(wanted),
            (Action::Uninstall { .. }, Spot::Entry { .. }) => String::new(),
            (Action::Uninstall { .. }, Spot::Section | Spot::File) => AGENT_INSTRUCTIONS.to_owned(),
        }
    }

    /// Returns the text to paste by hand, if the user has to edit the file.
    pub(super) fn paste(&self) -> Option<String> {
        match (&self.task.action, self.change) {
            (Action::Install { wanted, .. }, Change::Refused) => Some(self.task.spot.paste(wanted)),
            _ => None,
        }
    }
}

/// Returns the entry with which an agent starts the server.
pub(super) type EntryOf<'a> = &'a dyn Fn(&Client) -> Option<serde_json::Value>;

/// Returns the tasks that install the server into agents.
pub(super) fn install_tasks(
    machine: &Machine,
    agents: &[&'static Client],
    scope: Scope,
    force: bool,
    entry_of: EntryOf<'_>,
) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for client in agents {
        let Some(install) = &client.install else { continue };
        let (files, instructions, project) = match scope {
            Scope::User => (install.files, install.instructions, None),
            Scope::Project => {
                (install.project_files, install.project_instructions, Some(machine.project().to_owned()))
            }
        };
        let task = |purpose, file, spot, wanted| Task {
            agents: vec![client.id.to_owned()],
            purpose,
            file,
            spot,
            project: project.clone(),
            action: Action::Install { wanted, force },
        };
        if let (Some(file), Some(entry)) = (machine.existing_or_first(files), entry_of(client)) {
            let section = client.section.iter().map(|key| (*key).to_owned()).collect();
            let spot = Spot::Entry { format: client.file_format(), section, list: client.list };
            tasks.push(task(Purpose::Server, file, spot, Wanted::Entry(entry)));
        }
        for Instructions { file, form } in instructions {
            let (spot, text) = match form {
                Form::Section => (Spot::Section, AGENT_INSTRUCTIONS.to_owned()),
                Form::File(start) => (Spot::File, format!("{start}{AGENT_INSTRUCTIONS}")),
            };
            tasks.push(task(Purpose::Instructions, machine.path(file), spot, Wanted::Text(text)));
        }
    }
    merge(tasks)
}

/// Merges the tasks of several agents that share a file, by its name or through links.
fn merge(tasks: Vec<Task>) -> Vec<Task> {
    let mut merged: Vec<(PathBuf, Task)> = Vec::new();
    for task in tasks {
        // A file that does not exist yet has no links to resolve.
        let target = task.file.canonicalize().unwrap_or_else(|_| task.file.clone());
        let same = merged.iter_mut().find(|(other, earlier)| {
            *other == target && earlier.spot == task.spot && pasted(earlier) == pasted(&task)
        });
        match same {
            Some((_, earlier)) => earlier.agents.extend(task.agents),
            None => merged.push((target, task)),
        }
    }
    merged.into_iter().map(|(_, task)| task).collect()
}

fn pasted(task: &Task) -> Option<String> {
    match &task.action {
        Action::Install { wanted, .. } => Some(task.spot.paste(wanted)),
        Action::Uninstall { .. } => None,
    }
}

/// Returns the tasks that remove everything that is recorded, or only what some agents use.
pub(super) fn uninstall_tasks(
    edit_record: &EditRecord,
    agents: &[&Client],
    project: Option<Option<&Path>>,
) -> Vec<Task> {
    let wanted = |agent: &String| agents.is_empty() || agents.iter().any(|client| client.id == agent);
    let entries = edit_record.entries.iter().filter(|entry| {
        project.is_none_or(|project| entry.project.as_deref() == project) && entry.agents.iter().any(wanted)
    });
    // In reverse order: the first texts that were written created the folders of the later ones.
    entries
        .rev()
        .map(|entry| {
            let (removed, needed_by) = entry.agents.iter().cloned().partition(wanted);
            Task {
                agents: removed,
                purpose: entry.purpose,
                file: entry.file.clone(),
                spot: entry.spot.clone(),
                project: entry.project.clone(),
                action: Action::Uninstall { written: entry.written.clone(), needed_by },
            }
        })
        .collect()
}

/// Reads the task's file and computes the effect of the task.
pub(super) fn plan(task: Task, edit_record: &EditRecord) -> Step {
    let step = |task, change, note| Step { task, change, note, before: None, after: None, written: None };
    if let Action::Uninstall { needed_by, .. } = &task.action
        && !needed_by.is_empty()
    {
        let note = Some(format!("{} uses it, too", needed_by.join(", ")));
        return step(task, Change::Unchanged, note);
    }
    if matches!(task.action, Action::Uninstall { .. }) && !task.file.exists() {
        return step(task, Change::Unchanged, Some("already gone".to_owned()));
    }
    let before = match files::read(&task.file, task.project.as_deref()) {
        Ok(before) => before,
        Err(why) => return step(task, Change::Refused, Some(why)),
    };
    let text = before.text.as_deref();
    let recorded: Option<&Entry> = edit_record.find(&before.target, &task.spot);
    let (edit, unchanged) = match &task.action {
        Action::Install { wanted, force } => {
            let edit = task.spot.install(text, wanted, recorded.map(|entry| &entry.written), *force);
            let note = match recorded {
                Some(_) => "already installed",
                None => "already there, not written by this program: `uninstall` leaves it",
            };
            (edit, note)
        }
        Action::Uninstall { written, .. } => (task.spot.uninstall(text, written), "already gone"),
    };
    let existed = before.text.is_some();
    let mut planned = match edit {
        Edit::Unchanged => step(task, Change::Unchanged, Some(unchanged.to_owned())),
        Edit::Refused(why) => step(task, Change::Refused, Some(why)),
        Edit::Changed(after, written) => {
            let change = match (existed, &after) {
                (_, None) => Change::Delete,
                (false, Some(_)) => Change::Create,
                (true, Some(_)) => Change::Modify,
            };
            Step { after, written: Some(written), ..step(task, change, None) }
        }
    };
    planned.before = Some(before);
    planned
}
