//! An embedder without a model, for tests: hashed bags of words.

use super::embedder::{Embedder, cancelled_fault, normalise};
use contract::Fault;
use contract::ModelIdentity;

const DIMENSIONS: usize = 384;

/// Computes deterministic vectors of the real length; texts that share words are near each other.
#[derive(Debug, Clone)]
pub struct StubEmbedder {
    model: ModelIdentity,
}

impl StubEmbedder {
    /// Its id and its variant.
    pub const ID: &'static str = "stub";

    /// A stub embedder.
    #[must_use]
    pub fn new() -> Self {
        let model = ModelIdentity {
            id: Self::ID.to_owned(),
            variant: Self::ID.to_owned(),
            hash: *blake3::hash(b"stub 1").as_bytes(),
            dimensions: DIMENSIONS,
            tokens_max: usize::MAX,
        };
        Self { model }
    }
}

impl Default for StubEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedder for StubEmbedder {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let embed = |text: &String| if cancelled() { Err(cancelled_fault()) } else { Ok(bag_of_words(text)) };
        texts.iter().map(embed).collect()
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        Ok(bag_of_words(text))
    }
}

/// Each word adds ±1 to the element that its hash selects.
fn bag_of_words(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    for word in words(text) {
        let hash = blake3::hash(word.as_bytes());
        let [low, high, sign, ..] = *hash.as_bytes();
        let axis = usize::from(u16::from_le_bytes([low, high])) % DIMENSIONS;
        vector[axis] += if sign & 1 == 0 { 1.0 } else { -1.0 };
    }
    normalise(&mut vector);
    vector
}

/// Lower-cased runs of letters and digits, split where a lower-case letter meets an upper-case one.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_lower = false;
    for c in text.chars() {
        let boundary = !c.is_alphanumeric() || (previous_lower && c.is_uppercase());
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn the_same_text_is_the_same_unit_vector_alone_and_in_company() {
        let stub = StubEmbedder::new();
        let texts: Vec<String> = ["fn parse_url()", "", "connection pool"].map(String::from).to_vec();
        let together = stub.embed_passages(&texts, &|| false).unwrap();
        for (text, vector) in texts.iter().zip(&together) {
            assert_eq!(&stub.embed_query(text).unwrap(), vector);
            assert_eq!(vector.len(), stub.model().dimensions);
            assert!((dot(vector, vector) - 1.0).abs() < 1e-5, "{text:?}");
        }
    }

    #[test]
    fn shared_words_are_near_and_other_words_are_not() {
        let stub = StubEmbedder::new();
        let of = |text| stub.embed_query(text).unwrap();
        assert!(dot(&of("parseUrl host"), &of("parse_url(host)")) > 0.99);
        assert!(dot(&of("parse url host"), &of("render triangle mesh")) < 0.5);
    }

    #[test]
    fn stops_when_cancelled() {
        let stub = StubEmbedder::new();
        let fault = stub.embed_passages(&["a".to_owned()], &|| true).unwrap_err();
        assert_eq!(fault.code, contract::ErrorCode::Cancelled);
    }
}
