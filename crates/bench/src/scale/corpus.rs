//! The real files from which projects are generated, read and embedded once.

use std::path::PathBuf;
use std::sync::Arc;

use super::copies::ReplaceableWords;
use crate::Experiment;
use contract::{ErrorCode, Fault};
use embedding::Embedder;
use engine::indexing::{passage, read_folder};
use gate::app::blocking;
use store::{FileWrite, PendingText};

/// Maximum number of chunks.
const CHUNKS_MAX: usize = 20_000;
/// Number of texts embedded between two progress lines.
const BATCH_TEXTS: usize = 1_000;

/// Files with the vectors of their chunks.
pub(super) struct Corpus {
    pub(super) files: Vec<FileWrite>,
    /// Vectors of all chunks, file by file.
    pub(super) vectors: Vec<Vec<f32>>,
    /// Index of each file's first chunk in `vectors`.
    pub(super) first: Vec<usize>,
    pub(super) vocabulary: ReplaceableWords,
    /// Hash of all texts.
    pub(super) fingerprint: String,
}

impl Corpus {
    /// Reads the files below `folder` and embeds their chunks; takes a sample of a larger folder.
    ///
    /// # Errors
    /// Faults of the walk; `INVALID_REQUEST` if there is nothing to index; faults of the model.
    pub(super) async fn read(
        experiment: &Experiment,
        folder: PathBuf,
        on_progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, Fault> {
        let (settings, parsing) = (experiment.app.config.indexing.clone(), experiment.app.parsing.clone());
        let files = blocking(move || read_folder(&folder, &settings, parsing)).await?;
        let files = sample_files(files, CHUNKS_MAX);
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
                "The folder contains no file that can be indexed.",
            ));
        }
        on_progress(&format!("{} files, {} chunks", files.len(), passages.len()));
        let vectors = embed_passages(experiment.app.embedder().await?, passages, on_progress).await?;
        let texts = files.iter().flat_map(|file| &file.chunks).map(|chunk| chunk.content.as_str());
        let vocabulary = ReplaceableWords::from_texts(texts);
        let fingerprint = hasher.finalize().to_hex()[..16].to_owned();
        Ok(Self { vocabulary, files, vectors, first, fingerprint })
    }

    /// Number of chunks in all files.
    pub(super) fn chunks(&self) -> usize {
        self.vectors.len()
    }
}

async fn embed_passages(
    embedder: &Arc<dyn Embedder>,
    passages: Vec<String>,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Vec<f32>>, Fault> {
    let mut vectors = Vec::with_capacity(passages.len());
    for part in passages.chunks(BATCH_TEXTS) {
        let (embedder, part) = (Arc::clone(embedder), part.to_vec());
        vectors.extend(blocking(move || embedder.embed_passages(&part, &|| false)).await?);
        on_progress(&format!("{} of {} chunks embedded", vectors.len(), passages.len()));
    }
    Ok(vectors)
}

/// Every nth file, so that about `most` chunks remain.
fn sample_files(files: Vec<FileWrite>, most: usize) -> Vec<FileWrite> {
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
        assert_eq!(sample_files(files.clone(), 20).len(), 10);
        assert_eq!(sample_files(files.clone(), 19).len(), 5);
        assert_eq!(sample_files(files, 1).len(), 1);
    }
}
