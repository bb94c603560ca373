//! Hardware limits: embedding without a database, memory bandwidth without a search, exact against approximate vector search.

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::corpus::Corpus;
use super::indexing::IndexFigures;
use super::latency::{Latency, count, rounded};
use super::queries::sample_queries;
use crate::Experiment;
use contract::Fault;
use engine::indexing::passage;
use gate::app::blocking;
use store::{ChunkSelection, Index, PendingText, Project, Reads};

/// Number of texts embedded without a database.
const TEXTS: usize = 1_000;
/// Number of vector searches.
const QUERIES: usize = 40;
/// Numbers of candidates at which recall is measured.
const DEPTHS: [usize; 2] = [10, 200];
/// Bytes summed to measure the memory bandwidth: more than any CPU cache.
const MEMORY_BYTES: usize = 256 << 20;
/// Number of measurements; the best one counts.
const ROUNDS: usize = 5;

/// Hardware limits and how close the product comes to them.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Vectors per second of the model alone, on a sample of the same texts.
    pub model_vectors_per_second: f64,
    /// The first index run's rate as a share of it.
    pub embedding_reached: f64,
    /// Memory bandwidth of one core in GB/s.
    pub memory_gb_per_second: f64,
    /// Vectors that exact search reads, in GB/s, including sorting.
    pub exact_gb_per_second: f64,
    /// Latency of exact vector search.
    pub exact: Latency,
    /// The HNSW index, if one exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hnsw: Option<HnswFigures>,
}

/// The HNSW index compared with exact search.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HnswFigures {
    /// Latency of approximate search.
    #[serde(flatten)]
    pub latency: Latency,
    /// Recall of the 10 nearest vectors.
    pub recall_at_10: f64,
    /// Recall of the 200 nearest vectors.
    pub recall_at_200: f64,
}

