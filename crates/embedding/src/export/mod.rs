//! Model weights to an ONNX graph, at install time and without any Python package.
//!
//! The graph takes token ids and returns unit vectors: pooling and normalisation are inside. The
//! same weights and calibration give the same bytes on every machine (element-wise arithmetic
//! only), so that the asset manifest can pin the result.
//!
//! [`weights`] are read, [`quantise`]d with the committed [`calibration`] where asked, laid out by
//! [`bert`] through [`graph`], and written as the messages of [`onnx_proto`].

mod bert;
mod calibration;
mod graph;
mod onnx_proto;
mod quantise;
mod weights;

use std::path::Path;

pub use bert::Architecture;
pub use calibration::{Calibration, LinearInput};
pub use weights::Weights;

/// The kind of graph to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphKind {
    /// f32 products.
    Fp32,
    /// int8 products with fixed activation scales: about twice as fast where the CPU has VNNI.
    Int8,
    /// f32 products and an attention mask, for padded batches. Only the benchmark compares with it.
    Fp32Masked,
    /// f32 products with the inputs and the answer of published graphs: mask and token types go in, one vector per
    /// token comes out. Only the tests use it.
    Fp32Tokens,
}

/// The reason why a graph could not be made.
#[derive(Debug)]
pub struct ExportError(String);

impl ExportError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExportError {}

/// Makes the ONNX file's bytes from the safetensors file `weights`.
///
/// # Errors
/// The file cannot be read, lacks a tensor, or a tensor or the calibration has a different shape from `architecture`.
pub fn export(
    weights: &Path,
    architecture: &Architecture,
    calibration: &Calibration,
    kind: GraphKind,
) -> Result<Vec<u8>, ExportError> {
    let bytes =
        std::fs::read(weights).map_err(|e| ExportError::new(format!("{}: {e}", weights.display())))?;
    let weights = Weights::parse(&bytes)?;
    bert::build(&weights, architecture, calibration, kind)
}
