//! The identity of an embedding model.

/// Identifies the model that computed a vector. Vectors of different models are never compared: a project stores `id`,
/// `variant` and `hash` with its index and refuses another model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelIdentity {
    /// Name of the model, for example `all-minilm-l6-v2`.
    pub id: String,
    /// The variant of the graph: `int8`, `fp32`, `custom` or `stub`.
    pub variant: String,
    /// BLAKE3 over everything that determines a vector: graph, tokenizer and token limit.
    pub hash: [u8; 32],
    /// Number of elements of a vector.
    pub dimensions: usize,
    /// Tokens of a text that the model reads; longer texts are truncated.
    pub tokens_max: usize,
}
