//! Which model makes vectors.

/// Which model made a vector. Vectors of different identities are never compared: a project
/// stores `id`, `variant` and `hash` with its index and refuses another model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelIdentity {
    /// Name of the model, for example `all-minilm-l6-v2`.
    pub id: String,
    /// Which graph of it runs: `int8`, `fp32`, `custom` or `stub`.
    pub variant: String,
    /// BLAKE3 over everything that decides a vector: graph, tokenizer and token limit.
    pub hash: [u8; 32],
    /// Length of a vector.
    pub dimensions: usize,
    /// Tokens of a text that reach the model; what follows is cut.
    pub tokens_max: usize,
}
