//! `export-agents`: writes the catalog in the formats that agents read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use serde::Serialize;

use super::agent_files::find_agent_files;
use super::folder::canonical_folder;
use super::snapshot::{CatalogSnapshot, read_catalog};
use super::writable_folder::{Occupant, WritableFolder};
use super::{ProjectArg, counted};
use contract::{ErrorCode, Fault, config, escaped_line};
use gate::app::blocking;
use instructions::agents::{AgentFormat, FORMATS, export, has_hidden_text, is_generated};
use instructions::{Requirement, Stored};
use surfaces::cli::shell::{BAD, CommandResult, DIM, Exit, GOOD, NOTE, PATH, Session, styled};

/// The argument that selects several formats.
const ALL: &str = "all";
/// The format that repeats for one agent what another format already contains.
const NOT_IN_ALL: &str = "copilot-scoped";
/// The maximum number of entries that a message names.
const LISTED_MAX: usize = 20;
/// The maximum number of copies of a file.
const COPIES_MAX: usize = 99;

/// Arguments of `export-agents`.
#[derive(Debug, clap::Args)]
pub(super) struct ExportAgentsArgs {
    /// Format
    #[arg(value_parser = format_names())]
    format: String,
    /// Repository
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Replace files that people wrote as well; a copy NAME.bak is kept
    #[arg(long)]
    force: bool,
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    project: ProjectArg,
}

fn format_names() -> PossibleValuesParser {
    let formats = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.readers));
    let all = PossibleValue::new(ALL).help(format!("all but {NOT_IN_ALL}"));
    PossibleValuesParser::new(formats.chain([all]))
}

/// The action for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// The file does not exist yet.
    Create,
    /// A generated file gets a new text.
    Update,
    /// A file that the user wrote is replaced.
    Replace,
    /// The file already has this text.
    Unchanged,
    /// The catalog no longer yields the file.
    Remove,
    /// The file is left unchanged.
    Refused,
}

/// A file of the export.
#[derive(Debug, Serialize)]
struct FileOutcome {
    path: String,
    action: Action,
    /// The reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The copy of the user's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<String>,
    #[serde(skip)]
    text: String,
    /// The previous contents.
    #[serde(skip)]
    before: Vec<u8>,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentExport {
    formats: Vec<&'static str>,
    dry_run: bool,
    files: Vec<FileOutcome>,
    /// Ids of the entries that have invisible or control characters, which are written as `\u{…}`.
    escaped: Vec<String>,
    /// Reasons why there may be leftover files that the catalog no longer yields.
    incomplete: Vec<String>,
}

/// Entry point of `export-agents`. Exits with 1 if a file was refused; the others are written.
pub(super) async fn export_agent_files(session: &Session, args: ExportAgentsArgs) -> CommandResult {
    let formats: Vec<&'static AgentFormat> = match args.format.as_str() {
        ALL => FORMATS.iter().filter(|format| format.name != NOT_IN_ALL).collect(),
        name => FORMATS.iter().filter(|format| format.name == name).collect(),
    };
    let catalog = read_catalog(session, &args.project).await?;
    let settings = session.app.config.indexing.clone();
    let ExportAgentsArgs { folder, force, dry_run, .. } = args;
    let done = blocking(move || {
        let root = canonical_folder(&folder)?;
        export_formats(&root, &formats, &catalog, &settings, force, dry_run)
    })
    .await?;
    let is_refused = done.files.iter().any(|file| file.action == Action::Refused);
    let exit = session.print_result(&done, &render(&done));
    Ok(if is_refused { Exit::Failed } else { exit })
}

