//! Alternative embedders for comparison: shorter headers, static tables and mixtures.

use std::path::Path;
use std::sync::Arc;

use contract::ModelIdentity;
use contract::{ErrorCode, Fault};
use embedding::{Embedder, StaticTable, StubEmbedder};
use engine::indexing::HEADER_SEPARATOR;

/// The embedder named `text`: `shipped`; `none`, `path` or `path-name` (the shipped model with only that part of the header);
/// `stub` (word hashes: a second lexical search, see docs/benchmarks.md) or `stub:none` and so on; `random` (the hash of the
/// whole text: near to nothing); `static:DIR` (a table of token vectors); `mixed:DIR` (the shipped vectors concatenated with
/// those of such a table).
///
/// # Errors
/// `INVALID_REQUEST` for an unknown name; `CAPABILITY_MISSING` for an unreadable table.
pub fn embedder_named(text: &str, shipped: Arc<dyn Embedder>) -> Result<Arc<dyn Embedder>, Fault> {
    let stub = || Arc::new(StubEmbedder::default());
    Ok(match text.split_once(':') {
        None if text == "shipped" => shipped,
        None if text == "stub" => stub(),
        None if text == "random" => Arc::new(RandomEmbedder::new()),
        None if let Some(parts) = header_parts(text) => {
            Arc::new(ShortHeaderEmbedder::new(shipped, text, parts))
        }
        Some(("stub", header)) if let Some(parts) = header_parts(header) => {
            Arc::new(ShortHeaderEmbedder::new(stub(), header, parts))
        }
        Some(("static", folder)) => Arc::new(StaticTable::open(Path::new(folder))?),
        Some(("mixed", folder)) => {
            Arc::new(ConcatenatedEmbedder::new(shipped, Arc::new(StaticTable::open(Path::new(folder))?)))
        }
        _ => return Err(unknown_vectors(text)),
    })
}

/// Refuses a name of vectors that [`embedder_named`] does not know, before anything is installed.
///
/// # Errors
/// `INVALID_REQUEST`.
pub fn check_name(text: &str) -> Result<(), Fault> {
    let is_known = match text.split_once(':') {
        None => matches!(text, "shipped" | "stub" | "random") || header_parts(text).is_some(),
        Some((kind, rest)) => {
            matches!(kind, "static" | "mixed") || (kind == "stub" && header_parts(rest).is_some())
        }
    };
    if is_known { Ok(()) } else { Err(unknown_vectors(text)) }
}

/// Number of parts of the header that are kept.
fn header_parts(name: &str) -> Option<usize> {
    ["none", "path", "path-name"].iter().position(|known| *known == name)
}

fn unknown_vectors(text: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("The vectors `{text}` are unknown."))
        .with_hint("Vectors: shipped, none, path, path-name, stub, stub:none, stub:path, stub:path-name, random, static:DIR, mixed:DIR.")
}

/// Vectors that know only whether two texts are equal, to measure what the rest of a search with vectors does.
struct RandomEmbedder {
    model: ModelIdentity,
}

impl RandomEmbedder {
    fn new() -> Self {
        let like = StubEmbedder::default().model().clone();
        let model =
            ModelIdentity { id: "random".to_owned(), ..derived_identity(&like, "random", like.dimensions) };
        Self { model }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut bytes = vec![0; self.model.dimensions];
        blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut bytes);
        let numbers: Vec<f32> = bytes.into_iter().map(|byte| f32::from(byte) - 127.5).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.into_iter().map(|number| number / length).collect()
    }
}

impl Embedder for RandomEmbedder {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(
        &self,
        texts: &[String],
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, Fault> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        Ok(self.vector(text))
    }
}

/// An embedder that keeps only the first `parts` parts of each header.
struct ShortHeaderEmbedder {
    inner: Arc<dyn Embedder>,
    model: ModelIdentity,
    parts: usize,
}

