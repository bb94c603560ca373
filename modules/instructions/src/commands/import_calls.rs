//! Imports any number of entries in calls of bounded size, and then indexes them, so that search finds them at once.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::snapshot::{project_of, read_catalog};
use super::{ProjectArg, counted};
use crate::bound_folders::rules;
use crate::catalog::{RECORDS, prune_refused};
use contract::{ErrorCode, escaped_line};
use engine::indexing::Options;
use gate::app::index_job::{self, RequestingCall};
use gate::tools::Progress;
use instructions::import::{ImportMode, Prune, plan};
use store::Project;
use surfaces::cli::shell::{
    BAD, CommandError, DIM, Exit, GOOD, NOTE, Session, ToolAnswer, cancellable, styled,
};

/// The maximum number of entries or ids in one call.
pub(super) const CALL_ENTRIES_MAX: usize = 1000;
/// The number of refused entries that are printed.
const PRINTED_MAX: usize = 20;

/// The entries and options of an import.
#[derive(Debug, Default)]
pub(super) struct Import {
    /// The entries, unchecked.
    pub(super) entries: Vec<Value>,
    /// `true` to replace existing entries.
    pub(super) overwrite: bool,
    /// `true` to remove all other entries; only with `overwrite`.
    pub(super) prune: bool,
    /// The hash that the catalog must have.
    pub(super) if_hash: Option<String>,
    /// Gates to set.
    pub(super) gates: Option<Value>,
    /// Criteria to set.
    pub(super) criteria: Option<Value>,
}

/// An entry that was not imported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RefusedEntry {
    /// The id of the entry.
    pub(super) id: String,
    /// The error.
    pub(super) error: String,
}

/// The combined result of all calls.
#[derive(Default, Serialize)]
pub(super) struct Imported {
    /// Hash of the catalog after the import.
    hash: String,
    imported: usize,
    overwritten: usize,
    skipped: usize,
    /// Number of entries and documents that were written or removed.
    changed: usize,
    removed: Vec<String>,
    pub(super) errors: Vec<RefusedEntry>,
    /// The answers, in order; if the last is a failure, the rest was skipped.
    #[serde(skip)]
    answers: Vec<ToolAnswer>,
}

/// The arguments of `instructions_import`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportCall<'a> {
    entries: &'a [Value],
    mode: ImportMode,
    prune: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    if_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    criteria: Option<Value>,
    #[serde(flatten)]
    project: &'a ProjectArg,
}

/// The arguments of `instructions_remove`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoveCall<'a> {
    pub(super) ids: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) if_hash: Option<&'a str>,
    #[serde(flatten)]
    pub(super) project: &'a ProjectArg,
}

/// The part of the tools' results that is counted.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CallResult {
    hash: String,
    imported: usize,
    overwritten: usize,
    skipped: usize,
    changed: usize,
    errors: Vec<RefusedEntry>,
}

/// Imports entries, and waits until they are indexed.
pub(super) async fn import(
    session: &Session,
    project: &ProjectArg,
    mut import: Import,
) -> Result<Imported, CommandError> {
    let mut done = Imported::default();
    let mut surplus = Vec::new();
    // One call of the tool imports and prunes in one transaction.
    let prunes_by_itself = import.entries.len() <= CALL_ENTRIES_MAX;
    if !prunes_by_itself {
        if import.prune {
            surplus = surplus_ids(session, project, &import).await?;
            import.prune = false;
        }
        done.take_repeated(&mut import.entries);
        if session.output.json {
            // They are in none of the envelopes.
            session.output.print_note(render_refused(&done.errors).trim_end());
        }
    }
    call_in_parts(session, project, import, &surplus, &mut done).await;
    let succeeded = done.answers.iter().rfind(|answer| answer.envelope.result.is_some());
    if done.changed > 0
        && let Some(answer) = succeeded
    {
        index_entries(session, answer).await;
    }
    Ok(done)
}

