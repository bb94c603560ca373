//! Custom models: the models of the operator's own manifest (`assets.manifest`), which gives URL and sha256 of each
//! file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::faults;
use contract::{ErrorCode, Fault};
use embedding::{Pooling, Precision};

/// Longest id of a model, which is part of a folder name.
const ID_CHARS_MAX: usize = 64;
/// Maximum number of dimensions that pgvector's HNSW index supports for half-precision vectors.
const DIMENSIONS_MAX: usize = 4_000;

/// The operator's manifest; docs/models.md explains the fields.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CustomManifest {
    #[serde(rename = "model", default)]
    models: Vec<CustomModel>,
}

/// One custom model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CustomModel {
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: String,
    pub(super) licence: String,
    pub(super) dimensions: usize,
    pub(super) tokens_max: usize,
    #[serde(default)]
    pub(super) pooling: Pooling,
    #[serde(default)]
    pub(super) query_prefix: String,
    #[serde(default)]
    pub(super) passage_prefix: String,
    pub(super) tokenizer: CustomFile,
    /// By variant: int8, fp32.
    pub(super) graphs: BTreeMap<String, CustomFile>,
}

/// A file of a custom model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CustomFile {
    pub(super) url: String,
    pub(super) sha256: String,
    pub(super) bytes: u64,
    /// File name in the folder of `--from`; by default the last segment of the address.
    #[serde(default)]
    file: Option<String>,
}

impl CustomFile {
    /// Returns the file name in the folder of `--from`.
    pub(super) fn name(&self) -> &str {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        self.file.as_deref().unwrap_or_else(|| path.rsplit('/').next().unwrap_or_default())
    }
}

impl CustomModel {
    /// Returns the variant to use: `preferred` if the model has it, else another one unless `require`.
    pub(super) fn precision(&self, preferred: Precision, require: bool) -> Option<Precision> {
        let has = |precision: &Precision| self.graphs.contains_key(precision.as_str());
        let others = [Precision::Fp32, Precision::Int8].into_iter().filter(|_| !require);
        std::iter::once(preferred).chain(others).find(has)
    }
}

/// Reads the manifest at `path`. `taken` are the ids of built-in assets, which a custom model may not use.
///
/// # Errors
/// `CAPABILITY_MISSING` if the manifest is invalid, with the reason.
pub(super) fn read_custom_models(path: &Path, taken: &[&str]) -> Result<Vec<CustomModel>, Fault> {
    let text =
        std::fs::read_to_string(path).map_err(|e| unusable(&format!("it cannot be read: {}", e.kind())))?;
    let manifest: CustomManifest = toml::from_str(&text).map_err(|e| unusable(e.message()))?;
    for (at, model) in manifest.models.iter().enumerate() {
        check(model).map_err(|why| unusable(&format!("model `{}`: {why}", model.id)))?;
        let duplicate = manifest.models.iter().take(at).any(|other| other.id == model.id);
        if duplicate || taken.contains(&model.id.as_str()) {
            return Err(unusable(&format!("model `{}`: the id is used twice", model.id)));
        }
    }
    Ok(manifest.models)
}

fn check(model: &CustomModel) -> Result<(), String> {
    let id_fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if model.id.len() > ID_CHARS_MAX
        || !model.id.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !model.id.chars().all(id_fits)
        || model.id == embedding::StubEmbedder::ID
    {
        return Err("an id consists of a-z, 0-9, `-`, `_` and `.`".to_owned());
    }
    if model.licence.trim().is_empty() {
        return Err("the licence is missing".to_owned());
    }
    if !(1..=DIMENSIONS_MAX).contains(&model.dimensions) || model.tokens_max == 0 {
        return Err(format!("dimensions are 1 to {DIMENSIONS_MAX}, tokens_max at least 1"));
    }
    if model.graphs.is_empty() || model.graphs.keys().any(|variant| Precision::parse(variant).is_none()) {
        return Err("graphs are `int8` and `fp32`, at least one of them".to_owned());
    }
    for file in model.graphs.values().chain([&model.tokenizer]) {
        let name = file.name();
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            return Err(format!("`{}` has no usable file name; set `file`", file.url));
        }
        if file.sha256.len() != 64 || !file.sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(format!("the sha256 of `{name}` is not 64 lower-case hexadecimal digits"));
        }
        if file.bytes == 0 {
            return Err(format!("the size of `{name}` in bytes is missing"));
        }
        platform::outbound::http_url(&file.url).map_err(|problem| format!("`{name}`: {problem}"))?;
    }
    Ok(())
}

fn unusable(why: &str) -> Fault {
    Fault::new(
        ErrorCode::CapabilityMissing,
        format!("The manifest of your own models cannot be used: {why}."),
    )
    .with_hint("Correct the file that assets.manifest names; docs/models.md shows one.")
}

/// Returns the fault for a model's file that the folder of `--from` lacks.
pub(super) fn missing_in_folder(name: &str) -> Fault {
    faults::missing(
        format!("The given folder lacks the file {name}."),
        "Put it there under this name; the manifest says where it comes from.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[model]]\nid = 'm'\nlicence = 'MIT'\ndimensions = 3\ntokens_max = 8\npooling = 'mean'\n\
        [model.tokenizer]\nurl = 'http://h/a/tokenizer.json?x=/y'\nsha256 = 'SHA'\nbytes = 1\n\
        [model.graphs.fp32]\nurl = 'https://h/model.onnx'\nsha256 = 'SHA'\nbytes = 1\n";

    fn parsed(text: &str) -> Result<Vec<CustomModel>, Fault> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text.replace("SHA", &"0".repeat(64))).unwrap();
        read_custom_models(file.path(), &["taken"])
    }

    #[test]
    fn files_pooling_and_variants_are_read() {
        let model = &parsed(GOOD).unwrap()[0];
        assert_eq!((model.tokenizer.name(), model.graphs["fp32"].name()), ("tokenizer.json", "model.onnx"));
        assert_eq!(model.pooling, Pooling::Mean);
        assert_eq!(model.precision(Precision::Int8, false), Some(Precision::Fp32), "the only variant");
        assert_eq!(model.precision(Precision::Int8, true), None, "the required variant is missing");
    }

    #[test]
    fn invalid_manifests_are_refused_with_a_reason() {
        for (from, to, why) in [
            ("'m'", "'../m'", "id"),
            ("'m'", "'taken'", "used twice"),
            ("'m'", "'stub'", "id"),
            ("'MIT'", "''", "licence"),
            ("= 3", "= 5000", "dimensions"),
            ("fp32", "fp16", "graphs"),
            ("https://h/model.onnx", "ftp://h/model.onnx", "http"),
            ("https://h/model.onnx", "https://h/", "file name"),
            ("'SHA'", "'SH'", "sha256"),
            ("pooling", "poling", "poling"),
        ] {
            let fault = parsed(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(fault.message.contains(why), "{to}: {}", fault.message);
            assert_eq!(fault.code, ErrorCode::CapabilityMissing);
        }
        assert!(parsed(&format!("{GOOD}{GOOD}")).unwrap_err().message.contains("used twice"));
        assert!(parsed("").unwrap().is_empty());
    }
}
