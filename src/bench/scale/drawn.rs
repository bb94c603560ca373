//! The vectors of copies, handed out as a model would: the product's own way writes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::copies;
use contract::Fault;
use contract::ModelIdentity;
use embedding::Embedder;

/// The copy, and the places of the original's file and text.
type Place = (u32, usize, usize);

/// An embedder that knows which text of which copy it was given, and asks the model about all others.
pub(super) struct Drawn {
    pub(super) model: Arc<dyn Embedder>,
    originals: Vec<Vec<f32>>,
    /// By hash of the text.
    known: Mutex<HashMap<[u8; 32], Place>>,
}

impl Drawn {
    /// Over a corpus with these vectors.
    pub(super) fn new(model: Arc<dyn Embedder>, originals: Vec<Vec<f32>>) -> Self {
        Self { model, originals, known: Mutex::default() }
    }

    /// Notes texts of a copy; the first copy of a text is what its vector is made of.
    pub(super) fn note(&self, texts: impl IntoIterator<Item = ([u8; 32], Place)>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        texts.into_iter().for_each(|(hash, place)| _ = known.entry(hash).or_insert(place));
    }

    /// Forgets all texts.
    pub(super) fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = HashMap::new();
    }

    fn place(&self, passage: &str) -> Option<Place> {
        // Before the first line break stands the header.
        let (_, text) = passage.split_once('\n')?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(blake3::hash(text.as_bytes()).as_bytes()).copied()
    }
}

impl Embedder for Drawn {
    fn model(&self) -> &ModelIdentity {
        self.model.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let places: Vec<Option<Place>> = texts.iter().map(|text| self.place(text)).collect();
        let others = texts.iter().zip(&places).filter(|(_, place)| place.is_none());
        let others: Vec<String> = others.map(|(text, _)| text.clone()).collect();
        let mut embedded = self.model.embed_passages(&others, cancelled)?.into_iter();
        let vector = |place: Option<Place>| match place {
            Some((copy, file, at)) => Some(copies::vector(&self.originals, (file, at), copy)),
            None => embedded.next(),
        };
        Ok(places.into_iter().filter_map(vector).collect())
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
        let drawn = Drawn::new(model.clone(), originals.clone());
        drawn.note([(*blake3::hash(b"copied\ntext").as_bytes(), (0, 0, 1))]);
        let texts = ["x.rs\nother", "copy_0000/x.rs\ncopied\ntext"].map(String::from);
        let vectors = drawn.embed_passages(&texts, &|| false).unwrap();
        assert_eq!(vectors[0], model.embed_query("x.rs\nother").unwrap());
        assert_eq!(vectors[1], originals[1]);
        drawn.forget();
        assert_ne!(drawn.embed_passages(&texts, &|| false).unwrap()[1], originals[1]);
    }
}
