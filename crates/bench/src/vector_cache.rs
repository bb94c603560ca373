//! A cache of vectors in a file, because quality benchmarks run many times over the same texts.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use contract::Fault;
use contract::ModelIdentity;
use embedding::Embedder;

/// Number of texts embedded between two writes to the file.
const BATCH_TEXTS: usize = 64;

/// The BLAKE3 hash of a text.
type Key = [u8; 32];

/// An embedder that reads vectors from its file before it computes them.
pub(super) struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Mutex<VectorCache>,
}

struct VectorCache {
    known: HashMap<Key, Arc<[f32]>>,
    file: File,
}

impl CachedEmbedder {
    /// Opens or creates the model's cache file in `folder`.
    pub(super) fn open(inner: Arc<dyn Embedder>, folder: &Path) -> Result<Self, Fault> {
        let name = blake3::Hash::from(inner.model().hash).to_hex();
        let path = folder.join(format!("vectors-{}", &name[..16]));
        let open = || -> io::Result<VectorCache> {
            std::fs::create_dir_all(folder)?;
            let file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
            let known = read_records(&file, inner.model().dimensions)?;
            Ok(VectorCache { known, file })
        };
        let cache = open()
            .map_err(|error| Fault::internal(format!("{} could not be read.", path.display()), error))?;
        Ok(Self { inner, cache: Mutex::new(cache) })
    }

    fn cached_vector(&self, text: &str) -> Option<Vec<f32>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.known.get(blake3::hash(text.as_bytes()).as_bytes()).map(|vector| vector.to_vec())
    }

    fn append(&self, texts: &[&String], vectors: &[Vec<f32>]) -> io::Result<()> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        for (text, vector) in texts.iter().zip(vectors) {
            let key = *blake3::hash(text.as_bytes()).as_bytes();
            bytes.extend(key);
            bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
            cache.known.insert(key, vector.as_slice().into());
        }
        cache.file.write_all(&bytes)
    }
}

/// Reads all records; truncates an incomplete one that an interrupted run left at the end.
fn read_records(file: &File, dimensions: usize) -> io::Result<HashMap<Key, Arc<[f32]>>> {
    let record = size_of::<Key>() + dimensions * size_of::<f32>();
    let whole = file.metadata()?.len() / record as u64;
    file.set_len(whole * record as u64)?;
    let mut reader = BufReader::new(file);
    let mut known = HashMap::new();
    let mut bytes = vec![0; record];
    for _ in 0..whole {
        reader.read_exact(&mut bytes)?;
        let (key, numbers) = bytes.split_at(size_of::<Key>());
        let vector = numbers.chunks_exact(size_of::<f32>()).map(|number| {
            let mut four = [0; size_of::<f32>()];
            four.copy_from_slice(number);
            f32::from_le_bytes(four)
        });
        let mut hash = Key::default();
        hash.copy_from_slice(key);
        known.insert(hash, vector.collect());
    }
    Ok(known)
}

impl Embedder for CachedEmbedder {
    fn model(&self) -> &ModelIdentity {
        self.inner.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        for part in texts.chunks(BATCH_TEXTS) {
            let new: Vec<&String> = part.iter().filter(|text| self.cached_vector(text).is_none()).collect();
            if !new.is_empty() {
                let owned: Vec<String> = new.iter().map(|text| (*text).clone()).collect();
                let vectors = self.inner.embed_passages(&owned, cancelled)?;
                self.append(&new, &vectors).map_err(|error| {
                    Fault::internal("The vectors of a benchmark could not be cached.", error)
                })?;
            }
        }
        Ok(texts.iter().filter_map(|text| self.cached_vector(text)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.inner.embed_query(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use embedding::StubEmbedder;

    #[test]
    fn a_vector_is_made_once_and_survives_a_torn_record() {
        let folder = tempfile::tempdir().unwrap();
        let open = || CachedEmbedder::open(Arc::new(StubEmbedder::default()), folder.path()).unwrap();
        let texts = vec!["one".to_owned(), "two".to_owned()];
        let made = open().embed_passages(&texts, &|| false).unwrap();
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::metadata(&file).unwrap().len();
        OpenOptions::new().append(true).open(&file).unwrap().write_all(b"torn").unwrap();
        let again = open();
        assert_eq!(std::fs::metadata(&file).unwrap().len(), whole);
        assert_eq!(again.cache.lock().unwrap().known.len(), 2);
        assert_eq!(again.embed_passages(&texts, &|| false).unwrap(), made);
        assert_eq!(std::fs::metadata(&file).unwrap().len(), whole, "nothing was made again");
    }
}
