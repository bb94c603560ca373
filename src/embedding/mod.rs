//! Text to vectors.
//!
//! Indexing and search know the [`Embedder`] trait only. [`StubEmbedder`] hashes words and needs no
//! model, for tests. [`export`] makes the graph that runs from a model's weights, at install time.

mod embedder;
mod model_files;
mod stub;

pub mod export;

pub use embedder::{Embedder, ModelIdentity};
pub use model_files::{ModelFiles, Precision};
pub use stub::StubEmbedder;
