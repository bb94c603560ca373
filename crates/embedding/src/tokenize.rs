//! Texts to token ids; the only file that uses `tokenizers`.

use std::path::Path;

use tokenizers::pipeline::{EncodeOptions, Override, PipelineTokenizer};
use tokenizers::utils::truncation::TruncationParams;

/// Longer texts are cut before they are tokenised; the first few hundred tokens never need as much.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A loaded `tokenizer.json` with the product's token limit.
pub(super) struct Tokenizer {
    pipeline: PipelineTokenizer,
    options: EncodeOptions,
}

impl Tokenizer {
    /// Reads a `tokenizer.json` of either format version. Its padding and truncation are overridden, because published files
    /// set both for another use.
    pub(super) fn open(path: &Path, tokens_max: usize) -> Result<Self, String> {
        let json = tokenizers::canonicalize_file(path).map_err(|e| e.to_string())?;
        let pipeline = tokenizers::from_json(&json).map_err(|e| e.to_string())?;
        let truncation = TruncationParams { max_length: tokens_max, ..TruncationParams::default() };
        let options = EncodeOptions {
            padding: Override::Off,
            truncation: Override::With(truncation),
            ..EncodeOptions::default()
        };
        Ok(Self { pipeline, options })
    }

    /// The ids of `text`, with the model's start and end tokens, at most `tokens_max`.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<i64>, String> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let mut tokens = Vec::new();
        self.pipeline.encode_into(text, &self.options, &mut tokens).map_err(|e| e.to_string())?;
        Ok(tokens.into_iter().map(|token| i64::from(token.id())).collect())
    }
}
