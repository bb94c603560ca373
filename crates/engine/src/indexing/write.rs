//! Prepared files to rows, in batches bounded by files, chunks and time; one transaction a batch.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::file::Root;
use super::plan::ToRead;
use super::prepare::{self, Prepared, ReadWith};
use super::report::SkipCounter;
use super::run::Run;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::{FileWrite, KnownNames, files, files::Touched, write_batch};

/// Files prepared ahead of the writer: enough to keep it busy, few enough to bound memory.
const AHEAD: usize = 64;

/// What the lexical part of a run wrote.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Files whose rows were replaced.
    pub(super) changed_files: u64,
    /// Chunks written and chunks they replaced.
    pub(super) changed_chunks: i64,
    /// Files whose bytes were the stored ones.
    pub(super) same_files: u64,
    /// Files read in this run that are searchable.
    pub(super) searchable: u64,
    /// Secrets replaced.
    pub(super) redacted: u64,
}

#[derive(Default)]
struct Batch {
    files: Vec<FileWrite>,
    chunks: usize,
    same: Vec<Touched>,
    since: Option<Instant>,
}

/// Reads, chunks and writes `to_read`; commits batch by batch.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` when the fence is lost, storage faults; committed batches stay.
pub(super) async fn write_files(
    run: &Run<'_>,
    repository_id: i64,
    to_read: Vec<ToRead>,
    with: ReadWith,
    skips: &mut SkipCounter,
) -> Result<Written, Fault> {
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let (root, settings, cancel) = (Root::open(run.root)?, run.config.indexing.clone(), run.cancel.clone());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let preparing = tokio::task::spawn_blocking(move || {
        prepare::prepare_all(&root, to_read, &settings, &with, threads, &sender, &cancel);
    });
    let mut written = Written::default();
    let mut batch = Batch::default();
    let mut known = KnownNames::default();
    while let Some(prepared) = receiver.recv().await {
        run.progress.touch();
        collect(&mut batch, &mut written, skips, prepared?);
        if batch.is_full(run) {
            commit(run, repository_id, &mut batch, &mut written, &mut known).await?;
        }
    }
    commit(run, repository_id, &mut batch, &mut written, &mut known).await?;
    preparing.await.map_err(|error| Fault::internal("Reading the files failed unexpectedly.", error))?;
    if run.cancel.is_cancelled() {
        return Err(Fault::new(
            ErrorCode::Cancelled,
            "The index run was cancelled; what was committed stays.",
        ));
    }
    Ok(written)
}

fn collect(batch: &mut Batch, written: &mut Written, skips: &mut SkipCounter, prepared: Prepared) {
    batch.since.get_or_insert_with(Instant::now);
    match prepared {
        Prepared::Other => {}
        Prepared::Same(touched) => {
            written.searchable += 1;
            batch.same.push(touched);
        }
        Prepared::Changed { file, redacted } => {
            written.redacted += redacted;
            match file.skipped {
                Some(reason) => skips.add(reason, &file.path),
                None => written.searchable += 1,
            }
            batch.chunks += file.chunks.len();
            batch.files.push(*file);
        }
    }
}

impl Batch {
    fn is_full(&self, run: &Run<'_>) -> bool {
        let limits = &run.config.indexing;
        let age = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.files.len() + self.same.len() >= limits.batch_files
            || self.chunks >= limits.batch_chunks
            || age >= Duration::from_millis(limits.batch_ms)
    }
}

async fn commit(
    run: &Run<'_>,
    repository_id: i64,
    batch: &mut Batch,
    written: &mut Written,
    known: &mut KnownNames,
) -> Result<(), Fault> {
    let Batch { files: changed, chunks, same, .. } = std::mem::take(batch);
    if changed.is_empty() && same.is_empty() {
        return Ok(());
    }
    let mut tx = run.begin_batch().await?;
    files::touch(&mut tx, run.fence, &same).await?;
    let rows = write_batch(&mut tx, run.fence, repository_id, &changed, known).await?;
    tx.commit().await?;
    failpoints::reach("index.batch_written");
    written.changed_files += changed.iter().filter(|file| file.skipped.is_none()).count() as u64;
    written.changed_chunks += rows.chunks + rows.chunks_removed;
    written.same_files += same.len() as u64;
    run.progress.update(|progress| {
        progress.files_done += (changed.len() + same.len()) as u64;
        progress.files_skipped += changed.iter().filter(|file| file.skipped.is_some()).count() as u64;
        progress.chunks += chunks as u64;
    });
    Ok(())
}
