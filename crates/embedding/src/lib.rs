//! Text to vectors.
//!
//! Indexing and search know the [`Embedder`] trait only. [`OnnxEmbedder`] runs a transformer on the
//! CPU; [`StaticTable`] looks tokens up, for comparison; [`StubEmbedder`] hashes words and needs no model, for tests.
//! [`export`] makes the graph that runs from a model's weights, at install time.

mod embedder;
mod static_table;
mod stub;

mod onnx_embedder;

mod model_files;
mod onnx;
mod query_cache;
mod session_pool;
mod tokenize;

pub mod export;

pub use embedder::Embedder;
pub use model_files::{ModelFiles, ModelName, Pooling, Precision};
pub use onnx::close;
pub use onnx_embedder::OnnxEmbedder;
pub use static_table::StaticTable;
pub use stub::StubEmbedder;
