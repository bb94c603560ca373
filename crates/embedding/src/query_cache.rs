//! A cache of the vectors of recent queries: people and agents repeat queries.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// A least-recently-used map from text to vector.
pub(super) struct QueryCache {
    entries_max: usize,
    state: Mutex<CacheState>,
}

#[derive(Default)]
struct CacheState {
    /// Number of uses so far, as a logical clock.
    clock: u64,
    vectors: HashMap<QueryHash, (u64, Vec<f32>)>,
    by_use: BTreeMap<u64, QueryHash>,
}

/// Hash of the text, so that long queries take as little memory as short ones.
type QueryHash = [u8; 32];

impl QueryCache {
    /// A cache of `entries_max` vectors; 0 keeps none.
    pub(super) fn new(entries_max: usize) -> Self {
        Self { entries_max, state: Mutex::default() }
    }

    /// The cached vector of `text`.
    pub(super) fn get(&self, text: &str) -> Option<Vec<f32>> {
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = state.vectors.get(&key)?.1.clone();
        state.touch(key, vector.clone());
        Some(vector)
    }

    /// Caches `vector`, and evicts the least recently used one when the cache is full.
    pub(super) fn insert(&self, text: &str, vector: &[f32]) {
        if self.entries_max == 0 {
            return;
        }
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.touch(key, vector.to_vec());
        while state.vectors.len() > self.entries_max {
            let Some((_, oldest)) = state.by_use.pop_first() else { break };
            state.vectors.remove(&oldest);
        }
    }
}

impl CacheState {
    fn touch(&mut self, key: QueryHash, vector: Vec<f32>) {
        self.clock += 1;
        if let Some((used, _)) = self.vectors.insert(key, (self.clock, vector)) {
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.clock, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicts_the_least_recently_used_query() {
        let cache = QueryCache::new(2);
        cache.insert("a", &[1.0]);
        cache.insert("b", &[2.0]);
        assert_eq!(cache.get("a"), Some(vec![1.0]));
        cache.insert("c", &[3.0]);
        assert_eq!(
            (cache.get("a"), cache.get("b"), cache.get("c")),
            (Some(vec![1.0]), None, Some(vec![3.0]))
        );
        cache.insert("c", &[4.0]);
        assert_eq!((cache.get("a"), cache.get("c")), (Some(vec![1.0]), Some(vec![4.0])));
    }

    #[test]
    fn a_cache_of_size_zero_stores_nothing() {
        let cache = QueryCache::new(0);
        cache.insert("a", &[1.0]);
        assert_eq!(cache.get("a"), None);
    }
}
