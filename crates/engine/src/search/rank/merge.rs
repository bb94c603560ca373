//! Merges the ranked candidates of several repositories.
//!
//! Each repository keeps its own order. Its list takes places by scores that depend on nothing outside of the repository, so a further
//! repository pushes hits down, but never reorders two hits of another one.

use std::collections::HashMap;

use crate::search::rank::scores::{CandidateFacts, RankedChunk};
use crate::search::retrieve::part::RankedPart;

/// Merges `parts`, whose repositories have the `roots`, best first; ties are broken by path, root and line. Returns each chunk with
/// its part.
pub(in crate::search) fn merge(parts: &[RankedPart], roots: &[&str]) -> Vec<(usize, RankedChunk)> {
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
    merged
}

fn by_chunk(part: &RankedPart) -> HashMap<i64, &CandidateFacts> {
    part.facts.iter().map(|facts| (facts.chunk_id, facts)).collect()
}