/// Calls the tool for each part, and removes `surplus` if all entries were accepted.
async fn call_in_parts(
    session: &Session,
    project: &ProjectArg,
    import: Import,
    surplus: &[String],
    done: &mut Imported,
) {
    let Import { entries, overwrite, prune, mut if_hash, mut gates, mut criteria } = import;
    let mode = if overwrite { ImportMode::Overwrite } else { ImportMode::Skip };
    let empty: [&[Value]; 1] = [&[]];
    // Without entries, one call still prunes or sets the documents.
    let parts: Vec<&[Value]> =
        if entries.is_empty() { empty.to_vec() } else { entries.chunks(CALL_ENTRIES_MAX).collect() };
    for part in parts {
        // Only the first call sets the documents.
        let (gates, criteria) = (gates.take(), criteria.take());
        let call =
            ImportCall { entries: part, mode, prune, if_hash: if_hash.as_deref(), gates, criteria, project };
        let called = session.call("instructions_import", &call, Progress::default()).await;
        if !done.add(called) {
            return;
        }
        // The caller's hash is the one before the first part.
        if_hash = if_hash.map(|_| done.hash.clone());
    }
    if !done.errors.is_empty() {
        return;
    }
    for ids in surplus.chunks(CALL_ENTRIES_MAX) {
        let call = RemoveCall { ids, if_hash: if_hash.as_deref(), project };
        let called = session.call("instructions_remove", &call, Progress::default()).await;
        if !done.add(called) {
            return;
        }
        if_hash = if_hash.map(|_| done.hash.clone());
        done.changed += ids.len();
        done.removed.extend_from_slice(ids);
    }
}

