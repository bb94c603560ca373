//! `import-agents`: imports the rules for agents in a repository into the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::agent_drift::{self, ChangedSection, Drifted, ReadPaths, VanishedSection, drifted, identity};
use super::agent_files::{AgentFile, AgentFiles, PassedOver, find_agent_files};
use super::folder::canonical_folder;
use super::import_calls::{Import, Imported, import};
use super::snapshot::read_catalog;
use super::{ProjectArg, counted};
use contract::{ErrorCode, Fault, config, escaped_line};
use gate::app::blocking;
use instructions::agents::source::{add_source, is_origin, repository_key};
use instructions::agents::{self, AgentRules};
use instructions::entry::ID_CHARS_MAX;
use instructions::review::{Criteria, ReviewIssue, review};
use instructions::{Instruction, Rules, Stored};
use surfaces::cli::shell::{BAD, CommandError, CommandResult, DIM, Exit, GOOD, NOTE, PATH, Session, styled};

/// Category of the built-in review rules that find secrets.
const SECRETS: &str = "secrets";

/// Arguments of `import-agents`.
#[derive(Debug, clap::Args)]
pub(super) struct ImportAgentsArgs {
    /// Repository
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Replace entries that exist; what files of agents cannot hold, such as the audience, is lost then
    #[arg(long)]
    overwrite: bool,
    /// Also take over sections that were changed in their files, unless people changed their entries, too
    #[arg(long, conflicts_with = "overwrite")]
    update: bool,
    /// Print what would be imported, and import nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    project: ProjectArg,
}

/// The result that `--json` prints.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentImport {
    dry_run: bool,
    /// Files whose rules are imported.
    files: Vec<ReadFile>,
    /// Files that are not imported.
    passed_over: Vec<PassedOver>,
    /// Files that cannot be parsed.
    broken: Vec<PassedOver>,
    /// Remarks about files that are imported.
    notes: Vec<FileNote>,
    /// Reasons why files may be missing.
    incomplete: Vec<String>,
    /// Sections of an earlier import that people changed in their files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<ChangedSection>,
    /// Entries of an earlier import whose sections are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vanished: Vec<VanishedSection>,
    /// The result of the import; absent for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<Imported>,
    /// The result of applying changed sections to the catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<Imported>,
    /// The entries, each with its file.
    #[serde(skip)]
    entries: Vec<(String, Value)>,
    /// The name by which entries refer to the repository.
    #[serde(skip)]
    repository_key: String,
}

/// A file and the entries that were made from it.
#[derive(Serialize)]
struct ReadFile {
    path: String,
    format: &'static str,
    /// Ids of its entries.
    entries: Vec<String>,
    /// The number of sections that repeat one of another file.
    repeated: usize,
}

/// A remark about a file.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct FileNote {
    path: String,
    note: String,
}

/// Entry point of `import-agents`. Exits with 1 if a file or an entry was refused.
pub(super) async fn import_agent_files(session: &Session, args: ImportAgentsArgs) -> CommandResult {
    let (settings, folder) = (session.app.config.indexing.clone(), args.folder);
    let mut read = blocking(move || read_repository(&folder, &settings)).await?;
    read.dry_run = args.dry_run;
    let updates = read.compare(&known_entries(session, &args.project).await?);
    if !args.dry_run && !read.entries.is_empty() {
        let entries = std::mem::take(&mut read.entries).into_iter().map(|(_, entry)| entry).collect();
        let whole = Import { entries, overwrite: args.overwrite, ..Import::default() };
        let imported = import(session, &args.project, whole).await?;
        if let Some(failed) = imported.failed() {
            return Ok(session.output.answer(failed, |_| String::new()));
        }
        let refused: BTreeSet<&str> = imported.errors.iter().map(|refused| refused.id.as_str()).collect();
        read.set_updated(|section| args.overwrite && !refused.contains(section.id.as_str()));
        read.imported = Some(imported);
    }
    if args.update && !args.dry_run && !updates.is_empty() {
        let whole = Import { entries: updates, overwrite: true, ..Import::default() };
        let updated = import(session, &args.project, whole).await?;
        if let Some(failed) = updated.failed() {
            return Ok(session.output.answer(failed, |_| String::new()));
        }
        let refused: BTreeSet<&str> = updated.errors.iter().map(|refused| refused.id.as_str()).collect();
        read.set_updated(|section| !section.edited && !refused.contains(section.id.as_str()));
        read.updated = Some(updated);
    }
    session.print_result(&read, &render(&read));
    let done = read.imported.iter().chain(&read.updated);
    let is_refused = done.into_iter().any(|imported| imported.exit() != Exit::Ok);
    Ok(if read.broken.is_empty() && !is_refused { Exit::Ok } else { Exit::Failed })
}

