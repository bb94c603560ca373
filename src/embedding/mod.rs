//! Text to vectors.
//!
//! Indexing and search know the [`Embedder`] trait only. `OnnxEmbedder` runs a transformer on
//! the CPU; [`StubEmbedder`] hashes words and needs no model, for tests.

mod embedder;
pub mod export;
mod stub;

pub use embedder::{Embedder, ModelIdentity};
pub use stub::StubEmbedder;