/// Measures the limits.
pub(super) async fn measure(
    experiment: &Experiment,
    project: &Project,
    corpus: &Corpus,
    indexed: &IndexFigures,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<Limits, Fault> {
    let memory = blocking(|| Ok(memory_gb_per_second())).await?;
    let model = model_vectors_per_second(experiment, project).await?;
    let texts: Vec<String> = corpus.files.iter().map(|file| corpus.text(file)).collect();
    let (exact, hnsw) = vector_search(experiment, project, &sample_queries(&texts, QUERIES)).await?;
    #[expect(clippy::cast_precision_loss, reason = "bytes of vectors, two per number")]
    let gigabytes = (indexed.vectors as f64) * count(project.model().dimensions) * 2.0 / 1e9;
    let limits = Limits {
        model_vectors_per_second: rounded(model),
        embedding_reached: rounded(indexed.vectors_per_second / model.max(1e-9)),
        memory_gb_per_second: rounded(memory),
        exact_gb_per_second: rounded(gigabytes / (exact.p50_ms / 1e3).max(1e-9)),
        exact,
        hnsw,
    };
    on_progress(&format!("model alone: {model:.0} vectors/s; memory: {memory:.1} GB/s"));
    Ok(limits)
}

/// Vectors per second of the model without the database.
async fn model_vectors_per_second(experiment: &Experiment, project: &Project) -> Result<f64, Fault> {
    let mut reads = Index::Postgres(experiment.app.store().await?, project).begin().await?;
    let (ids, _) = reads.listed(&ChunkSelection::All, i64::MAX).await?;
    let sample: Vec<i64> = ids.iter().copied().step_by((ids.len() / TEXTS).max(1)).take(TEXTS).collect();
    let texts = passages(&mut reads, &sample).await?;
    reads.end();
    let embedder = experiment.app.embedder_for(project.model()).await?;
    let embedded = texts.len();
    let took = blocking(move || {
        let started = Instant::now();
        embedder.embed_passages(&texts, &|| false)?;
        Ok(started.elapsed())
    })
    .await?;
    Ok(count(embedded) / took.as_secs_f64().max(1e-9))
}

/// The passages of these chunks as the model reads them.
async fn passages(reads: &mut Reads, ids: &[i64]) -> Result<Vec<String>, Fault> {
    let (rows, texts) = (reads.hydrate(ids).await?, reads.contents(ids).await?);
    let pending = rows.into_iter().zip(texts).map(|(row, (_, content))| PendingText {
        hash: Vec::new(),
        path: row.path,
        name: row.span.name,
        signature: row.span.signature,
        content,
    });
    Ok(pending.map(|text| passage(&text)).collect())
}

/// Vector search alone, exact and approximate.
async fn vector_search(
    experiment: &Experiment,
    project: &Project,
    questions: &[String],
) -> Result<(Latency, Option<HnswFigures>), Fault> {
    let embedder = experiment.app.embedder_for(project.model()).await?;
    let wanted = questions.to_vec();
    let asked = blocking(move || {
        let embedder = Arc::clone(&embedder);
        wanted.iter().map(|text| embedder.embed_query(text)).collect::<Result<Vec<_>, _>>()
    })
    .await?;
    let mut reads = Index::Postgres(experiment.app.store().await?, project).begin().await?;
    let indexed = reads.state().await?.vectors_indexed;
    let (mut exact, mut near) = (Vec::new(), Vec::new());
    let mut recall = DEPTHS.map(|_| 0.0);
    let ef_search = experiment.app.config.search.ef_search;
    let depth = DEPTHS[1];
    for vector in &asked {
        let (took, all) = timed(reads.vector_hits(&ChunkSelection::All, vector, depth as i64)).await?;
        exact.push(took);
        if indexed {
            let approximate = reads.vector_hits_hnsw(&ChunkSelection::All, vector, depth as i64, ef_search);
            let (took, found) = timed(approximate).await?;
            near.push(took);
            let ids =
                |hits: &[store::VectorHit]| -> Vec<i64> { hits.iter().map(|hit| hit.chunk_id).collect() };
            for (sum, depth) in recall.iter_mut().zip(DEPTHS) {
                *sum += recall_at(&ids(&all), &ids(&found), depth) / count(asked.len());
            }
        }
    }
    reads.end();
    let hnsw = indexed.then(|| HnswFigures {
        latency: Latency::from_times(near),
        recall_at_10: rounded(recall[0]),
        recall_at_200: rounded(recall[1]),
    });
    Ok((Latency::from_times(exact), hnsw))
}

async fn timed<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<(Duration, T), Fault> {
    let started = Instant::now();
    let done = work.await?;
    Ok((started.elapsed(), done))
}

/// The share of the first `depth` ids of `exact` that are among the first `depth` of `found`.
fn recall_at(exact: &[i64], found: &[i64], depth: usize) -> f64 {
    let wanted: HashSet<&i64> = exact.iter().take(depth).collect();
    let met = found.iter().take(depth).filter(|id| wanted.contains(id)).count();
    count(met) / count(wanted.len().max(1))
}

/// Memory bandwidth of one core in GB/s: the best of several sums over memory larger than the caches.
fn memory_gb_per_second() -> f64 {
    let numbers: Vec<u64> = (0..MEMORY_BYTES as u64 / 8).collect();
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let sum = black_box(&numbers).iter().fold(0_u64, |sum, number| sum.wrapping_add(*number));
        black_box(sum);
        best = best.min(started.elapsed());
    }
    count(MEMORY_BYTES) / best.as_secs_f64().max(1e-9) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_counts_what_both_found() {
        assert_eq!(recall_at(&[1, 2, 3, 4], &[4, 1, 9, 2], 4), 0.75);
        assert_eq!(recall_at(&[1, 2], &[2, 1, 3], 200), 1.0);
        assert_eq!(recall_at(&[1, 2, 3], &[3], 1), 0.0);
        assert_eq!(recall_at(&[], &[], 10), 0.0);
    }
}
