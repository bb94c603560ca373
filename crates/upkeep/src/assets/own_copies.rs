//! The operator's own library and model, which win over installed ones.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::convert;
use super::faults;
use contract::Fault;
use embedding::{ModelFiles, Pooling};

/// The configured ONNX Runtime, if there is one.
///
/// # Errors
/// `CAPABILITY_MISSING` if it is configured and not there.
pub(super) fn library(configured: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    match configured {
        Some(path) if !path.is_file() => Err(faults::missing(
            "The configured ONNX Runtime library does not exist.",
            "Correct ORT_DYLIB_PATH (assets.ort_dylib_path), or unset it to use the installed library.",
        )),
        path => Ok(path.map(Path::to_path_buf)),
    }
}

/// The configured model folder, if there is one. It is hashed on every start, since nothing vouches for it.
///
/// # Errors
/// `CAPABILITY_MISSING` if it is configured and lacks a file.
pub(super) fn model(configured: Option<&Path>) -> Result<Option<ModelFiles>, Fault> {
    let Some(dir) = configured else { return Ok(None) };
    let (onnx, tokenizer) = convert::files(dir);
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

/// BLAKE3 over graph and tokenizer, each hashed first so that no byte can move from one to the other.
fn content_hash(onnx: &Path, tokenizer: &Path) -> io::Result<[u8; 32]> {
    let mut whole = blake3::Hasher::new();
    for path in [onnx, tokenizer] {
        let mut file = blake3::Hasher::new();
        file.update_reader(File::open(path)?)?;
        whole.update(file.finalize().as_bytes());
    }
    Ok(*whole.finalize().as_bytes())
}
