//! Reuses the vectors in portable files of an earlier build, so that a run embeds only the missing texts. Nothing else
//! in such a file is trusted.

use std::path::Path;

use super::context::RunContext;
use super::report::RestoredArtifacts;
use super::vectors;
use contract::Fault;
use platform::task::blocking;
use store::portable::{LexicalBackend, Limits, Reader, VectorOut, is_portable};

/// Maximum number of files read from a directory.
const FILES_MAX: usize = 16;

/// Stores the vectors of pending texts that the portable files contain. A directory without a usable file causes a note
/// instead of an error, because a first build has none.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` if the fence is lost, storage faults.
pub(super) async fn restore(
    run: &RunContext<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<RestoredArtifacts>, Fault> {
    let Some(directory) = run.options.artifacts.clone() else { return Ok(None) };
    let (limits, model_hash, cancel) =
        (Limits::from(&run.config.portable), run.project.model().hash.clone(), run.cancel.clone());
    let (mut readers, mut rejected) = blocking(move || {
        let open = |path: &Path| Reader::open(path, limits, LexicalBackend::Postings, &cancel);
        Ok(open_usable(Path::new(&directory), &model_hash, &open))
    })
    .await?;
    notes.append(&mut rejected);
    let mut restored = RestoredArtifacts { files: readers.len() as u64, vectors: 0 };
    let mut after: Option<Vec<u8>> = None;
    while !readers.is_empty() {
        let page = vectors::pending_page(run, after.as_deref()).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.hash.clone());
        let hashes: Vec<Vec<u8>> = page.into_iter().map(|text| text.hash).collect();
        let found;
        (readers, found) = blocking(move || {
            let found = find_vectors(&readers, hashes);
            Ok((readers, found))
        })
        .await?;
        let (hashes, embeddings): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let mut tx = run.begin_batch().await?;
        restored.vectors += store::vectors::insert(&mut tx, run.fence, &hashes, &embeddings).await?;
        tx.commit().await?;
    }
    Ok(Some(restored))
}

/// Opens the portable files with vectors of the model; returns notes about the rejected ones.
fn open_usable(
    directory: &Path,
    model_hash: &[u8],
    open: &dyn Fn(&Path) -> Result<Reader, Fault>,
) -> (Vec<Reader>, Vec<String>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    // Skip links, which could point to files outside of the directory.
    let regular = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut paths: Vec<_> = regular.map(|entry| entry.path()).filter(|path| is_portable(path)).collect();
    paths.sort();
    let mut notes = Vec::new();
    if paths.is_empty() {
        notes.push(
            "No portable index file was found among the artifacts; every text was embedded.".to_owned(),
        );
    }
    let mut readers = Vec::new();
    for path in paths.into_iter().take(FILES_MAX) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match open(&path) {
            Ok(reader) if reader.model().hash == model_hash => readers.push(reader),
            Ok(reader) => {
                notes.push(format!(
                    "The artifact {name} contains vectors of another model ({}).",
                    reader.model().id
                ));
            }
            Err(fault) => notes.push(format!("The artifact {name} was skipped. {}", fault.message)),
        }
    }
    (readers, notes)
}

/// Finds vectors by text hash, each in the first file that contains it. A damaged file counts as empty.
fn find_vectors(readers: &[Reader], mut missing: Vec<Vec<u8>>) -> Vec<VectorOut> {
    let mut vectors: Vec<VectorOut> = Vec::new();
    for reader in readers {
        let found = reader.vectors(&missing).unwrap_or_default();
        missing.retain(|hash| found.iter().all(|(found_hash, _)| found_hash != hash));
        vectors.extend(found);
    }
    vectors
}