/// Returns the entries of the catalog; empty if there is no project yet.
async fn known_entries(session: &Session, project: &ProjectArg) -> Result<Vec<Stored>, CommandError> {
    match read_catalog(session, project).await {
        Ok(catalog) => Ok(catalog.entries),
        Err(error) if error.fault.code == ErrorCode::NoIndex => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Reads all files of a repository. Blocks the thread.
fn read_repository(folder: &Path, settings: &config::Indexing) -> Result<AgentImport, Fault> {
    let root = canonical_folder(folder)?;
    let AgentFiles { files, passed_over, incomplete } = find_agent_files(&root, settings)?;
    let repository_key = repository_key(&identity(&root));
    let mut read = AgentImport { passed_over, incomplete, repository_key, ..AgentImport::default() };
    let mut known = KnownEntries::default();
    for file in files {
        read.add(file, &mut known);
    }
    Ok(read)
}

impl AgentImport {
    /// Compares the files with the entries of an earlier import. Returns the new versions of entries that changed only in their files.
    fn compare(&mut self, catalog: &[Stored]) -> Vec<Value> {
        let paths = ReadPaths {
            read: self.files.iter().map(|file| file.path.as_str()).collect(),
            unread: self.passed_over.iter().chain(&self.broken).map(|file| file.path.as_str()).collect(),
            is_complete: self.incomplete.is_empty(),
        };
        let Drifted { changed, vanished, updates } =
            drifted(&self.entries, catalog, &paths, &self.repository_key);
        (self.changed, self.vanished) = (changed, vanished);
        updates
    }

    /// Marks the changed sections that the catalog now contains.
    fn set_updated(&mut self, is_updated: impl Fn(&ChangedSection) -> bool) {
        for section in &mut self.changed {
            section.updated = is_updated(section);
        }
    }

    fn add(&mut self, file: AgentFile, known: &mut KnownEntries) {
        let is_generated = file.is_generated();
        let AgentFile { path, format, text } = file;
        if is_generated {
            let reason = "it was generated from a catalog".to_owned();
            return self.passed_over.push(PassedOver { path, reason });
        }
        let AgentRules { entries, notes } = match agents::import(&path, &text) {
            Ok(rules) => rules,
            Err(reason) => return self.broken.push(PassedOver { path, reason }),
        };
        let count = entries.len();
        let entries: Vec<Value> =
            entries.into_iter().filter_map(|entry| known.new_entry(&path, entry)).collect();
        let secrets = entries.iter().flat_map(secrets_in);
        let notes: Vec<String> = notes.into_iter().chain(secrets).collect();
        self.notes.extend(notes.into_iter().map(|note| FileNote { path: path.clone(), note }));
        let ids: Vec<String> =
            entries.iter().filter_map(|entry| entry["id"].as_str()).map(str::to_owned).collect();
        let repeated = count - entries.len();
        let with_source = |mut entry: Value| {
            // Refused entries report the reason when they are imported.
            if let Ok(checked) = Instruction::check(entry.clone(), &Rules::default()) {
                add_source(&mut entry, &checked.instruction, &self.repository_key);
            }
            (path.clone(), entry)
        };
        self.entries.extend(entries.into_iter().map(with_source));
        self.files.push(ReadFile { path, format: format.name, entries: ids, repeated });
    }
}

/// The entries of the files read so far.
#[derive(Default)]
struct KnownEntries {
    ids: BTreeSet<String>,
    /// The file that holds each rule.
    rules: BTreeMap<String, String>,
}

impl KnownEntries {
    /// Returns the entry with an id of its own; `None` if another file has the same rule, because repositories often hold a text
    /// once for each agent.
    fn new_entry(&mut self, path: &str, mut entry: Value) -> Option<Value> {
        let rule = rule_key(&entry);
        if self.rules.get(&rule).is_some_and(|file| file != path) {
            return None;
        }
        self.rules.entry(rule).or_insert_with(|| path.to_owned());
        let id = entry["id"].as_str().unwrap_or_default().to_owned();
        let numbered = (2_usize..).map(|number| {
            let end = format!("-{number}");
            // Ids are ASCII.
            format!("{}{end}", &id[..id.len().min(ID_CHARS_MAX - end.len())])
        });
        let id = std::iter::once(id.clone()).chain(numbered).find(|id| !self.ids.contains(id))?;
        self.ids.insert(id.clone());
        entry["id"] = id.into();
        Some(entry)
    }
}

/// Lists the secrets in an entry, each as a sentence that does not repeat it. The entry is imported all the same.
fn secrets_in(entry: &Value) -> Vec<String> {
    let id = entry["id"].as_str().unwrap_or_default();
    let issues = review(&Criteria::default(), entry["body"].as_str().unwrap_or_default()).issues;
    let described = |issue: ReviewIssue| {
        let matched = issue.matched.map(|text| format!(": {text}")).unwrap_or_default();
        format!("{id} may hold a secret ({}{matched}). {}", issue.rule_id, issue.remediation)
    };
    issues.into_iter().filter(|issue| issue.category == SECRETS).map(described).collect()
}

/// Returns the key by which two entries are the same rule: everything but the id and their origin.
fn rule_key(entry: &Value) -> String {
    let categories = entry["categories"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let categories: BTreeSet<&str> = categories.filter(|category| !is_origin(category)).collect();
    serde_json::json!([entry["title"], entry["body"], entry["requirement"], entry["priority"], categories])
        .to_string()
}

fn render(read: &AgentImport) -> String {
    let mut text = String::new();
    for ReadFile { path, entries, repeated, .. } in &read.files {
        let repeated = if *repeated > 0 { format!(", {repeated} repeated") } else { String::new() };
        let count = format!("{}{repeated}", counted(entries.len(), "entry", "entries"));
        text.push_str(&format!("  {}  {}\n", styled(PATH, &escaped_line(path)), styled(DIM, &count)));
        if read.dry_run {
            text.extend(entries.iter().map(|id| format!("    {}\n", escaped_line(id))));
        }
    }
    for PassedOver { path, reason } in &read.passed_over {
        text.push_str(&format!("{} {}: {}\n", styled(DIM, "="), escaped_line(path), escaped_line(reason)));
    }
    for PassedOver { path, reason } in &read.broken {
        text.push_str(&format!("{} {}: {}\n", styled(BAD, "✗"), escaped_line(path), escaped_line(reason)));
    }
    for FileNote { path, note } in &read.notes {
        text.push_str(&format!("{} {}: {}\n", styled(NOTE, "!"), escaped_line(path), escaped_line(note)));
    }
    for reason in &read.incomplete {
        text.push_str(&format!("{} {}\n", styled(NOTE, "!"), escaped_line(reason)));
    }
    text.push_str(&agent_drift::render(&read.changed, &read.vanished));
    text.extend(read.updated.iter().map(Imported::render));
    match &read.imported {
        Some(imported) => text.push_str(&imported.render()),
        None if read.files.is_empty() => {
            text.push_str("No file of an agent was found that can be imported.\n")
        }
        None if !read.dry_run => text.push_str("The files hold no rules; nothing was changed.\n"),
        None => {
            let count = read.files.iter().map(|file| file.entries.len()).sum();
            let count = counted(count, "entry", "entries");
            text.push_str(&format!("{} {count} to import; nothing was changed\n", styled(GOOD, "✓")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use instructions::agents::AgentFormat;
    use serde_json::json;

    fn entry(id: &str, body: &str, categories: &[&str]) -> Value {
        json!({ "id": id, "title": "T", "body": body, "priority": 50, "requirement": "recommended", "categories": categories })
    }

    #[test]
    fn a_rule_that_several_files_hold_is_imported_once() {
        let mut known = KnownEntries::default();
        let first = known.new_entry("AGENTS.md", entry("agents-a", "x", &["from:agents-md"]));
        assert_eq!(first.unwrap()["id"], "agents-a");
        assert!(known.new_entry("CLAUDE.md", entry("claude-a", "x", &["from:claude-md"])).is_none());
        // With a different scope, it is another rule.
        assert!(known.new_entry("CLAUDE.md", entry("claude-a", "x", &["scope:web/**"])).is_some());
        assert!(known.new_entry("AGENTS.md", entry("agents-b", "x", &["from:agents-md"])).is_some());
    }

    #[test]
    fn a_secret_is_reported_and_not_repeated() {
        let key = format!("AKIA{}", "IOSFODNN7EXAMPLE");
        let mut read = AgentImport::default();
        let format = AgentFormat::by_name("agents-md").unwrap();
        let text = format!("## Upload\n\nUse the key {key}.\n\n## Tests\n\nNever commit a password.\n");
        read.add(AgentFile { path: "AGENTS.md".into(), format, text }, &mut KnownEntries::default());
        assert_eq!(read.entries.len(), 2, "both are imported");
        let text = anstream::adapter::strip_str(&render(&read)).to_string();
        assert!(
            text.contains(
                "! AGENTS.md: agents-upload may hold a secret (aws-access-key-id: AKIA…[20 characters])."
            ),
            "{text}"
        );
        assert!(!text.contains(&key) && text.matches("may hold a secret").count() == 1, "{text}");
    }

    #[test]
    fn ids_are_unique_over_all_files() {
        let mut known = KnownEntries::default();
        let long = "x".repeat(ID_CHARS_MAX);
        let ids: Vec<String> =
            [("copilot", "1"), ("copilot", "2"), ("copilot", "3"), (&long, "4"), (&long, "5")]
                .iter()
                .map(|(id, body)| {
                    known.new_entry(body, entry(id, body, &[])).unwrap()["id"].as_str().unwrap().to_owned()
                })
                .collect();
        assert_eq!(ids[..3], ["copilot", "copilot-2", "copilot-3"]);
        assert_eq!((ids[3].as_str(), ids[4].len()), (long.as_str(), ID_CHARS_MAX));
        assert!(ids[4].ends_with("x-2"), "{}", ids[4]);
    }
}
