//! Embeds pending texts page by page. Committed pages are never embedded again.

use std::sync::Arc;
use std::time::Duration;

use super::context::RunContext;
use crate::jobs::Phase;
use contract::{ErrorCode, Fault};
use embedding::Embedder;
use platform::failpoints;
use store::{Access, PendingText, ProjectTx, files, vectors};

/// The result of embedding.
#[derive(Debug, Default)]
pub(super) struct Embedded {
    /// Number of texts embedded.
    pub(super) embedded: u64,
    /// Number of texts without a vector, because no model is installed.
    pub(super) pending: u64,
}

/// Embeds the pending texts of the whole project, and builds the index on vectors as soon as there are enough.
///
/// # Errors
/// Those of [`embed_pending`].
pub(super) async fn complete(run: &RunContext<'_>) -> Result<Embedded, Fault> {
    let embedded = embed_pending(run).await?;
    run.progress.update(|progress| progress.phase = Phase::Finish);
    ensure_hnsw_index(run).await?;
    Ok(embedded)
}

/// Embeds the pending texts of the whole project, including those of interrupted runs.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` if the fence is lost, faults of model and storage; committed batches are kept.
async fn embed_pending(run: &RunContext<'_>) -> Result<Embedded, Fault> {
    let mut done = Embedded::default();
    let pending = count_pending(run).await?;
    let Some(embedder) = &run.embedder else {
        return Ok(Embedded { pending, ..done });
    };
    if pending == 0 {
        record_complete(run).await?;
        return Ok(done);
    }
    run.progress.update(|progress| {
        progress.phase = Phase::Embed;
        progress.vectors_total = Some(pending);
    });
    let started = run.clock.instant();
    let mut after: Option<Vec<u8>> = None;
    let mut batch_texts = FIRST_BATCH_TEXTS;
    loop {
        let page = pending_page(run, after.as_deref()).await?;
        let Some(last) = page.last() else {
            record_complete(run).await?;
            return Ok(done);
        };
        after = Some(last.hash.clone());
        let mut rest = page.as_slice();
        while !rest.is_empty() {
            let batch;
            (batch, rest) = rest.split_at(batch_texts.min(rest.len()));
            batch_texts = (batch_texts * 2).min(BATCH_TEXTS_MAX);
            let vectors = embed_batch(run, embedder, batch).await?;
            let hashes: Vec<Vec<u8>> = batch.iter().map(|text| text.hash.clone()).collect();
            let mut tx = run.begin_batch().await?;
            vectors::insert(&mut tx, run.fence, &hashes, &vectors).await?;
            tx.commit().await?;
            failpoints::reach("index.page_embedded");
            done.embedded += hashes.len() as u64;
            let left = seconds_left(run.clock.instant() - started, done.embedded, pending);
            run.progress.update(|progress| {
                progress.vectors_done = done.embedded;
                progress.seconds_left = left;
            });
        }
    }
}

/// Reports that lexical search is ready and how many texts are pending.
///
/// # Errors
/// Storage faults.
pub(super) async fn report_lexical_ready(run: &RunContext<'_>) -> Result<(), Fault> {
    let pending = count_pending(run).await?;
    run.progress.update(|progress| {
        progress.words_ready = true;
        progress.vectors_total = Some(pending);
    });
    Ok(())
}

/// Separates the parts of a passage's header line.
pub const HEADER_SEPARATOR: &str = " · ";

/// Maximum number of texts that are embedded and committed together: a few seconds of work, so that a crash loses little and progress is
/// visible, but enough to keep all cores busy.
const BATCH_TEXTS_MAX: usize = 128;
/// Size of the first batch. Batches double up to the maximum, so that the rate is known early.
const FIRST_BATCH_TEXTS: usize = 4;

/// Estimates the remaining seconds from the rate so far. Texts are ordered by hash, so later ones are not
/// systematically slower.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "counts and seconds; a float cast saturates"
)]
fn seconds_left(elapsed: Duration, done: u64, total: u64) -> Option<u64> {
    (done > 0)
        .then(|| (elapsed.as_secs_f64() * total.saturating_sub(done) as f64 / done as f64).ceil() as u64)
}

/// Limits the number of vectors of removed texts. Such vectors are kept until they outnumber the chunks, because texts
/// often return (after an undo, on another branch).
///
/// # Errors
/// `ILLEGAL_STATE` if the fence is lost; storage faults.
pub(super) async fn limit_orphans(run: &RunContext<'_>) -> Result<(), Fault> {
    const ALWAYS_KEPT: i64 = 10_000;
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let chunks = files::all_chunks(&mut tx).await?;
    if vectors::are_more_than(&mut tx, 2 * chunks + ALWAYS_KEPT).await? {
        let removed = vectors::remove_orphans(&mut tx, run.fence).await?;
        tracing::info!(removed, "removed vectors of removed texts");
    }
    tx.commit().await
}

/// Builds the HNSW index once there are enough vectors.
///
/// # Errors
/// Storage faults.
async fn ensure_hnsw_index(run: &RunContext<'_>) -> Result<(), Fault> {
    let rows_min = run.config.indexing.hnsw_rows_min;
    vectors::ensure_hnsw(run.store, run.project, run.fence, rows_min, run.maintenance_memory_mb()).await?;
    Ok(())
}

/// Returns the number of texts without a vector.
///
/// # Errors
/// Storage faults.
pub(super) async fn count_pending(run: &RunContext<'_>) -> Result<u64, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let count = vectors::pending_count(&mut tx).await?;
    tx.commit().await?;
    Ok(count.unsigned_abs())
}

async fn record_complete(run: &RunContext<'_>) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    vectors::note_complete(&mut tx, run.fence).await?;
    tx.commit().await
}

/// Returns the next page of texts without a vector, after the hash `after`.
///
/// # Errors
/// Storage faults.
pub(super) async fn pending_page(
    run: &RunContext<'_>,
    after: Option<&[u8]>,
) -> Result<Vec<PendingText>, Fault> {
    let limit = i64::try_from(run.config.embedding.page_chunks).unwrap_or(i64::MAX);
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let page = vectors::pending(&mut tx, after, limit).await?;
    tx.commit().await?;
    Ok(page)
}

async fn embed_batch(
    run: &RunContext<'_>,
    embedder: &Arc<dyn Embedder>,
    batch: &[PendingText],
) -> Result<Vec<Vec<f32>>, Fault> {
    let texts: Vec<String> = batch.iter().map(passage).collect();
    let (embedder, must_stop) = (Arc::clone(embedder), run.stop_check());
    let embedding = platform::task::spawn_blocking(move || embedder.embed_passages(&texts, &must_stop));
    let vectors =
        embedding.await.map_err(|error| Fault::internal("Embedding failed unexpectedly.", error))?;
    if run.cancel.is_cancelled() {
        return Err(Fault::new(
            ErrorCode::Cancelled,
            "The index run was cancelled; committed changes are kept.",
        ));
    }
    vectors
}

/// Returns the input of the model for a chunk: a header line with path, name and signature, then the text.
///
/// The header improves NDCG@10 by 0.01 to 0.03.
#[must_use]
pub fn passage(text: &PendingText) -> String {
    let header = [Some(text.path.as_str()), text.name.as_deref(), text.signature.as_deref()];
    let header: Vec<&str> = header.into_iter().flatten().collect();
    format!("{}\n{}", header.join(HEADER_SEPARATOR), text.content)
}
