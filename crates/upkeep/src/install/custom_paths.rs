//! The operator's own ONNX Runtime library and model folder, which take precedence over installed ones.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::convert;
use super::faults;
use contract::Fault;
use embedding::{ModelFiles, Pooling};

/// Returns the configured ONNX Runtime library (`assets.ort_dylib_path`), if any.
///
/// # Errors
/// `CAPABILITY_MISSING` if the configured file does not exist.
pub(super) fn configured_library(configured: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    match configured {
        Some(path) if !path.is_file() => Err(faults::missing(
            "The configured ONNX Runtime library does not exist.",
            "Correct ORT_DYLIB_PATH (assets.ort_dylib_path), or unset it to use the installed library.",
        )),
        path => Ok(path.map(Path::to_path_buf)),
    }
}

/// Returns the files of the configured model folder (`assets.model_dir`), if any. The files are hashed on every start,
/// because no manifest has their hashes.
///
/// # Errors
/// `CAPABILITY_MISSING` if the configured folder lacks a file.
pub(super) fn configured_model_folder(configured: Option<&Path>) -> Result<Option<ModelFiles>, Fault> {
    let Some(dir) = configured else { return Ok(None) };
    let (onnx, tokenizer) = convert::model_paths(dir);
    let hash = content_hash(&onnx, &tokenizer).map_err(|e| {
        let message = "The configured model folder lacks a readable model.onnx or tokenizer.json.";
        faults::missing(message, "Correct assets.model_dir, or unset it to use the installed model.")
            .with_source(e)
    })?;
    let id = dir.file_name().map_or_else(|| "custom".to_owned(), |name| name.to_string_lossy().into_owned());
    let no_prefix = String::new();
    Ok(Some(ModelFiles {
        id,
        variant: "custom".to_owned(),
        onnx,
        tokenizer,
        dimensions: None,
        tokens_max: None,
        query_prefix: no_prefix.clone(),
        passage_prefix: no_prefix,
        pooling: Pooling::Inside,
        hash,
    }))
}

/// Hashes the BLAKE3 hashes of graph and tokenizer with BLAKE3, so that moving bytes from one file to the other changes the result.
fn content_hash(onnx: &Path, tokenizer: &Path) -> io::Result<[u8; 32]> {
    let mut whole = blake3::Hasher::new();
    for path in [onnx, tokenizer] {
        let mut file = blake3::Hasher::new();
        file.update_reader(File::open(path)?)?;
        whole.update(file.finalize().as_bytes());
    }
    Ok(*whole.finalize().as_bytes())
}
