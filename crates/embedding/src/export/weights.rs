//! Reads tensors of a safetensors file as f32, in the orientation the graph wants.

use safetensors::{Dtype, SafeTensors};

use super::ExportError;

/// The tensors of a model.
pub struct Weights<'a> {
    tensors: SafeTensors<'a>,
}

/// A dense f32 matrix, row by row.
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f32>,
}

impl<'a> Weights<'a> {
    /// Parses a safetensors file.
    ///
    /// # Errors
    /// The bytes are not a safetensors file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ExportError> {
        let tensors =
            SafeTensors::deserialize(bytes).map_err(|e| ExportError::new(format!("model weights: {e}")))?;
        Ok(Self { tensors })
    }

    /// The values of a tensor that must be f32 and have `shape`.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ExportError> {
        let tensor =
            self.tensors.tensor(name).map_err(|e| ExportError::new(format!("tensor {name}: {e}")))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            return Err(ExportError::new(format!(
                "tensor {name} is {:?} {:?}, not F32 {shape:?}",
                tensor.dtype(),
                tensor.shape()
            )));
        }
        let read = |bytes: &[u8]| bytes.try_into().map(f32::from_le_bytes).unwrap_or_default();
        Ok(tensor.data().chunks_exact(4).map(read).collect())
    }

    /// The weight of a linear layer that maps `inputs` to `outputs` values, transposed to `inputs` rows.
    pub(super) fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Matrix, ExportError> {
        let stored = self.values(name, &[outputs, inputs])?;
        let values = (0..inputs * outputs).map(|at| stored[(at % outputs) * inputs + at / outputs]).collect();
        Ok(Matrix { rows: inputs, columns: outputs, values })
    }
}

impl Matrix {
    /// Puts matrices of equal height side by side.
    pub(super) fn beside(parts: &[Self]) -> Self {
        let rows = parts.first().map_or(0, |part| part.rows);
        let columns = parts.iter().map(|part| part.columns).sum();
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for part in parts {
                values.extend_from_slice(&part.values[row * part.columns..(row + 1) * part.columns]);
            }
        }
        Self { rows, columns, values }
    }
}
