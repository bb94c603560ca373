//! How near the figures are to what this machine does: the model without a database, memory without a search, and the
//! approximate leg beside the exact one.

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::corpus::Corpus;
use super::indexing::Indexed;
use super::latency::{Latency, count, rounded};
use super::wording::questions;
use crate::app::blocking;
use crate::bench::Lab;
use contract::Fault;
use engine::indexing::passage;
use store::{Index, PendingText, Project, Reads, Within};

/// Texts embedded without a database.
const TEXTS: usize = 1_000;
/// Questions whose vectors are compared with all others.
const QUESTIONS: usize = 40;
/// Candidates of the dense leg, as far as they are compared with the exact ones.
const DEPTHS: [usize; 2] = [10, 200];
/// Bytes of the memory that is summed up: more than any cache holds.
const MEMORY_BYTES: usize = 256 << 20;
/// The best of so many counts.
const ROUNDS: usize = 5;

/// What the machine does at most, and how much of it is reached.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Vectors a second of the model alone, over a sample of the same texts.
    pub model_vectors_per_second: f64,
    /// What the first run reached of it.
    pub embedding_reached: f64,
    /// Gigabytes a second when one core sums up memory.
    pub memory_gb_per_second: f64,
    /// Gigabytes of vectors a second that the exact comparison reads, sorting included.
    pub exact_gb_per_second: f64,
    /// The exact comparison with every vector.
    pub exact: Latency,
    /// The HNSW index; none where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hnsw: Option<Hnsw>,
}

/// The HNSW index beside the exact comparison.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hnsw {
    /// Times.
    #[serde(flatten)]
    pub latency: Latency,
    /// Share of the 10 nearest that it finds among its first 10.
    pub recall_at_10: f64,
    /// … of the 200 nearest.
    pub recall_at_200: f64,
}

/// Measures the limits.
pub(super) async fn measure(
    lab: &Lab,
    project: &Project,
    corpus: &Corpus,
    indexed: &Indexed,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Limits, Fault> {
    let memory = blocking(|| Ok(memory_gb_per_second())).await?;
    let model = model_alone(lab, project).await?;
    let texts: Vec<String> = corpus.files.iter().map(|file| corpus.text(file)).collect();
    let (exact, hnsw) = dense(lab, project, &questions(&texts, QUESTIONS)).await?;
    #[expect(clippy::cast_precision_loss, reason = "bytes of vectors, two a number")]
    let gigabytes = (indexed.vectors as f64) * count(project.model().dimensions) * 2.0 / 1e9;
    let limits = Limits {
        model_vectors_per_second: rounded(model),
        embedding_reached: rounded(indexed.vectors_per_second / model.max(1e-9)),
        memory_gb_per_second: rounded(memory),
        exact_gb_per_second: rounded(gigabytes / (exact.p50_ms / 1e3).max(1e-9)),
        exact,
        hnsw,
    };
    tell(&format!("the model alone: {model:.0} vectors/s; memory: {memory:.1} GB/s"));
    Ok(limits)
}

/// Vectors a second of the model with nothing beside it.
async fn model_alone(lab: &Lab, project: &Project) -> Result<f64, Fault> {
    let mut reads = Index::Postgres(lab.app.store().await?, project).begin().await?;
    let (ids, _) = reads.listed(&Within::Everything, i64::MAX).await?;
    let sample: Vec<i64> = ids.iter().copied().step_by((ids.len() / TEXTS).max(1)).take(TEXTS).collect();
    let texts = passages(&mut reads, &sample).await?;
    reads.end();
    let embedder = lab.app.embedder_for(project.model()).await?;
    let embedded = texts.len();
    let took = blocking(move || {
        let started = Instant::now();
        embedder.embed_passages(&texts, &|| false)?;
        Ok(started.elapsed())
    })
    .await?;
    Ok(count(embedded) / took.as_secs_f64().max(1e-9))
}

/// What the model reads of these chunks.
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

/// The dense leg alone, exact and approximate.
async fn dense(lab: &Lab, project: &Project, questions: &[String]) -> Result<(Latency, Option<Hnsw>), Fault> {
    let embedder = lab.app.embedder_for(project.model()).await?;
    let wanted = questions.to_vec();
    let asked = blocking(move || {
        let embedder = Arc::clone(&embedder);
        wanted.iter().map(|text| embedder.embed_query(text)).collect::<Result<Vec<_>, _>>()
    })
    .await?;
    let mut reads = Index::Postgres(lab.app.store().await?, project).begin().await?;
    let indexed = reads.state().await?.vectors_indexed;
    let (mut exact, mut near) = (Vec::new(), Vec::new());
    let mut recall = DEPTHS.map(|_| 0.0);
    let ef_search = lab.app.config.search.ef_search;
    let depth = DEPTHS[1];
    for vector in &asked {
        let (took, all) = timed(reads.by_meaning(&Within::Everything, vector, depth as i64)).await?;
        exact.push(took);
        if indexed {
            let approximate = reads.by_meaning_hnsw(&Within::Everything, vector, depth as i64, ef_search);
            let (took, found) = timed(approximate).await?;
            near.push(took);
            let ids =
                |hits: &[store::VectorHit]| -> Vec<i64> { hits.iter().map(|hit| hit.chunk_id).collect() };
            for (sum, depth) in recall.iter_mut().zip(DEPTHS) {
                *sum += shared(&ids(&all), &ids(&found), depth) / count(asked.len());
            }
        }
    }
    reads.end();
    let hnsw = indexed.then(|| Hnsw {
        latency: Latency::of(near),
        recall_at_10: rounded(recall[0]),
        recall_at_200: rounded(recall[1]),
    });
    Ok((Latency::of(exact), hnsw))
}

async fn timed<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<(Duration, T), Fault> {
    let started = Instant::now();
    let done = work.await?;
    Ok((started.elapsed(), done))
}

/// The share of the first `depth` of `exact` that is among the first of `found`.
fn shared(exact: &[i64], found: &[i64], depth: usize) -> f64 {
    let wanted: HashSet<&i64> = exact.iter().take(depth).collect();
    let met = found.iter().take(depth).filter(|id| wanted.contains(id)).count();
    count(met) / count(wanted.len().max(1))
}

/// Gigabytes a second of the best of a few sums over memory that no cache holds.
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
        assert_eq!(shared(&[1, 2, 3, 4], &[4, 1, 9, 2], 4), 0.75);
        assert_eq!(shared(&[1, 2], &[2, 1, 3], 200), 1.0);
        assert_eq!(shared(&[1, 2, 3], &[3], 1), 0.0);
        assert_eq!(shared(&[], &[], 10), 0.0);
    }
}
