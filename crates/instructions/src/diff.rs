//! Differences between the catalog and a client's copy of it.

use std::collections::{BTreeMap, BTreeSet};

use platform::sha256;
use serde::Serialize;

use crate::canonical::{Hash, catalog_hash, parse_hash};
use schemars::JsonSchema;

/// Maximum number of digits of a bucket's name.
const BUCKET_DIGITS_MAX: usize = 2;

/// The hashes of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashes {
    /// Of its body.
    pub source: Hash,
    /// Of its metadata.
    pub meta: Hash,
}

/// The hashes of all entries, by id.
pub type CatalogHashes = BTreeMap<String, Hashes>;

/// A client's copy of one entry. A text that is not a hash equals no hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Id.
    pub id: String,
    /// Hash of the body that the client has.
    pub source: Option<Hash>,
    /// Hash of the metadata that it has; `None` if the client did not send it.
    pub meta: Option<Option<Hash>>,
}

impl Known {
    /// Creates it from a client's data, with hashes as text.
    #[must_use]
    pub fn new(id: String, source_hash: &str, meta_hash: Option<&str>) -> Self {
        Self { id, source: parse_hash(source_hash), meta: meta_hash.map(parse_hash) }
    }
}

/// The difference, as ids in byte order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Entries that the client lacks.
    pub added: Vec<String>,
    /// Entries that the client has in another version.
    pub updated: Vec<String>,
    /// Entries that only the client has.
    pub removed: Vec<String>,
}

impl Difference {
    /// Returns `true` if there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.updated.is_empty() && self.removed.is_empty()
    }
}

/// Compares the catalog with what a client has, within `buckets` if any are named. If an id is given twice, the first counts.
#[must_use]
pub fn difference(current: &CatalogHashes, known: &[Known], buckets: &[String]) -> Difference {
    let buckets: BTreeSet<&str> = buckets.iter().map(String::as_str).collect();
    let covers = |id: &str| {
        buckets.is_empty() || {
            let hash = sha256::digest_hex(id.as_bytes());
            (1..=BUCKET_DIGITS_MAX).any(|digits| buckets.contains(&hash[..digits]))
        }
    };
    let mut by_id: BTreeMap<&str, &Known> = BTreeMap::new();
    for entry in known.iter().filter(|entry| covers(&entry.id)) {
        by_id.entry(&entry.id).or_insert(entry);
    }
    let mut difference = Difference::default();
    for (id, hashes) in current.iter().filter(|(id, _)| covers(id)) {
        match by_id.get(id.as_str()) {
            None => difference.added.push(id.clone()),
            Some(known) if is_equal(known, hashes) => (),
            Some(_) => difference.updated.push(id.clone()),
        }
    }
    let removed: BTreeSet<&str> = by_id.into_keys().filter(|id| !current.contains_key(*id)).collect();
    difference.removed = removed.into_iter().map(str::to_owned).collect();
    difference
}

fn is_equal(known: &Known, hashes: &Hashes) -> bool {
    known.source == Some(hashes.source) && known.meta.is_none_or(|meta| meta == Some(hashes.meta))
}

/// The checksum of the entries whose ids hash to a common prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bucket {
    /// First one or two hexadecimal digits of SHA-256 of the ids.
    pub bucket: String,
    /// Its entries.
    pub count: usize,
    /// SHA-256 of `id:sourceHash:metaHash`, joined by `|`, in the order of ids.
    pub hash: String,
}

/// Returns the buckets that have entries, in order; `digits` is 1 or 2.
#[must_use]
pub fn buckets(current: &CatalogHashes, digits: usize) -> Vec<Bucket> {
    let mut texts: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (id, Hashes { source, meta }) in current {
        let mut prefix = sha256::digest_hex(id.as_bytes());
        prefix.truncate(digits);
        let (count, text) = texts.entry(prefix).or_default();
        if *count > 0 {
            text.push('|');
        }
        *count += 1;
        text.push_str(&format!("{id}:{}:{}", sha256::to_hex(source), sha256::to_hex(meta)));
    }
    let bucket = |(bucket, (count, text)): (String, (usize, String))| Bucket {
        bucket,
        count,
        hash: sha256::digest_hex(text.as_bytes()),
    };
    texts.into_iter().map(bucket).collect()
}

/// Returns the catalog hash and the metadata hash.
#[must_use]
pub fn catalog_hashes(current: &CatalogHashes) -> (Hash, Hash) {
    let hash =
        |of: fn(&Hashes) -> &Hash| catalog_hash(current.iter().map(|(id, hashes)| (id.as_str(), of(hashes))));
    (hash(|hashes| &hashes.source), hash(|hashes| &hashes.meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(number: u8) -> Hashes {
        Hashes { source: [number; 32], meta: [number + 100; 32] }
    }

    fn catalog() -> CatalogHashes {
        [("a", 1), ("b", 2), ("c", 3)].map(|(id, number)| (id.to_owned(), hashes(number))).into()
    }

    fn known(id: &str, source: u8, meta: Option<u8>) -> Known {
        let text = |number: u8| sha256::to_hex(&[number; 32]);
        Known::new(id.to_owned(), &text(source), meta.map(text).as_deref())
    }

    #[test]
    fn entries_are_added_updated_and_removed() {
        let client = [known("a", 1, None), known("b", 9, None), known("z", 1, None), known("b", 2, None)];
        let difference = difference(&catalog(), &client, &[]);
        assert_eq!(difference.added, ["c"]);
        assert_eq!(difference.updated, ["b"], "the first of two counts");
        assert_eq!(difference.removed, ["z"]);
        assert_eq!(super::difference(&catalog(), &[], &[]).added, ["a", "b", "c"]);
    }

    #[test]
    fn metadata_counts_only_where_it_is_given() {
        let all = |meta: Option<u8>| [known("a", 1, meta), known("b", 2, None), known("c", 3, None)];
        assert!(difference(&catalog(), &all(None), &[]).is_empty());
        assert!(difference(&catalog(), &all(Some(101)), &[]).is_empty());
        assert_eq!(difference(&catalog(), &all(Some(7)), &[]).updated, ["a"]);
        let odd = [Known::new("a".into(), "?", None), known("b", 2, None), known("c", 3, None)];
        assert_eq!(difference(&catalog(), &odd, &[]).updated, ["a"]);
    }

    #[test]
    fn buckets_limit_what_is_compared() {
        let bucket_of = |id: &str| sha256::digest_hex(id.as_bytes())[..2].to_owned();
        let client = [known("a", 9, None), known("z", 1, None)];
        let difference = difference(&catalog(), &client, &[bucket_of("a")]);
        assert_eq!((difference.updated.as_slice(), difference.added.len()), (&["a".to_owned()][..], 0));
        assert!(difference.removed.is_empty());
        let buckets = buckets(&catalog(), 2);
        assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<usize>(), 3);
        let text = format!("a:{}:{}", sha256::to_hex(&[1; 32]), sha256::to_hex(&[101; 32]));
        let first = buckets.iter().find(|bucket| bucket.bucket == bucket_of("a")).unwrap();
        assert_eq!((first.count, first.hash.as_str()), (1, sha256::digest_hex(text.as_bytes()).as_str()));
    }
}