impl ShortHeaderEmbedder {
    fn new(inner: Arc<dyn Embedder>, name: &str, parts: usize) -> Self {
        let model = derived_identity(inner.model(), &format!("header-{name}"), inner.model().dimensions);
        Self { inner, model, parts }
    }

    fn text(&self, passage: &str) -> String {
        let (header, text) = passage.split_once('\n').unwrap_or(("", passage));
        let kept: Vec<&str> = header.splitn(3, HEADER_SEPARATOR).take(self.parts).collect();
        if kept.is_empty() { text.to_owned() } else { format!("{}\n{text}", kept.join(HEADER_SEPARATOR)) }
    }
}

impl Embedder for ShortHeaderEmbedder {
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

/// Concatenates the vectors of two embedders; the similarity is the mean of both.
struct ConcatenatedEmbedder {
    one: Arc<dyn Embedder>,
    other: Arc<dyn Embedder>,
    model: ModelIdentity,
}

impl ConcatenatedEmbedder {
    fn new(one: Arc<dyn Embedder>, other: Arc<dyn Embedder>) -> Self {
        let dimensions = one.model().dimensions + other.model().dimensions;
        let name = format!("mixed-{}", blake3::Hash::from(other.model().hash).to_hex());
        let model = derived_identity(one.model(), &name, dimensions);
        Self { one, other, model }
    }
}

fn concatenated(one: Vec<f32>, other: Vec<f32>) -> Vec<f32> {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    one.into_iter().chain(other).map(|number| number * half).collect()
}

impl Embedder for ConcatenatedEmbedder {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let one = self.one.embed_passages(texts, cancelled)?;
        let other = self.other.embed_passages(texts, cancelled)?;
        Ok(one.into_iter().zip(other).map(|(one, other)| concatenated(one, other)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        Ok(concatenated(self.one.embed_query(text)?, self.other.embed_query(text)?))
    }
}

/// A distinct model identity, so that these vectors are never compared with shipped ones.
fn derived_identity(model: &ModelIdentity, variant: &str, dimensions: usize) -> ModelIdentity {
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
        let text = |parts| {
            ShortHeaderEmbedder::new(Arc::clone(&stub), "x", parts).text("a.rs · f · fn f() · x\nbody\nmore")
        };
        assert_eq!(text(0), "body\nmore");
        assert_eq!(text(1), "a.rs\nbody\nmore");
        assert_eq!(text(2), "a.rs · f\nbody\nmore");
    }

    #[test]
    fn side_by_side_keeps_unit_length() {
        let stub: Arc<dyn Embedder> = Arc::new(StubEmbedder::default());
        let mixed = ConcatenatedEmbedder::new(Arc::clone(&stub), Arc::clone(&stub));
        let vector = mixed.embed_query("some words").unwrap();
        assert_eq!(vector.len(), mixed.model().dimensions);
        assert!((vector.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-4);
        assert_ne!(mixed.model().hash, stub.model().hash);
    }

    #[test]
    fn random_vectors_are_near_to_nothing_else() {
        let random = RandomEmbedder::new();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        let (one, other) = (random.vector("parse the url"), random.vector("parse the urls"));
        assert!((dot(&one, &one) - 1.0).abs() < 1e-4 && dot(&one, &other).abs() < 0.3);
    }

    #[test]
    fn unknown_vectors_are_refused() {
        let stub: Arc<dyn Embedder> = Arc::new(StubEmbedder::default());
        for known in ["shipped", "none", "path-name", "stub", "stub:path", "random", "static:/x"] {
            assert!(check_name(known).is_ok(), "{known}");
        }
        for unknown in ["other", "stub:x", "shipped:path"] {
            assert_eq!(check_name(unknown).unwrap_err().code, ErrorCode::InvalidRequest, "{unknown}");
        }
        assert_eq!(
            embedder_named("other", stub).err().map(|fault| fault.code),
            Some(ErrorCode::InvalidRequest)
        );
    }
}
