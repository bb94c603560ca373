//! An embedder that returns the synthetic vectors of copies, so that the product's own code writes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::copies;
use contract::Fault;
use contract::ModelIdentity;
use embedding::Embedder;

/// The number of the copy, and the indexes of the original's file and text.
type TextSource = (u32, usize, usize);

/// Returns synthetic vectors for the texts of copies, and vectors of the model for all other texts.
pub(super) struct SyntheticVectors {
    pub(super) model: Arc<dyn Embedder>,
    originals: Vec<Vec<f32>>,
    /// Sources of texts by hash.
    sources: Mutex<HashMap<[u8; 32], TextSource>>,
}

impl SyntheticVectors {
    /// For a corpus with these vectors.
    pub(super) fn new(model: Arc<dyn Embedder>, originals: Vec<Vec<f32>>) -> Self {
        Self { model, originals, sources: Mutex::default() }
    }

    /// Registers the texts of a copy. If copies share a text, the first one determines its vector.
    pub(super) fn register(&self, texts: impl IntoIterator<Item = ([u8; 32], TextSource)>) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        texts.into_iter().for_each(|(hash, source)| _ = sources.entry(hash).or_insert(source));
    }

    /// Removes all registered texts.
    pub(super) fn clear(&self) {
        *self.sources.lock().unwrap_or_else(PoisonError::into_inner) = HashMap::new();
    }

    fn source(&self, passage: &str) -> Option<TextSource> {
        // A passage is the header line, then the text.
        let (_, text) = passage.split_once('\n')?;
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.get(blake3::hash(text.as_bytes()).as_bytes()).copied()
    }
}

impl Embedder for SyntheticVectors {
    fn model(&self) -> &ModelIdentity {
        self.model.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let sources: Vec<Option<TextSource>> = texts.iter().map(|text| self.source(text)).collect();
        let others = texts.iter().zip(&sources).filter(|(_, source)| source.is_none());
        let others: Vec<String> = others.map(|(text, _)| text.clone()).collect();
        let mut embedded = self.model.embed_passages(&others, cancelled)?.into_iter();
        let vector = |source: Option<TextSource>| match source {
            Some((copy, file, at)) => Some(copies::synthetic_vector(&self.originals, (file, at), copy)),
            None => embedded.next(),
        };
        Ok(sources.into_iter().filter_map(vector).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.model.embed_query(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use embedding::StubEmbedder;

    #[test]
    fn known_texts_are_drawn_and_others_embedded_each_in_its_place() {
        let model = Arc::new(StubEmbedder::default());
        let originals = model.embed_passages(&["a b".to_owned(), "c d".to_owned()], &|| false).unwrap();
        let drawn = SyntheticVectors::new(model.clone(), originals.clone());
        drawn.register([(*blake3::hash(b"copied\ntext").as_bytes(), (0, 0, 1))]);
        let texts = ["x.rs\nother", "copy_0000/x.rs\ncopied\ntext"].map(String::from);
        let vectors = drawn.embed_passages(&texts, &|| false).unwrap();
        assert_eq!(vectors[0], model.embed_query("x.rs\nother").unwrap());
        assert_eq!(vectors[1], originals[1]);
        drawn.clear();
        assert_ne!(drawn.embed_passages(&texts, &|| false).unwrap()[1], originals[1]);
    }
}
