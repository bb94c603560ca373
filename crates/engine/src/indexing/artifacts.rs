//! Vectors that were made elsewhere: taken from portable files that a build left behind, so that a run embeds only what is
//! missing. Nothing else in such a file is believed.

use std::path::Path;

use super::report::RestoredArtifacts;
use super::run::Run;
use super::vectors;
use contract::Fault;
use store::portable::{Limits, Reader, VectorOut, WordsBy, is_portable};

/// Files of a folder that are looked at.
const FILES_MAX: usize = 16;

/// Gives pending texts the vectors that files in the folder hold for them. A folder without a usable file is a note, because a
/// first build has none.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` when the fence is lost, storage faults.
pub(super) async fn restore(
    run: &Run<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<RestoredArtifacts>, Fault> {
    let Some(folder) = run.options.artifacts.clone() else { return Ok(None) };
    let (limits, hash, stop) =
        (Limits::from(&run.config.portable), run.project.model().hash.clone(), run.cancel.clone());
    let (mut readers, mut left_out) = on_thread(move || {
        let open = |path: &Path| Reader::open(path, limits, WordsBy::Postings, &stop);
        Ok(usable(Path::new(&folder), &hash, &open))
    })
    .await?;
    notes.append(&mut left_out);
    let mut restored = RestoredArtifacts { files: readers.len() as u64, vectors: 0 };
    let mut after: Option<Vec<u8>> = None;
    while !readers.is_empty() {
        let page = vectors::fetch(run, after.as_deref()).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.hash.clone());
        let hashes: Vec<Vec<u8>> = page.into_iter().map(|text| text.hash).collect();
        let found;
        (readers, found) = on_thread(move || {
            let found = held(&readers, hashes);
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

/// The files of the folder that hold vectors of the model, and why others are left out.
fn usable(
    folder: &Path,
    model: &[u8],
    open: &dyn Fn(&Path) -> Result<Reader, Fault>,
) -> (Vec<Reader>, Vec<String>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // Links could lead to files of others.
    let own = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut paths: Vec<_> = own.map(|entry| entry.path()).filter(|path| is_portable(path)).collect();
    paths.sort();
    let mut notes = Vec::new();
    if paths.is_empty() {
        notes.push(
            "No portable index file was found among the artifacts; every text was embedded here.".to_owned(),
        );
    }
    let mut readers = Vec::new();
    for path in paths.into_iter().take(FILES_MAX) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match open(&path) {
            Ok(reader) if reader.model().hash == model => readers.push(reader),
            Ok(reader) => {
                notes.push(format!(
                    "The artifact {name} holds vectors of another model ({}).",
                    reader.model().id
                ));
            }
            Err(fault) => notes.push(format!("The artifact {name} was left out. {}", fault.message)),
        }
    }
    (readers, notes)
}

/// Vectors of some texts, each from the first file that has it. A file that turns out to be damaged has none.
fn held(readers: &[Reader], mut wanted: Vec<Vec<u8>>) -> Vec<VectorOut> {
    let mut held: Vec<VectorOut> = Vec::new();
    for reader in readers {
        let found = reader.vectors(&wanted).unwrap_or_default();
        wanted.retain(|hash| found.iter().all(|(known, _)| known != hash));
        held.extend(found);
    }
    held
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("Reading the artifacts failed unexpectedly.", error)),
    }
}
