//! Other vectors than the shipped ones, to tell what they are worth: other headers, other models, mixtures.

use std::path::Path;
use std::sync::Arc;

use contract::ModelIdentity;
use contract::{ErrorCode, Fault};
use embedding::{Embedder, StaticTable, StubEmbedder};
use engine::indexing::HEADER_SEPARATOR;

/// The vectors that `text` names: `shipped`; `none`, `path`, `path-name` (the shipped model with that much of the
/// header); `stub` (word hashes: where only words are asked, nothing need be embedded); `static:DIR` (a table of token
/// vectors); `mixed:DIR` (the shipped and such a table side by side).
///
/// # Errors
/// `INVALID_REQUEST` for another name; `CAPABILITY_MISSING` for a table that cannot be read.
pub fn named(text: &str, shipped: Arc<dyn Embedder>) -> Result<Arc<dyn Embedder>, Fault> {
    Ok(match text.split_once(':') {
        None if text == "shipped" => shipped,
        None if text == "stub" => Arc::new(StubEmbedder::default()),
        None if text == "none" => Arc::new(Headed::new(shipped, text, 0)),
        None if text == "path" => Arc::new(Headed::new(shipped, text, 1)),
        None if text == "path-name" => Arc::new(Headed::new(shipped, text, 2)),
        Some(("static", folder)) => Arc::new(StaticTable::open(Path::new(folder))?),
        Some(("mixed", folder)) => {
            Arc::new(Mixed::new(shipped, Arc::new(StaticTable::open(Path::new(folder))?)))
        }
        _ => {
            return Err(Fault::new(ErrorCode::InvalidRequest, format!("There are no vectors `{text}`."))
                .with_hint("Vectors: shipped, none, path, path-name, stub, static:DIR, mixed:DIR."));
        }
    })
}

/// The shipped model with less of the header.
struct Headed {
    inner: Arc<dyn Embedder>,
    model: ModelIdentity,
    parts: usize,
}

impl Headed {
    fn new(inner: Arc<dyn Embedder>, name: &str, parts: usize) -> Self {
        let model = derived(inner.model(), &format!("header-{name}"), inner.model().dimensions);
        Self { inner, model, parts }
    }

    fn text(&self, passage: &str) -> String {
        let (header, text) = passage.split_once('\n').unwrap_or(("", passage));
        let kept: Vec<&str> = header.splitn(3, HEADER_SEPARATOR).take(self.parts).collect();
        if kept.is_empty() { text.to_owned() } else { format!("{}\n{text}", kept.join(HEADER_SEPARATOR)) }
    }
}

impl Embedder for Headed {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let texts: Vec<String> = texts.iter().map(|text| self.text(text)).collect();
        self.inner.embed_passages(&texts, cancelled)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.inner.embed_query(text)
    }
}

/// Two vectors side by side: their similarity is the mean of both.
struct Mixed {
    one: Arc<dyn Embedder>,
    other: Arc<dyn Embedder>,
    model: ModelIdentity,
}

impl Mixed {
    fn new(one: Arc<dyn Embedder>, other: Arc<dyn Embedder>) -> Self {
        let dimensions = one.model().dimensions + other.model().dimensions;
        let name = format!("mixed-{}", blake3::Hash::from(other.model().hash).to_hex());
        let model = derived(one.model(), &name, dimensions);
        Self { one, other, model }
    }
}

fn beside(one: Vec<f32>, other: Vec<f32>) -> Vec<f32> {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    one.into_iter().chain(other).map(|number| number * half).collect()
}

impl Embedder for Mixed {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let one = self.one.embed_passages(texts, cancelled)?;
        let other = self.other.embed_passages(texts, cancelled)?;
        Ok(one.into_iter().zip(other).map(|(one, other)| beside(one, other)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        Ok(beside(self.one.embed_query(text)?, self.other.embed_query(text)?))
    }
}

/// An identity of its own, so that such vectors are never compared with shipped ones.
fn derived(model: &ModelIdentity, variant: &str, dimensions: usize) -> ModelIdentity {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&model.hash);
    hasher.update(variant.as_bytes());
    ModelIdentity {
        variant: variant.chars().take(24).collect(),
        hash: *hasher.finalize().as_bytes(),
        dimensions,
        ..model.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_cut_part_by_part() {
        let stub: Arc<dyn Embedder> = Arc::new(StubEmbedder::default());
        let text =
            |parts| Headed::new(Arc::clone(&stub), "x", parts).text("a.rs · f · fn f() · x\nbody\nmore");
        assert_eq!(text(0), "body\nmore");
        assert_eq!(text(1), "a.rs\nbody\nmore");
        assert_eq!(text(2), "a.rs · f\nbody\nmore");
    }

    #[test]
    fn side_by_side_keeps_unit_length() {
        let stub: Arc<dyn Embedder> = Arc::new(StubEmbedder::default());
        let mixed = Mixed::new(Arc::clone(&stub), Arc::clone(&stub));
        let vector = mixed.embed_query("some words").unwrap();
        assert_eq!(vector.len(), mixed.model().dimensions);
        assert!((vector.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-4);
        assert_ne!(mixed.model().hash, stub.model().hash);
    }

    #[test]
    fn unknown_vectors_are_refused() {
        let stub: Arc<dyn Embedder> = Arc::new(StubEmbedder::default());
        assert_eq!(named("other", stub).err().map(|fault| fault.code), Some(ErrorCode::InvalidRequest));
    }
}
