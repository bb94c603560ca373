//! Embeds a text as the mean of its tokens' vectors from a table: no model runs, so it takes microseconds.

use std::fs;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use super::embedder::{Embedder, cancelled_fault, normalise};
use super::tokenize::Tokenizer;
use contract::ModelIdentity;
use contract::{ErrorCode, Fault};

/// Maximum number of tokens of a text that are read.
const TOKENS_MAX: usize = 512;

/// A table of token vectors, as model2vec writes it; the vectors are already weighted.
pub struct StaticTable {
    model: ModelIdentity,
    tokenizer: Tokenizer,
    /// The rows one after the other.
    values: Vec<f32>,
}

impl StaticTable {
    /// Opens a folder with `tokenizer.json` and `model.safetensors`, which contains one f32 tensor `embeddings` with a
    /// row for each token.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when a file is missing or of another shape.
    pub fn open(folder: &Path) -> Result<Self, Fault> {
        let unusable = |why: String| {
            Fault::new(
                ErrorCode::CapabilityMissing,
                format!("The table {} cannot be used: {why}.", folder.display()),
            )
            .with_hint("It is a folder with tokenizer.json and model.safetensors (tensor `embeddings`, f32).")
        };
        let (weights, tokenizer_file) = (folder.join("model.safetensors"), folder.join("tokenizer.json"));
        let bytes = fs::read(&weights).map_err(|error| unusable(error.to_string()))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| unusable(error.to_string()))?;
        let table = tensors.tensor("embeddings").map_err(|error| unusable(error.to_string()))?;
        let &[_, dimensions] = table.shape() else {
            return Err(unusable("the tensor is not a matrix".to_owned()));
        };
        if table.dtype() != Dtype::F32 || dimensions == 0 {
            return Err(unusable(format!("the tensor is {:?} with {dimensions} columns", table.dtype())));
        }
        let read = |four: &[u8]| four.try_into().map(f32::from_le_bytes).unwrap_or_default();
        let values = table.data().chunks_exact(4).map(read).collect();
        let tokenizer = Tokenizer::open(&tokenizer_file, TOKENS_MAX).map_err(unusable)?;
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("table");
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes);
        hasher.update(&fs::read(&tokenizer_file).map_err(|error| unusable(error.to_string()))?);
        let model = ModelIdentity {
            id: name.to_owned(),
            variant: "static".to_owned(),
            hash: *hasher.finalize().as_bytes(),
            dimensions,
            tokens_max: TOKENS_MAX,
        };
        Ok(Self { model, tokenizer, values })
    }

    fn vector(&self, text: &str) -> Result<Vec<f32>, Fault> {
        let ids = self
            .tokenizer
            .ids(text)
            .map_err(|why| Fault::new(ErrorCode::Internal, format!("A text cannot be tokenised: {why}.")))?;
        let dimensions = self.model.dimensions;
        let mut sum = vec![0.0; dimensions];
        for id in ids {
            let start = usize::try_from(id).unwrap_or(usize::MAX).saturating_mul(dimensions);
            let row = self.values.get(start..start.saturating_add(dimensions)).unwrap_or_default();
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        normalise(&mut sum);
        Ok(sum)
    }
}

impl Embedder for StaticTable {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let one = |text: &String| if cancelled() { Err(cancelled_fault()) } else { self.vector(text) };
        texts.iter().map(one).collect()
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.vector(text)
    }
}
