//! Vectors that were made once for a benchmark, kept in a file: questions about quality are asked of many states of the
//! same repositories, and what a text's vector is does not depend on when it was made.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use contract::Fault;
use contract::ModelIdentity;
use embedding::Embedder;

/// Texts embedded between two writes.
const PART: usize = 64;

type Key = [u8; 32];

/// An embedder that looks in its file first.
pub(super) struct Memo {
    inner: Arc<dyn Embedder>,
    state: Mutex<State>,
}

struct State {
    known: HashMap<Key, Arc<[f32]>>,
    file: File,
}

impl Memo {
    /// Opens or makes the file of the model in `folder`.
    pub(super) fn open(inner: Arc<dyn Embedder>, folder: &Path) -> Result<Self, Fault> {
        let name = blake3::Hash::from(inner.model().hash).to_hex();
        let path = folder.join(format!("vectors-{}", &name[..16]));
        let open = || -> io::Result<State> {
            std::fs::create_dir_all(folder)?;
            let file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
            let known = read(&file, inner.model().dimensions)?;
            Ok(State { known, file })
        };
        let state =
            open().map_err(|error| Fault::internal(format!("{} cannot be read.", path.display()), error))?;
        Ok(Self { inner, state: Mutex::new(state) })
    }

    fn known(&self, text: &str) -> Option<Vec<f32>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.known.get(blake3::hash(text.as_bytes()).as_bytes()).map(|vector| vector.to_vec())
    }

    fn keep(&self, texts: &[&String], vectors: &[Vec<f32>]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        for (text, vector) in texts.iter().zip(vectors) {
            let key = *blake3::hash(text.as_bytes()).as_bytes();
            bytes.extend(key);
            bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
            state.known.insert(key, vector.as_slice().into());
        }
        state.file.write_all(&bytes)
    }
}

/// What the file holds; a record that a run left unfinished is cut off.
fn read(file: &File, dimensions: usize) -> io::Result<HashMap<Key, Arc<[f32]>>> {
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

impl Embedder for Memo {
    fn model(&self) -> &ModelIdentity {
        self.inner.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        for part in texts.chunks(PART) {
            let new: Vec<&String> = part.iter().filter(|text| self.known(text).is_none()).collect();
            if !new.is_empty() {
                let owned: Vec<String> = new.iter().map(|text| (*text).clone()).collect();
                let vectors = self.inner.embed_passages(&owned, cancelled)?;
                self.keep(&new, &vectors)
                    .map_err(|error| Fault::internal("The vectors of a benchmark cannot be kept.", error))?;
            }
        }
        Ok(texts.iter().filter_map(|text| self.known(text)).collect())
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
        let open = || Memo::open(Arc::new(StubEmbedder::default()), folder.path()).unwrap();
        let texts = vec!["one".to_owned(), "two".to_owned()];
        let made = open().embed_passages(&texts, &|| false).unwrap();
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::metadata(&file).unwrap().len();
        OpenOptions::new().append(true).open(&file).unwrap().write_all(b"torn").unwrap();
        let again = open();
        assert_eq!(std::fs::metadata(&file).unwrap().len(), whole);
        assert_eq!(again.state.lock().unwrap().known.len(), 2);
        assert_eq!(again.embed_passages(&texts, &|| false).unwrap(), made);
        assert_eq!(std::fs::metadata(&file).unwrap().len(), whole, "nothing was made again");
    }
}
