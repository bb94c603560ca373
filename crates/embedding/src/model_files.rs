//! The files of a model, and the variant of its graph that suits this machine.

use std::path::PathBuf;

use serde::Deserialize;

use contract::config::Variant;

/// A model on disk, ready to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// Name of the model.
    pub id: String,
    /// `int8`, `fp32`, or `custom` for the operator's files.
    pub variant: String,
    /// The graph: `input_ids` to unit vectors, pooling inside.
    pub onnx: PathBuf,
    /// `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// Length of a vector; unknown for custom files until they are opened.
    pub dimensions: Option<usize>,
    /// Maximum number of tokens the model was trained on, if known.
    pub tokens_max: Option<usize>,
    /// Text that the model expects before a query.
    pub query_prefix: String,
    /// Text that the model expects before a passage.
    pub passage_prefix: String,
    /// The way in which the graph's output becomes one vector.
    pub pooling: Pooling,
    /// BLAKE3 over graph and tokenizer.
    pub hash: [u8; 32],
}

/// The way in which the output of a graph becomes one vector for each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The graph outputs one vector.
    #[default]
    Inside,
    /// The mean of its token vectors.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// The name of a model in settings and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// Id in a manifest.
    pub id: String,
    /// The variant; `None`: the one that suits this machine.
    pub precision: Option<Precision>,
}

impl ModelName {
    /// Parses `id` or `id:variant`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, precision) = match text.split_once(':') {
            Some((id, variant)) => (id, Some(Precision::parse(variant)?)),
            None => (text, None),
        };
        (!id.is_empty()).then(|| Self { id: id.to_owned(), precision })
    }

    /// Checks whether it names the model `id` in `variant`.
    #[must_use]
    pub fn matches(&self, id: &str, variant: &str) -> bool {
        self.id == id && self.precision.is_none_or(|precision| precision.as_str() == variant)
    }
}

/// The variant of a model's graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 8-bit integer products: twice as fast where the CPU has VNNI instructions.
    Int8,
    /// 32-bit floating-point products.
    Fp32,
}

impl Precision {
    /// The variant of that name.
    #[must_use]
    pub fn parse(variant: &str) -> Option<Self> {
        [Self::Int8, Self::Fp32].into_iter().find(|precision| precision.as_str() == variant)
    }

    /// The configured variant; for `auto` the one that suits this CPU.
    ///
    /// x86 without VNNI has no exact u8 × i8 product (it saturates), so it uses fp32.
    #[must_use]
    pub fn from_setting(variant: Variant) -> Self {
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

/// Checks whether a graph of `variant` would compute other vectors on this CPU than on others, unless exact arithmetic is requested.
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
    fn names_may_include_the_variant() {
        let name = ModelName::parse("m:fp32").unwrap();
        assert!(name.matches("m", "fp32") && !name.matches("m", "int8") && !name.matches("n", "fp32"));
        assert!(ModelName::parse("m").unwrap().matches("m", "int8"));
        for bad in ["", ":fp32", "m:", "m:fp16"] {
            assert_eq!(ModelName::parse(bad), None, "{bad}");
        }
    }
}
