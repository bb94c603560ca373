//! The real files that growth is made of: read once, embedded once.

use std::path::PathBuf;
use std::sync::Arc;

use super::copies::Vocabulary;
use crate::app::blocking;
use crate::bench::Lab;
use contract::{ErrorCode, Fault};
use embedding::Embedder;
use engine::indexing::{passage, read_folder};
use store::{FileWrite, PendingText};

/// Chunks that are taken at most.
const CHUNKS_MAX: usize = 20_000;
/// Texts embedded between two words about it.
const PART: usize = 1_000;

/// Files with the vectors of their chunks.
pub(super) struct Corpus {
    pub(super) files: Vec<FileWrite>,
    /// Of all chunks, file by file.
    pub(super) vectors: Vec<Vec<f32>>,
    /// Place of each file's first chunk in `vectors`.
    pub(super) first: Vec<usize>,
    pub(super) vocabulary: Vocabulary,
    /// Hash of all texts.
    pub(super) fingerprint: String,
}

impl Corpus {
    /// Reads the files below `folder` and embeds their chunks; of a larger folder files spread over all of it.
    ///
    /// # Errors
    /// As the walk; `INVALID_REQUEST` when there is nothing to index; faults of the model.
    pub(super) async fn read(
        lab: &Lab,
        folder: PathBuf,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, Fault> {
        let (settings, parsing) = (lab.app.config.indexing.clone(), lab.app.parsing.clone());
        let files = blocking(move || read_folder(&folder, &settings, parsing)).await?;
        let files = spread(files, CHUNKS_MAX);
        let mut first = Vec::with_capacity(files.len());
        let (mut passages, mut hasher) = (Vec::new(), blake3::Hasher::new());
        for file in &files {
            first.push(passages.len());
            for chunk in &file.chunks {
                hasher.update(&chunk.content_hash);
                passages.push(passage(&PendingText {
                    hash: Vec::new(),
                    path: file.path.clone(),
                    name: chunk.name.clone(),
                    signature: chunk.signature.clone(),
                    content: chunk.content.clone(),
                }));
            }
        }
        if passages.is_empty() {
            return Err(Fault::new(
                ErrorCode::InvalidRequest,
                "The folder holds no file that can be indexed.",
            ));
        }
        tell(&format!("{} files, {} chunks", files.len(), passages.len()));
        let vectors = embedded(lab.app.embedder().await?, passages, tell).await?;
        let texts = files.iter().flat_map(|file| &file.chunks).map(|chunk| chunk.content.as_str());
        let vocabulary = Vocabulary::of(texts);
        let fingerprint = hasher.finalize().to_hex()[..16].to_owned();
        Ok(Self { vocabulary, files, vectors, first, fingerprint })
    }

    /// Chunks of all files.
    pub(super) fn chunks(&self) -> usize {
        self.vectors.len()
    }
}

async fn embedded(
    embedder: &Arc<dyn Embedder>,
    passages: Vec<String>,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Vec<f32>>, Fault> {
    let mut vectors = Vec::with_capacity(passages.len());
    for part in passages.chunks(PART) {
        let (embedder, part) = (Arc::clone(embedder), part.to_vec());
        vectors.extend(blocking(move || embedder.embed_passages(&part, &|| false)).await?);
        tell(&format!("{} of {} chunks have their vectors", vectors.len(), passages.len()));
    }
    Ok(vectors)
}

/// Every nth file, such that at most `most` chunks are left.
fn spread(files: Vec<FileWrite>, most: usize) -> Vec<FileWrite> {
    let chunks: usize = files.iter().map(|file| file.chunks.len()).sum();
    let each = chunks.div_ceil(most).max(1);
    files.into_iter().step_by(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::ChunkWrite;

    #[test]
    fn of_too_many_files_a_part_is_taken_from_everywhere() {
        let file = |_| FileWrite { chunks: vec![ChunkWrite::default(); 2], ..FileWrite::default() };
        let files: Vec<FileWrite> = (0..10).map(file).collect();
        assert_eq!(spread(files.clone(), 20).len(), 10);
        assert_eq!(spread(files.clone(), 19).len(), 5);
        assert_eq!(spread(files, 1).len(), 1);
    }
}
