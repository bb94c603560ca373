//! The one interface between text and vectors, and the identity that keeps indexes apart.

use contract::{ErrorCode, Fault, ModelIdentity};

/// Turns text into unit vectors; two implementations: a model and a stub.
pub trait Embedder: Send + Sync {
    /// What makes the vectors.
    fn model(&self) -> &ModelIdentity;

    /// Embeds `texts`, in their order. Vectors have unit length, and each depends on its own text only.
    ///
    /// Blocks for about 10 ms a text and core: call it on a blocking thread. `cancelled` is polled between texts.
    ///
    /// # Errors
    /// `CANCELLED` once `cancelled` says so; `INTERNAL` when the model fails.
    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault>;

    /// Embeds a question: a few milliseconds, cached, and never waits for bulk work.
    ///
    /// # Errors
    /// `INTERNAL` when the model fails.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault>;
}

/// What `embed_passages` answers when it was told to stop.
pub(super) fn cancelled_fault() -> Fault {
    Fault::new(ErrorCode::Cancelled, "Embedding was cancelled.")
}

/// Scales `vector` to unit length; a zero vector becomes the first axis, so that every text has a direction.
pub(super) fn normalise(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > f32::MIN_POSITIVE {
        vector.iter_mut().for_each(|x| *x /= norm);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}
