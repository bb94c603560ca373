//! Output of `install` and `uninstall`: the plan with its diffs, and the result.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::apply::Applied;
use super::detect::Machine;
use super::edit_record::Purpose;
use super::plan::{Change, Step};
use crate::cli::clients::{AGENT_INSTRUCTIONS, Client};
use crate::cli::output::{BAD, BOLD, DIM, GOOD, NOTE, PATH, styled};
use contract::{escaped, escaped_line};

/// The result that `--json` prints.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    action: &'static str,
    /// `true` if the changes were made.
    applied: bool,
    agents: Vec<&'static str>,
    files: Vec<FileReport>,
    /// Remarks that do not concern a single file, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct FileReport {
    agents: Vec<String>,
    purpose: Purpose,
    file: PathBuf,
    #[serde(skip)]
    shown: String,
    change: Change,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    /// The text to paste into the file by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    paste: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<PathBuf>,
}

impl Report {
    pub(super) fn new(action: &'static str, agents: &[&'static Client]) -> Self {
        Self {
            action,
            applied: false,
            agents: agents.iter().map(|client| client.id).collect(),
            files: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the report with notes added.
    pub(super) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Returns the report of the planned changes.
    pub(super) fn with_plan(&self, machine: &Machine, steps: &[Step]) -> Self {
        let files = steps.iter().map(|step| FileReport::new(machine, step, None)).collect();
        Self { files, ..self.clone() }
    }

    /// Returns the report of the changes that were made.
    pub(super) fn with_result(&self, machine: &Machine, applied: &[Applied]) -> Self {
        let files = applied.iter().map(|done| FileReport::new(machine, &done.step, done.backup.clone()));
        Self { files: files.collect(), applied: true, ..self.clone() }
    }

    /// Returns `true` if there is a file that the user has to edit.
    pub(super) fn is_refused(&self) -> bool {
        self.files.iter().any(|file| file.change == Change::Refused)
    }
}

impl FileReport {
    fn new(machine: &Machine, step: &Step, backup: Option<PathBuf>) -> Self {
        let task = &step.task;
        Self {
            agents: task.agents.clone(),
            purpose: task.purpose,
            file: task.file.clone(),
            shown: machine.display(&task.file),
            change: step.change,
            note: step.note.clone(),
            diff: step.diff(),
            paste: step.paste(),
            backup,
        }
    }

    /// Formats the title: `Claude Code, Codex: ~/.codex/AGENTS.md`.
    fn title(&self) -> String {
        let mut agents: Vec<&str> = Vec::new();
        for id in &self.agents {
            agents.push(Client::find(id).map_or(id, |client| client.name));
        }
        format!("{}: {}", styled(BOLD, &agents.join(", ")), styled(PATH, &escaped_line(&self.shown)))
    }

    /// Writes why the user has to edit the file, and the text to paste.
    fn write_refusal<'a>(&'a self, shown: &mut String, action: &str, earlier: &mut Earlier<'a>) {
        let note = escaped_line(self.note.as_deref().unwrap_or_default());
        let _ = writeln!(shown, "{} {}: not changed: {note}.", styled(BAD, "✗"), self.title());
        if let Some(paste) = &self.paste {
            if let Some(file) = shown_for(earlier, paste, &self.shown) {
                let file = escaped_line(file);
                let _ = writeln!(
                    shown,
                    "  To {action} it by hand, write into the file what is above for {file}."
                );
                return;
            }
            let _ = writeln!(shown, "  To {action} it by hand, write this into the file:\n");
            for line in escaped(paste).lines() {
                let _ = writeln!(shown, "    {line}");
            }
            shown.push('\n');
        }
    }

    fn write_difference<'a>(&'a self, shown: &mut String, earlier: &mut Earlier<'a>) {
        let mut diff = self.diff.clone();
        for sign in ['+', '-'] {
            let text: String =
                AGENT_INSTRUCTIONS.trim_end().lines().map(|line| format!("{sign}{line}\n")).collect();
            if diff.contains(&text)
                && let Some(file) = shown_for(earlier, &text, &self.shown)
            {
                let same = format!("… the same lines as above for {}\n", escaped_line(file));
                diff = diff.replacen(&text, &same, 1);
            }
        }
        for line in diff.lines().filter(|line| !line.starts_with("@@")) {
            let style = match line.chars().next() {
                Some('+') => GOOD,
                Some('-') => BAD,
                _ => DIM,
            };
            let _ = writeln!(shown, "    {}", styled(style, &escaped(line)));
        }
    }

    fn write_unchanged(&self, shown: &mut String) {
        let note = escaped_line(self.note.as_deref().unwrap_or_default());
        let _ = writeln!(shown, "{} {}: {}", styled(DIM, "="), self.title(), styled(DIM, &note));
    }
}

/// The texts that were already shown, each with its first file; each text is shown once.
type Earlier<'a> = HashMap<String, &'a str>;

/// Returns the file for which a text was shown earlier; otherwise records it as shown for `file`.
fn shown_for<'a>(earlier: &mut Earlier<'a>, text: &str, file: &'a str) -> Option<&'a str> {
    let first = earlier.get(text).copied();
    if first.is_none() {
        earlier.insert(text.to_owned(), file);
    }
    first
}

/// Formats the plan with its diffs.
pub(super) fn render_plan(report: &Report) -> String {
    let (mut shown, mut earlier) = (String::new(), Earlier::new());
    for file in &report.files {
        let verb = match file.change {
            Change::Create => "create",
            Change::Modify => "change",
            Change::Delete => "remove",
            // Reported once, with the result, unless there will be none.
            Change::Unchanged => {
                file.write_unchanged(&mut shown);
                continue;
            }
            Change::Refused => {
                file.write_refusal(&mut shown, report.action, &mut earlier);
                continue;
            }
        };
        let _ = writeln!(shown, "{} {} ({verb})", styled(NOTE, "~"), file.title());
        file.write_difference(&mut shown, &mut earlier);
    }
    if report.files.is_empty() {
        shown.push_str("Nothing is installed.\n");
    }
    shown
}

/// Formats what was done and what failed. Refusals that the plan already showed are not repeated.
pub(super) fn render_result(report: &Report, planned: &Report) -> String {
    let (mut shown, mut earlier) = (String::new(), Earlier::new());
    let mut written = 0;
    for (file, planned) in report.files.iter().zip(&planned.files) {
        let verb = match file.change {
            Change::Create => "created",
            Change::Modify => "changed",
            Change::Delete => "removed",
            Change::Unchanged => continue,
            Change::Refused if planned.change == Change::Refused => continue,
            Change::Refused => {
                file.write_refusal(&mut shown, report.action, &mut earlier);
                continue;
            }
        };
        written += 1;
        let backup = file.backup.as_ref().map(|backup| format!(" (backup: {})", backup.display()));
        let backup = styled(DIM, &escaped_line(&backup.unwrap_or_default()));
        let _ = writeln!(shown, "{} {}: {verb}{backup}", styled(GOOD, "✓"), file.title());
        if let Some(note) = &file.note {
            let _ = writeln!(shown, "  {} {}.", styled(NOTE, "but"), escaped_line(note));
        }
    }
    if written > 0 {
        shown.push_str("Restart the agents that are running: they read these files when they start.\n");
    }
    shown
}

/// Formats the remarks that do not concern a single file.
pub(super) fn render_notes(report: &Report) -> String {
    let notes = report.notes.iter();
    notes.map(|note| format!("{} {}\n", styled(NOTE, "note:"), escaped_line(note))).collect()
}
