//! Embedding: texts to vectors.
//!
//! Indexing and search use the [`Embedder`] trait only. [`OnnxEmbedder`] runs a transformer on the CPU; [`StaticTable`] averages
//! precomputed token vectors and is used by the benchmark only; [`StubEmbedder`] hashes words and needs no model, for tests. At install
//! time, [`export`] converts a model's weights to the ONNX graph that it runs.

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