/// Returns the ids that a prune removes. Refuses the prune before anything is written, as the tool does.
async fn surplus_ids(
    session: &Session,
    project: &ProjectArg,
    import: &Import,
) -> Result<Vec<String>, CommandError> {
    let existing = match read_catalog(session, project).await {
        Ok(catalog) => catalog.existing(),
        // The first import creates the project.
        Err(error) if error.fault.code == ErrorCode::NoIndex => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let prune = if import.if_hash.is_some() { Prune::Confirmed } else { Prune::Guarded };
    let now_ms = session.app.clock.now().as_millisecond();
    let planned =
        plan(import.entries.clone(), &existing, ImportMode::Overwrite, prune, &rules(&session.app), now_ms);
    Ok(planned.map_err(prune_refused)?.removed)
}

impl Imported {
    /// Removes entries that repeat the id of an earlier one: the tool sees only the entries of one call.
    fn take_repeated(&mut self, entries: &mut Vec<Value>) {
        let mut seen = BTreeSet::new();
        entries.retain(|entry| {
            let Some(id) = entry["id"].as_str() else { return true };
            let is_first = seen.insert(id.to_owned());
            if !is_first {
                let error = "This id is given more than once; the first entry counts.".to_owned();
                self.errors.push(RefusedEntry { id: id.to_owned(), error });
            }
            is_first
        });
    }

    /// Adds an answer; returns `true` if it is a success.
    fn add(&mut self, called: ToolAnswer) -> bool {
        let result = called.envelope.result.as_ref().map(|result| {
            let removed: Vec<String> = Vec::deserialize(&result["removed"]).unwrap_or_default();
            (CallResult::deserialize(result).unwrap_or_default(), removed)
        });
        self.answers.push(called);
        let Some((result, removed)) = result else { return false };
        let CallResult { hash, imported, overwritten, skipped, changed, errors } = result;
        self.hash = hash;
        self.imported += imported;
        self.overwritten += overwritten;
        self.skipped += skipped;
        self.changed += changed;
        self.errors.extend(errors);
        self.removed.extend(removed);
        true
    }

    /// Returns the answer that ended the import early.
    pub(super) fn failed(&self) -> Option<&ToolAnswer> {
        self.answers.last().filter(|answer| answer.envelope.result.is_none())
    }

    /// Returns the exit status: a script has to notice refused entries too.
    pub(super) fn exit(&self) -> Exit {
        match self.failed() {
            Some(answer) => answer.exit,
            None if self.errors.is_empty() => Exit::Ok,
            None => Exit::Failed,
        }
    }

    /// Prints the envelopes with `--json`, otherwise a summary and the failure.
    pub(super) fn print(&self, session: &Session) -> Exit {
        let output = session.output;
        if output.json {
            for answer in &self.answers {
                output.answer(answer, |_| String::new());
            }
            return self.exit();
        }
        // If a single call failed, there is nothing to report but the failure.
        if self.answers.len() > 1 || self.failed().is_none() {
            output.print_text(&self.render());
        }
        if let Some(answer) = self.failed() {
            output.failure(&answer.envelope);
        }
        self.exit()
    }

    /// Formats the result for people.
    pub(super) fn render(&self) -> String {
        let entries = self.imported + self.overwritten + self.skipped;
        let mut facts = vec![format!("{} new", self.imported)];
        facts.extend((self.overwritten > 0).then(|| format!("{} given again", self.overwritten)));
        facts.extend((self.skipped > 0).then(|| format!("{} kept as they were", self.skipped)));
        facts.extend((!self.removed.is_empty()).then(|| format!("{} removed", self.removed.len())));
        facts.push(match self.changed {
            0 => "nothing changed".to_owned(),
            changed => counted(changed, "change", "changes"),
        });
        let mut text =
            format!("{} {}: {}\n", styled(GOOD, "✓"), counted(entries, "entry", "entries"), facts.join(", "));
        text.push_str(&render_refused(&self.errors));
        text.push_str(&format!("  {}\n", styled(DIM, &format!("hash {}", escaped_line(&self.hash)))));
        text
    }
}

/// Formats the refused entries, one per line.
pub(super) fn render_refused(errors: &[RefusedEntry]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let refused = counted(errors.len(), "entry was refused", "entries were refused");
    let mut text = format!("{} {refused}\n", styled(BAD, "✗"));
    for RefusedEntry { id, error } in errors.iter().take(PRINTED_MAX) {
        text.push_str(&format!("  {}: {}\n", escaped_line(id), escaped_line(error)));
    }
    if errors.len() > PRINTED_MAX {
        text.push_str(&format!("  … and {} more\n", errors.len() - PRINTED_MAX));
    }
    text
}

/// Indexes the entries of the project that a call concerned, and waits. A failure is only noted: the entries are stored, and the
/// next run finds them.
pub(super) async fn index_entries(session: &Session, called: &ToolAnswer) {
    if !session.app.config.instructions.semantic {
        return;
    }
    let indexed = match project_of(session, called).await {
        Ok(project) => index_project(session, &project).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = indexed {
        let message = format!("stored, but not searchable by meaning yet: {}", escaped_line(&fault.message));
        session.output.print_note(&format!("{} {message}", styled(NOTE, "warning:")));
    }
}

async fn index_project(session: &Session, project: &Project) -> Result<(), contract::Fault> {
    cancellable(session, async |cancel, step| {
        step("indexing the instructions");
        let requester = RequestingCall::without_slot(&session.app, cancel);
        index_job::run_records(&requester, project, &RECORDS, Options::default(), |_| {}).await
    })
    .await
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_counts_once_over_all_parts() {
        let mut entries =
            vec![json!({ "id": "a", "n": 1 }), json!({}), json!({ "id": "a", "n": 2 }), json!({})];
        let mut done = Imported::default();
        done.take_repeated(&mut entries);
        assert_eq!(entries, [json!({ "id": "a", "n": 1 }), json!({}), json!({})]);
        assert_eq!(done.errors.iter().map(|refused| refused.id.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(done.exit(), Exit::Failed);
    }

    #[test]
    fn the_result_reads_as_lines() {
        let done = Imported {
            hash: "00".into(),
            imported: 1,
            overwritten: 2,
            changed: 3,
            removed: vec!["x".into()],
            errors: vec![RefusedEntry { id: "b".into(), error: "Wrong.\u{1b}".into() }],
            ..Imported::default()
        };
        assert_eq!(
            anstream::adapter::strip_str(&done.render()).to_string(),
            "✓ 3 entries: 1 new, 2 given again, 1 removed, 3 changes\n✗ 1 entry was refused\n  b: Wrong.\\u{1b}\n  hash 00\n"
        );
        let nothing = Imported { skipped: 1, ..Imported::default() };
        let shown = anstream::adapter::strip_str(&nothing.render()).to_string();
        assert!(shown.starts_with("✓ 1 entry: 0 new, 1 kept as they were, nothing changed\n"), "{shown}");
    }
}
