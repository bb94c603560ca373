//! Merges the ranked candidates of several repositories.
//!
//! Each repository keeps its own order. Its list takes places by scores that depend on nothing outside of the repository, so a
//! further repository pushes hits down, but never reorders two hits of another.

use std::collections::HashMap;

use super::part::RankedPart;
use super::rank::{CandidateFacts, RankedChunk};

/// Hits among which the repository is sought whose confidence is that of the answer.
const JUDGED_HITS: usize = 10;

/// The merged candidates.
pub(super) struct Merged {
    /// Best first.
    pub(super) chunks: Vec<RankedChunk>,
    /// Which of the parts have one of the first hits, the part of the first hit first.
    pub(super) first_parts: Vec<usize>,
}

/// Merges `parts`, whose repositories have the `roots`; ties are broken by path, root and line.
pub(super) fn merge(parts: &[RankedPart], roots: &[&str]) -> Merged {
    let places: Vec<HashMap<i64, &CandidateFacts>> = parts.iter().map(by_chunk).collect();
    let mut merged: Vec<(usize, RankedChunk)> = Vec::new();
    // The next chunk of each part. Each part has at least as many candidates of a first page as that page has hits, so further
    // candidates, which follow them, do not change it.
    let mut heads: Vec<usize> = vec![0; parts.len()];
    loop {
        let open = (0..parts.len()).filter(|part| heads[*part] < parts[*part].chunks.len());
        let best = open.min_by(|a, b| {
            let score = |part: usize| parts[part].places[heads[part]];
            let location = |part: usize| {
                let facts = places[part].get(&parts[part].chunks[heads[part]].chunk_id);
                (facts.map(|facts| (facts.path.as_str(), roots[part], facts.start_line)), part)
            };
            score(*b).total_cmp(&score(*a)).then_with(|| location(*a).cmp(&location(*b)))
        });
        let Some(part) = best else { break };
        let at = heads[part];
        let score = parts[part].places[at];
        merged.push((part, RankedChunk { score, ..parts[part].chunks[at].clone() }));
        heads[part] += 1;
    }
    let mut first_parts: Vec<usize> = Vec::new();
    for (part, _) in merged.iter().take(JUDGED_HITS) {
        if !first_parts.contains(part) {
            first_parts.push(*part);
        }
    }
    Merged { chunks: merged.into_iter().map(|(_, chunk)| chunk).collect(), first_parts }
}

fn by_chunk(part: &RankedPart) -> HashMap<i64, &CandidateFacts> {
    part.facts.iter().map(|facts| (facts.chunk_id, facts)).collect()
}