/// Plans and, unless it is a dry run, writes. Blocks the thread.
fn export_formats(
    root: &Path,
    formats: &[&'static AgentFormat],
    catalog: &CatalogSnapshot,
    settings: &config::Indexing,
    force: bool,
    dry_run: bool,
) -> Result<AgentExport, Fault> {
    let folder = WritableFolder::open(root).map_err(|error| {
        Fault::new(
            ErrorCode::InvalidInput,
            format!("The folder {} cannot be opened: {error}.", root.display()),
        )
    })?;
    let entries: Vec<&Stored> = catalog.entries.iter().collect();
    let mut files: Vec<FileOutcome> = Vec::new();
    for format in formats {
        files.extend(
            export(format, &entries).into_iter().map(|(path, text)| planned(&folder, path, text, force)),
        );
    }
    let found = find_agent_files(root, settings)?;
    // Many file systems are not case-sensitive.
    let written: BTreeSet<String> = files.iter().map(|file| file.path.to_lowercase()).collect();
    let is_ours = |format: &AgentFormat| formats.iter().any(|ours| ours.name == format.name);
    let obsolete = found.files.into_iter().filter(|file| {
        is_ours(file.format) && file.is_generated() && !written.contains(&file.path.to_lowercase())
    });
    files.extend(obsolete.map(|file| FileOutcome {
        path: file.path,
        action: Action::Remove,
        reason: None,
        copy: None,
        text: String::new(),
        before: Vec::new(),
    }));
    if !dry_run {
        files.iter_mut().for_each(|file| file.carry_out(&folder));
    }
    let formats = formats.iter().map(|format| format.name).collect();
    let holding = entries.into_iter().map(|stored| &stored.instruction);
    let escaped = holding
        .filter(|entry| entry.requirement != Requirement::Deprecated && has_hidden_text(entry))
        .map(|entry| entry.id.clone());
    Ok(AgentExport { formats, dry_run, files, escaped: escaped.collect(), incomplete: found.incomplete })
}

/// Determines the action that gives the file `path` this text.
fn planned(folder: &WritableFolder, path: String, text: String, force: bool) -> FileOutcome {
    let refused = |reason: &str| (Action::Refused, Some(reason.to_owned()), Vec::new());
    // The globs of an entry choose the folder of its file, and the folder of git holds only git's own files.
    let is_gits = path.split('/').any(|name| name.eq_ignore_ascii_case(".git"));
    let (action, reason, before) = match folder.occupant(&path) {
        _ if is_gits => refused("it would be in the folder of git"),
        Occupant::Nothing => (Action::Create, None, Vec::new()),
        Occupant::Untouchable(why) => refused(why),
        Occupant::File(bytes) if bytes == text.as_bytes() => (Action::Unchanged, None, Vec::new()),
        Occupant::File(bytes) if str::from_utf8(&bytes).is_ok_and(is_generated) => {
            (Action::Update, None, bytes)
        }
        Occupant::File(bytes) if force => (Action::Replace, None, bytes),
        Occupant::File(_) => {
            refused("a person wrote it; `import-agents` reads it, and --force replaces it and keeps a copy")
        }
    };
    FileOutcome { path, action, reason, copy: None, text, before }
}

impl FileOutcome {
    /// Writes or removes the file. On failure, marks the file as refused.
    fn carry_out(&mut self, folder: &WritableFolder) {
        let outcome = match self.action {
            Action::Unchanged | Action::Refused => return,
            Action::Create | Action::Update => folder.write(&self.path, self.text.as_bytes()),
            Action::Replace => self.replace(folder),
            Action::Remove => folder.remove(&self.path).map(|()| folder.remove_empty_folders(&self.path)),
        };
        if let Err(error) = outcome {
            (self.action, self.reason) = (Action::Refused, Some(format!("it cannot be written: {error}")));
        }
    }

    /// Writes the copy first, so that a killed process loses nothing.
    fn replace(&mut self, folder: &WritableFolder) -> std::io::Result<()> {
        let numbered = (2..=COPIES_MAX).map(|number| format!("{}.bak{number}", self.path));
        let mut names = std::iter::once(format!("{}.bak", self.path)).chain(numbered);
        let is_free = |name: &String| match folder.occupant(name) {
            Occupant::Nothing => true,
            Occupant::File(bytes) => bytes == self.before,
            Occupant::Untouchable(_) => false,
        };
        let name = names
            .find(is_free)
            .ok_or_else(|| std::io::Error::other(format!("there are {COPIES_MAX} copies of it already")))?;
        if folder.occupant(&name) == Occupant::Nothing {
            folder.write(&name, &self.before)?;
        }
        self.copy = Some(name);
        folder.write(&self.path, self.text.as_bytes())
    }
}

fn render(done: &AgentExport) -> String {
    let mut text = String::new();
    for FileOutcome { path, action, reason, copy, .. } in &done.files {
        let (mark, verb) = match (action, done.dry_run) {
            (Action::Unchanged, _) => continue,
            (Action::Refused, _) => (styled(BAD, "✗"), "not written"),
            (Action::Create, false) => (styled(GOOD, "✓"), "created"),
            (Action::Update, false) => (styled(GOOD, "✓"), "updated"),
            (Action::Replace, false) => (styled(GOOD, "✓"), "replaced"),
            (Action::Remove, false) => {
                (styled(GOOD, "✓"), "removed: the catalog has nothing for it any more")
            }
            (Action::Create, true) => (styled(NOTE, "~"), "to create"),
            (Action::Update, true) => (styled(NOTE, "~"), "to update"),
            (Action::Replace, true) => (styled(NOTE, "~"), "to replace, keeping a copy"),
            (Action::Remove, true) => {
                (styled(NOTE, "~"), "to remove: the catalog has nothing for it any more")
            }
        };
        let reason = reason.as_ref().map(|reason| format!(": {}", escaped_line(reason))).unwrap_or_default();
        let copy = copy.as_ref().map(|copy| format!(" (copy: {})", escaped_line(copy))).unwrap_or_default();
        text.push_str(&format!("{mark} {}: {verb}{reason}{copy}\n", styled(PATH, &escaped_line(path))));
    }
    let unchanged = done.files.iter().filter(|file| file.action == Action::Unchanged).count();
    if unchanged > 0 {
        text.push_str(&styled(DIM, &format!("{} unchanged\n", counted(unchanged, "file", "files"))));
    }
    if done.files.is_empty() {
        text.push_str("The catalog has nothing to write in this form.\n");
    }
    if !done.escaped.is_empty() {
        let entries = counted(done.escaped.len(), "entry has", "entries have");
        let mut ids = done.escaped.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
        if done.escaped.len() > LISTED_MAX {
            ids.push_str(", …");
        }
        let mark = styled(NOTE, "!");
        text.push_str(&format!(
            "{mark} {entries} invisible or control characters, written as \\u{{…}}: {ids}\n"
        ));
    }
    for reason in &done.incomplete {
        text.push_str(&format!("{} {}\n", styled(NOTE, "!"), escaped_line(reason)));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use instructions::{Instruction, Rules};
    use serde_json::json;

    fn catalog(ids: &[&str]) -> CatalogSnapshot {
        let stored = |id: &&str| {
            let entry = json!({ "id": id, "title": format!("Rule {id}"), "body": "Text.", "priority": 50, "audience": "all",
                "requirement": "recommended" });
            let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
            let (source_hash, meta_hash) = (instruction.source_hash(), instruction.meta_hash());
            Stored { instruction, source_hash, meta_hash, created_ms: 1, updated_ms: 1 }
        };
        let entries = ids.iter().map(stored).collect();
        CatalogSnapshot {
            hash: String::new(),
            meta_hash: String::new(),
            entries,
            gates: None,
            criteria: None,
        }
    }

    fn run(root: &Path, format: &str, ids: &[&str], force: bool, dry_run: bool) -> Vec<(String, Action)> {
        let formats = [AgentFormat::by_name(format).unwrap()];
        let settings = contract::config::fuzzing::defaults().indexing.clone();
        let root = root.canonicalize().unwrap();
        let done = export_formats(&root, &formats, &catalog(ids), &settings, force, dry_run).unwrap();
        done.files.into_iter().map(|file| (file.path, file.action)).collect()
    }

    #[test]
    fn a_persons_file_is_kept_unless_forced_and_then_copied() {
        let root = tempfile::tempdir().unwrap();
        let agents = root.path().join("AGENTS.md");
        fs::write(&agents, "Mine.").unwrap();
        let only = |action| vec![("AGENTS.md".to_owned(), action)];
        assert_eq!(run(root.path(), "agents-md", &["a"], false, false), only(Action::Refused));
        assert_eq!(run(root.path(), "agents-md", &["a"], true, true), only(Action::Replace));
        assert_eq!(fs::read_to_string(&agents).unwrap(), "Mine.");
        assert_eq!(run(root.path(), "agents-md", &["a"], true, false), only(Action::Replace));
        assert_eq!(fs::read_to_string(root.path().join("AGENTS.md.bak")).unwrap(), "Mine.");
        assert!(fs::read_to_string(&agents).unwrap().contains("Rule a"));
        assert_eq!(run(root.path(), "agents-md", &["a"], false, false), only(Action::Unchanged));
        assert_eq!(run(root.path(), "agents-md", &["a", "b"], false, false), only(Action::Update));
        // A second text of the user does not overwrite the first copy.
        fs::write(&agents, "Mine again.").unwrap();
        run(root.path(), "agents-md", &["a"], true, false);
        assert_eq!(fs::read_to_string(root.path().join("AGENTS.md.bak")).unwrap(), "Mine.");
        assert_eq!(fs::read_to_string(root.path().join("AGENTS.md.bak2")).unwrap(), "Mine again.");
    }

    #[test]
    fn hidden_characters_are_escaped_and_their_entries_named() {
        let root = tempfile::tempdir().unwrap();
        let mut catalog = catalog(&["a", "b", "old"]);
        for at in [1, 2] {
            catalog.entries[at].instruction.body = "Be kind.\u{1b}[2J\u{202e}\u{e0049}".into();
        }
        catalog.entries[2].instruction.requirement = Requirement::Deprecated;
        let settings = contract::config::fuzzing::defaults().indexing.clone();
        let formats = [AgentFormat::by_name("agents-md").unwrap()];
        let path = root.path().canonicalize().unwrap();
        let done = export_formats(&path, &formats, &catalog, &settings, false, false).unwrap();
        assert_eq!(done.escaped, ["b"]);
        let shown = render(&done);
        assert!(
            shown.contains("1 entry has invisible or control characters, written as \\u{…}: b\n"),
            "{shown}"
        );
        let text = fs::read_to_string(path.join("AGENTS.md")).unwrap();
        assert!(text.contains("Be kind.\\u{1b}[2J\\u{202e}\\u{e0049}"), "{text}");
    }

    #[test]
    fn generated_files_go_with_their_entries_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        run(root.path(), "skill", &["a", "b"], false, false);
        run(root.path(), "cursor", &["a"], false, false);
        fs::create_dir_all(root.path().join(".claude/skills/own")).unwrap();
        fs::write(root.path().join(".claude/skills/own/SKILL.md"), "---\nname: own\n---\nMine.\n").unwrap();
        let done = run(root.path(), "skill", &["a"], false, false);
        let path = |id: &str| format!(".claude/skills/{id}/SKILL.md");
        assert_eq!(done, [(path("a"), Action::Unchanged), (path("b"), Action::Remove)]);
        assert!(!root.path().join(".claude/skills/b").exists());
        assert!(root.path().join(path("own")).exists() && root.path().join(".cursor/rules/a.mdc").exists());
    }
}
