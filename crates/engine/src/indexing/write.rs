//! Writes prepared files and removes vanished ones in batches, one transaction each. A batch is limited by files, chunks and time.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::context::RunContext;
use super::plan::FileToRead;
use super::prepare::{self, PrepareOptions, Prepared};
use super::report::SkipCounter;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::{Access, FileWrite, KnownNames, ProjectTx, files, files::Touched, write_batch, write_versions};

/// Maximum number of prepared files that wait for the writer: enough to keep the writer busy, but few enough to limit
/// memory.
const PREPARED_FILES_MAX: usize = 64;

/// Counts of written files.
#[derive(Debug, Default)]
pub(super) struct WriteCounts {
    /// Number of files whose rows were replaced.
    pub(super) changed_files: u64,
    /// Number of chunks written plus chunks removed.
    pub(super) changed_chunks: i64,
    /// Number of files whose content was unchanged.
    pub(super) unchanged_files: u64,
    /// Number of searchable files among those read.
    pub(super) searchable: u64,
    /// Number of redacted secrets.
    pub(super) redacted: u64,
}

#[derive(Default)]
struct FileBatch {
    files: Vec<FileWrite>,
    chunks: usize,
    unchanged: Vec<Touched>,
    /// Time of the first file.
    started: Option<Instant>,
}

/// The repository to write to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// A repository.
    Repository(i64),
    /// The hidden repository of files that only revisions have.
    Hidden(i64),
}

/// Reads, chunks and writes the files `to_read`, committing batch by batch.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` if the fence is lost, storage faults; committed batches are kept.
pub(super) async fn write_files(
    run: &RunContext<'_>,
    target: Target,
    to_read: Vec<FileToRead>,
    options: PrepareOptions,
    skips: &mut SkipCounter,
) -> Result<WriteCounts, Fault> {
    let (sender, mut receiver) = mpsc::channel(PREPARED_FILES_MAX);
    let (root, settings, cancel) = (run.open_root()?, run.config.indexing.clone(), run.cancel.clone());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let preparing = platform::task::spawn_blocking(move || {
        prepare::prepare_all(&root, to_read, &settings, &options, threads, &sender, &cancel);
    });
    let mut written = WriteCounts::default();
    let mut batch = FileBatch::default();
    let mut known = KnownNames::default();
    while let Some(prepared) = receiver.recv().await {
        run.progress.touch();
        add_to_batch(&mut batch, &mut written, skips, prepared?);
        if batch.is_full(run) {
            commit_batch(run, target, &mut batch, &mut written, &mut known).await?;
        }
    }
    commit_batch(run, target, &mut batch, &mut written, &mut known).await?;
    preparing.await.map_err(|error| Fault::internal("Reading the files failed unexpectedly.", error))?;
    if run.cancel.is_cancelled() {
        return Err(Fault::new(
            ErrorCode::Cancelled,
            "The index run was cancelled; committed changes are kept.",
        ));
    }
    Ok(written)
}

fn add_to_batch(
    batch: &mut FileBatch,
    written: &mut WriteCounts,
    skips: &mut SkipCounter,
    prepared: Prepared,
) {
    batch.started.get_or_insert_with(Instant::now);
    match prepared {
        Prepared::OtherMode => {}
        Prepared::Unchanged(touched) => {
            written.searchable += 1;
            batch.unchanged.push(touched);
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

impl FileBatch {
    fn is_full(&self, run: &RunContext<'_>) -> bool {
        let limits = &run.config.indexing;
        let age = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        self.files.len() + self.unchanged.len() >= limits.batch_files
            || self.chunks >= limits.batch_chunks
            || age >= Duration::from_millis(limits.batch_ms)
    }
}

async fn commit_batch(
    run: &RunContext<'_>,
    target: Target,
    batch: &mut FileBatch,
    written: &mut WriteCounts,
    known: &mut KnownNames,
) -> Result<(), Fault> {
    let FileBatch { files: changed, chunks, unchanged, .. } = std::mem::take(batch);
    if changed.is_empty() && unchanged.is_empty() {
        return Ok(());
    }
    let mut tx = run.begin_batch().await?;
    files::touch(&mut tx, run.fence, &unchanged).await?;
    let rows = match target {
        Target::Repository(id) => write_batch(&mut tx, run.fence, id, &changed, known).await?,
        Target::Hidden(id) => write_versions(&mut tx, run.fence, id, &changed, known).await?,
    };
    tx.commit().await?;
    failpoints::reach("index.batch_written");
    written.changed_files += changed.iter().filter(|file| file.skipped.is_none()).count() as u64;
    written.changed_chunks += rows.chunks + rows.chunks_removed;
    written.unchanged_files += unchanged.len() as u64;
    run.progress.update(|progress| {
        progress.files_done += (changed.len() + unchanged.len()) as u64;
        progress.files_skipped += changed.iter().filter(|file| file.skipped.is_some()).count() as u64;
        progress.chunks += chunks as u64;
    });
    Ok(())
}

/// Removes vanished files; returns the number of removed chunks.
pub(super) async fn remove_files(run: &RunContext<'_>, ids: &[i64]) -> Result<i64, Fault> {
    let mut chunks = 0;
    for batch in ids.chunks(run.config.indexing.batch_files.max(1)) {
        let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
        chunks += files::delete(&mut tx, run.fence, batch).await?;
        tx.commit().await?;
    }
    Ok(chunks)
}
