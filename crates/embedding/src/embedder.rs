//! The interface of all embedding models.

use contract::{ErrorCode, Fault, ModelIdentity};

/// Computes a unit vector for each text.
pub trait Embedder: Send + Sync {
    /// The identity of the model.
    fn model(&self) -> &ModelIdentity;

    /// Embeds `texts`, in their order. Each vector depends on its own text only.
    ///
    /// Blocks for about 10 ms per text and core. `cancelled` is called between texts.
    ///
    /// # Errors
    /// `CANCELLED` once `cancelled` returns true; `INTERNAL` when the model fails.
    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault>;

    /// Embeds a query. Takes a few milliseconds, is cached, and does not wait for [`Embedder::embed_passages`]. Blocks.
    ///
    /// # Errors
    /// `INTERNAL` when the model fails.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault>;
}

/// The fault of `embed_passages` when it is cancelled.
pub(super) fn cancelled_fault() -> Fault {
    Fault::new(ErrorCode::Cancelled, "Embedding was cancelled.")
}

/// Scales `vector` to unit length; a zero vector becomes the first unit vector, because cosine similarity is undefined for it.
pub(super) fn normalise(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > f32::MIN_POSITIVE {
        vector.iter_mut().for_each(|x| *x /= norm);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}
