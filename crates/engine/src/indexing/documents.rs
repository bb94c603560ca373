//! Indexing of texts that are not files, such as records. They form a pseudo repository, which a run updates from a
//! record source.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::context::RunContext;
use super::document::Document;
use super::failures;
use super::opened_repository::{OpenedRepository, open_repository};
use super::parser::Parser;
use super::plan::should_retry_facts;
use super::prepare::{Prepared, prepare_document};
use super::report::RunReport;
use super::run;
use super::vectors;
use super::versions::run_versions;
use super::write::remove_files;
use crate::jobs::Phase;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::{Access, FileRow, KnownNames, ModelFacts, Project, ProjectTx, Store, files, write_batch};

/// A future that reads from or writes to the database of a record source.
pub(crate) type SourceFuture<'a, T> = BoxFuture<'a, Result<T, Fault>>;

/// A source of texts that are not files: the records of one module.
pub struct RecordSource {
    /// The root of the pseudo repository, `module:name`.
    pub root: &'static str,
    /// Creates the module's tables if they are missing.
    pub prepare: for<'a> fn(&'a Store, &'a Project) -> SourceFuture<'a, ()>,
    /// Returns whether the project has any records of this source.
    pub has_any: for<'a> fn(&'a Store, &'a Project) -> SourceFuture<'a, bool>,
    /// Returns all texts as of a time, in milliseconds since the epoch.
    pub documents: for<'a> fn(&'a Store, &'a Project, i64) -> Box<dyn Documents + 'a>,
    /// Returns the text at a path of the pseudo repository as of a time, if it exists.
    pub document: for<'a> fn(&'a Store, &'a Project, &'a str, i64) -> SourceFuture<'a, Option<Document>>,
}

/// A paged reader of documents in path order.
pub trait Documents: Send + Sync {
    /// Returns at most `limit` documents after the path `after`.
    fn page<'a>(&'a self, after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Document>, Fault>>;
}

/// Updates the pseudo repository `run.root`: writes changed documents and removes vanished ones.
///
/// # Errors
/// The faults of [`run::index_repository`], except that there may be nothing to index.
pub async fn run_documents(run: &RunContext<'_>, documents: &dyn Documents) -> Result<RunReport, Fault> {
    let started = run.clock.instant();
    if let Some(embedder) = &run.embedder {
        run.project.require_model(&ModelFacts::from(embedder.model()))?;
    }
    let repository = open_repository(run, run_versions(run, &None)).await?;
    let outcome = async {
        let mut report = write_documents(run, &repository, documents).await?;
        vectors::report_lexical_ready(run).await?;
        report.lexical_seconds = run::seconds_since(run, started);
        let embedded = vectors::complete(run).await?;
        (report.vectors_embedded, report.vectors_pending) = (embedded.embedded, embedded.pending);
        (report.files, report.chunks) = run::totals(run, repository.id).await?;
        report.facts_missing = run::facts_missing(run, repository.id).await?;
        report.seconds = run::seconds_since(run, started);
        run::store_report(run, &repository, &report).await?;
        Ok(report)
    };
    let outcome = outcome.await;
    if let Err(fault) = &outcome {
        failures::record_failure(run, &repository, fault).await;
    }
    outcome
}

/// Writes the documents page by page, one transaction per page. Memory holds one page and all paths.
async fn write_documents(
    run: &RunContext<'_>,
    repository: &OpenedRepository,
    documents: &dyn Documents,
) -> Result<RunReport, Fault> {
    let mut report = RunReport {
        repository_id: repository.id,
        repository: repository.name.clone(),
        ..RunReport::default()
    };
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let stored = files::manifest(&mut tx, repository.id).await?;
    tx.commit().await?;
    let mut stored: HashMap<String, FileRow> =
        stored.into_iter().map(|row| (row.path.clone(), row)).collect();
    run.progress.update(|progress| progress.phase = Phase::Files);
    let (mut known, mut changed_chunks, mut after) = (KnownNames::default(), 0, String::new());
    let parser = Arc::new(Mutex::new(Parser::new(run.parsing.clone())));
    let skips_unchanged = !(run.options.full || repository.outdated);
    loop {
        let page = documents.page(&after, run.config.indexing.batch_files.max(1)).await?;
        if run.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let Some(last) = page.last() else { break };
        after.clone_from(&last.path);
        let page_documents = page.len() as u64;
        let timeout_ms = run.config.indexing.parse_timeout_ms;
        let due = page.into_iter().filter_map(|document| {
            let unchanged =
                stored.remove(&document.path).filter(|row| row.content_hash == document.content_hash());
            let unchanged = unchanged.filter(|_| skips_unchanged);
            let is_complete = unchanged.as_ref().is_some_and(|row| !should_retry_facts(row, timeout_ms));
            (!is_complete).then(|| (document, unchanged.map_or(0, |row| row.facts_tried_ms)))
        });
        let due: Vec<(Document, i64)> = due.collect();
        report.files_unchanged += page_documents - due.len() as u64;
        report.files_changed += due.len() as u64;
        let (chunks, redacted) = write_page(run, repository.id, due, &mut known, &parser).await?;
        failpoints::reach("records.texts_written");
        changed_chunks += chunks;
        report.secrets_redacted += redacted;
        run.progress.update(|progress| {
            progress.files_seen += page_documents;
            progress.files_done += page_documents;
            progress.chunks += chunks.unsigned_abs();
        });
    }
    let vanished: Vec<i64> = stored.into_values().map(|row| row.id).collect();
    report.files_removed = vanished.len() as u64;
    changed_chunks += remove_files(run, &vanished).await?;
    run::finish_lexical(run, changed_chunks).await?;
    Ok(report)
}

fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The index run was cancelled; committed changes are kept.")
}

/// Writes the documents in `due`, each with the milliseconds of earlier failed attempts. Returns the number of changed
/// chunks and of redacted secrets.
async fn write_page(
    run: &RunContext<'_>,
    repository_id: i64,
    due: Vec<(Document, i64)>,
    known: &mut KnownNames,
    parser: &Arc<Mutex<Parser>>,
) -> Result<(i64, u64), Fault> {
    if due.is_empty() {
        return Ok((0, 0));
    }
    let (settings, dictionary) = (run.config.indexing.clone(), run.dictionary.clone());
    let (parser, must_stop) = (Arc::clone(parser), run.stop_check());
    let preparing = platform::task::spawn_blocking(move || {
        let dictionary = dictionary.as_deref();
        let mut parser = parser.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |(document, tried_ms)| {
            prepare_document(document, tried_ms, &settings, dictionary, &mut parser, &must_stop)
        };
        // `None` if the run was cancelled at one of the documents.
        let rows: Option<Result<Vec<_>, Fault>> = due.into_iter().map(row).map(Result::transpose).collect();
        rows.transpose()
    });
    let prepared =
        preparing.await.map_err(|error| Fault::internal("Reading the texts failed unexpectedly.", error))?;
    let prepared = prepared?.ok_or_else(cancelled)?;
    let (mut rows, mut redacted) = (Vec::with_capacity(prepared.len()), 0);
    for document in prepared {
        if let Prepared::Changed { file, redacted: count } = document {
            redacted += count;
            rows.push(*file);
        }
    }
    let mut tx = run.begin_batch().await?;
    let written = write_batch(&mut tx, run.fence, repository_id, &rows, known).await?;
    tx.commit().await?;
    Ok((written.chunks + written.chunks_removed, redacted))
}
