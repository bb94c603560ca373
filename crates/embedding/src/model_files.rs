//! Which files a model is, and which graph of it suits this machine.

use std::path::PathBuf;

use serde::Deserialize;

use contract::config::Variant;

/// A model on disk, ready to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// Name of the model.
    pub id: String,
    /// `int8`, `fp32`, or `custom` for an operator's own files.
    pub variant: String,
    /// The graph: `input_ids` to unit vectors, pooling inside.
    pub onnx: PathBuf,
    /// `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// Length of a vector; unknown for an operator's own files until they are opened.
    pub dimensions: Option<usize>,
    /// Most tokens the model was trained on, if known.
    pub tokens_max: Option<usize>,
    /// What the model wants before a question.
    pub query_prefix: String,
    /// What the model wants before a passage.
    pub passage_prefix: String,
    /// What becomes of a graph's answer.
    pub pooling: Pooling,
    /// BLAKE3 over graph and tokenizer.
    pub hash: [u8; 32],
}

/// How a graph's answer becomes one vector a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The graph does it.
    #[default]
    Inside,
    /// The mean of its vectors, one a token.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// A model as people and settings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// Id in a manifest.
    pub id: String,
    /// Which graph of it; None: what suits this machine.
    pub precision: Option<Precision>,
}

impl ModelName {
    /// Reads `id` or `id:variant`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, precision) = match text.split_once(':') {
            Some((id, variant)) => (id, Some(Precision::parse(variant)?)),
            None => (text, None),
        };
        (!id.is_empty()).then(|| Self { id: id.to_owned(), precision })
    }

    /// Whether it means the model called `id` in this variant.
    #[must_use]
    pub fn means(&self, id: &str, variant: &str) -> bool {
        self.id == id && self.precision.is_none_or(|precision| precision.as_str() == variant)
    }
}

/// A graph of an installed model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Quantised products: twice as fast where the CPU has instructions for them.
    Int8,
    /// f32 products.
    Fp32,
}

impl Precision {
    /// The graph of that name.
    #[must_use]
    pub fn parse(variant: &str) -> Option<Self> {
        [Self::Int8, Self::Fp32].into_iter().find(|precision| precision.as_str() == variant)
    }

    /// What the operator chose, or for `auto` what suits this CPU.
    ///
    /// x86 without VNNI has no exact u8 × i8 product (it saturates), so it gets f32.
    #[must_use]
    pub fn chosen(variant: Variant) -> Self {
        match variant {
            Variant::Int8 => Self::Int8,
            Variant::Fp32 => Self::Fp32,
            Variant::Auto if cpu_multiplies_int8() => Self::Int8,
            Variant::Auto => Self::Fp32,
        }
    }

    /// The name in identities, folders and the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Fp32 => "fp32",
        }
    }
}

/// Whether a graph of `variant` would compute other vectors here than elsewhere unless told to be exact.
pub(super) fn needs_exact_int8(variant: &str) -> bool {
    variant == Precision::Int8.as_str() && !cpu_multiplies_int8()
}

#[cfg(target_arch = "x86_64")]
fn cpu_multiplies_int8() -> bool {
    std::is_x86_feature_detected!("avx512vnni") || std::is_x86_feature_detected!("avxvnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_multiplies_int8() -> bool {
    cfg!(target_arch = "aarch64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_say_the_graph() {
        let name = ModelName::parse("m:fp32").unwrap();
        assert!(name.means("m", "fp32") && !name.means("m", "int8") && !name.means("n", "fp32"));
        assert!(ModelName::parse("m").unwrap().means("m", "int8"));
        for bad in ["", ":fp32", "m:", "m:fp16"] {
            assert_eq!(ModelName::parse(bad), None, "{bad}");
        }
    }
}
