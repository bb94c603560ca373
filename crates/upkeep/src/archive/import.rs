//! Makes a project of an archive: every byte is looked at first, then all rows come in one transaction.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zip::ZipArchive;
use zip::result::ZipError;

use super::format::{
    Hashed, MANIFEST, MANIFEST_BYTES_MAX, Manifest, PIECE_BYTES, PIECES, Table, damaged, entry,
};
use crate::folder;
use contract::{ErrorCode, Fault, ProjectId};
use platform::beneath;
use platform::failpoints;
use platform::room::Room;
use store::transfer::{Arrival, Module};
use store::{Fence, Store, lexical, vectors};

/// Pieces of the archive between two looks at the room on disk: 4 MB.
const PIECES_A_LOOK: u64 = 16;

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// The new project.
    #[serde(rename = "project_id")]
    pub project_id: String,
    /// The project that it was.
    pub exported_as: String,
    /// When it was exported, UTC.
    pub exported_at: String,
    /// Rows of all tables.
    pub rows: u64,
    /// Repositories without a folder here: they are searched, and nothing of this machine is read for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repositories_without_folder: Vec<String>,
}

/// What bounds an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Unpacked bytes of an archive.
    pub bytes_max: u64,
    /// Vectors from which a nearest-neighbour index is kept.
    pub hnsw_rows_min: u64,
    /// Memory for building indexes.
    pub maintenance_work_mem_mb: u32,
}

pub(super) type Archive = ZipArchive<File>;

/// Makes the project `id`, or one of the name it had, of the archive `file`.
///
/// # Errors
/// `NOT_FOUND` when there is no such file; `DOWNLOAD_VERIFY_FAILED` when it is not what an export wrote, `ARCHIVE_UNSAFE` and
/// `ARCHIVE_TOO_LARGE` when it cannot be; `ILLEGAL_STATE` when the project exists, or another version of the program wrote
/// the archive; `STORAGE_UNAVAILABLE` without room for its rows; `CANCELLED`; storage faults. Nothing is left of a project that was not finished.
pub async fn import(
    store: &Store,
    file: &Path,
    id: Option<ProjectId>,
    places: &BTreeMap<String, String>,
    settings: Settings,
    cancel: &CancellationToken,
    on_table: &(dyn Fn(&str) + Sync),
) -> Result<Imported, Fault> {
    let (path, stop) = (file.to_owned(), cancel.clone());
    let (archive, manifest) = folder::off(move || examine(&path, settings.bytes_max, &stop)).await?;
    let bytes = manifest.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add);
    store.room().require(bytes).await?;
    let archive = Arc::new(Mutex::new(archive));
    let id = match id {
        Some(id) => id,
        None => ProjectId::parse(&manifest.project_id).map_err(|error| damaged(error.constraint))?,
    };
    let mut arrival = Arrival::begin(store, &id, &manifest.model.facts()?, manifest.modules()?).await?;
    let mut rows = 0;
    for (table, name) in manifest.tables.iter().zip(names(&manifest.modules()?)) {
        on_table(name);
        let columns = arrival.columns(name).await?;
        if columns != table.columns {
            return Err(damaged(format_args!("the columns of {name} are not those of its version")));
        }
        let (to, mut from) = mpsc::channel(PIECES);
        let (archive, place, stop) = (Arc::clone(&archive), entry(&table.module, name), cancel.clone());
        let room = store.room().clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
            take(&mut archive, &place, &to, &stop, &room);
        });
        let came = arrival.receive(name, &columns, &mut from).await;
        drop(from);
        reading.await.map_err(|error| Fault::internal("The archive was not read.", error))?;
        let came = came?;
        if came != table.rows {
            return Err(damaged(format_args!("{name} has {came} rows instead of {}", table.rows)));
        }
        failpoints::reach("import.table_taken");
        rows += came;
    }
    let (project, unplaced) = arrival.settle(places).await?;
    failpoints::reach("import.settled");
    // Whoever indexes first makes them, too: a search does without meanwhile.
    let memory = settings.maintenance_work_mem_mb;
    let indexed = async {
        lexical::ensure_terms_index(store, &project, Fence(0), memory).await?;
        vectors::ensure_hnsw(store, &project, Fence(0), settings.hnsw_rows_min, memory).await
    };
    if let Err(fault) = indexed.await {
        tracing::warn!("the indexes are left to the next run: {fault}");
    }
    Ok(Imported {
        project_id: id.as_str().to_owned(),
        exported_as: manifest.project_id,
        exported_at: manifest.created_at,
        rows,
        repositories_without_folder: unplaced,
    })
}

fn names(modules: &[Module]) -> Vec<&'static str> {
    modules.iter().flat_map(Module::tables).collect()
}

/// Reads all of it and compares with what its manifest says. Blocks.
pub(super) fn examine(
    file: &Path,
    bytes_max: u64,
    cancel: &CancellationToken,
) -> Result<(Archive, Manifest), Fault> {
    let opened = beneath::open_named(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Fault::new(ErrorCode::NotFound, format!("There is no file {}.", file.display()))
                .with_hint("Give the path of a file that `pairofcleats projects export` wrote.")
        }
        io::ErrorKind::InvalidInput => {
            Fault::new(ErrorCode::InvalidRequest, format!("{} is not a regular file.", file.display()))
                .with_hint("Give the path of a file that `pairofcleats projects export` wrote.")
        }
        _ => folder::refused("read the archive", error),
    })?;
    let mut archive = ZipArchive::new(opened).map_err(unreadable)?;
    let manifest = manifest(&mut archive)?;
    let wanted: Vec<String> = manifest.tables.iter().map(|table| entry(&table.module, &table.name)).collect();
    require_only(&mut archive, &wanted)?;
    manifest.modules()?;
    manifest.model.facts()?;
    let total = manifest.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add);
    if total > bytes_max {
        return Err(too_large(bytes_max));
    }
    for (table, place) in manifest.tables.iter().zip(&wanted) {
        if cancel.is_cancelled() {
            return Err(Fault::new(
                ErrorCode::Cancelled,
                "The import was stopped before it changed anything.",
            ));
        }
        verify(&mut archive, table, place)?;
    }
    Ok((archive, manifest))
}

fn manifest(archive: &mut Archive) -> Result<Manifest, Fault> {
    let entry = match archive.by_name(MANIFEST) {
        Ok(entry) => entry,
        Err(ZipError::FileNotFound) => return Err(damaged("it has no manifest")),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = Vec::new();
    entry.take(MANIFEST_BYTES_MAX + 1).read_to_end(&mut text).map_err(damaged)?;
    if text.len() as u64 > MANIFEST_BYTES_MAX {
        return Err(damaged(format_args!("its manifest has more than {MANIFEST_BYTES_MAX} bytes")));
    }
    serde_json::from_slice(&text)
        .map_err(|error| damaged(format_args!("its manifest cannot be read: {error}")))
}

/// Refuses whatever no export writes: it was not ours, or it was changed.
fn require_only(archive: &mut Archive, wanted: &[String]) -> Result<(), Fault> {
    let unsafe_entry = |why: &str| {
        Fault::new(ErrorCode::ArchiveUnsafe, format!("The archive holds {why}; nothing was read from it."))
            .with_hint("Take a file that `pairofcleats projects export` wrote.")
    };
    if archive.has_duplicate_names() {
        return Err(unsafe_entry("two entries of one name"));
    }
    for index in 0..archive.len() {
        let found = archive.by_index_raw(index).map_err(unreadable)?;
        let name = found.name().map_err(unreadable)?;
        if found.is_symlink() || found.is_dir() || found.encrypted() {
            return Err(unsafe_entry("a link, a folder or an encrypted entry"));
        }
        if name != MANIFEST && !wanted.iter().any(|wanted| *wanted == name) {
            return Err(unsafe_entry("an entry that its manifest does not name"));
        }
    }
    if archive.len() == wanted.len() + 1 { Ok(()) } else { Err(damaged("a table is missing")) }
}

fn verify(archive: &mut Archive, table: &Table, place: &str) -> Result<(), Fault> {
    let entry = archive.by_name(place).map_err(unreadable)?;
    // One byte more than promised is enough to know; a bomb gets no further.
    let mut hashed = Hashed::new(entry.take(table.bytes.saturating_add(1)));
    io::copy(&mut hashed, &mut io::sink()).map_err(damaged)?;
    if hashed.bytes > table.bytes {
        return Err(longer_than_told(table));
    }
    if hashed.bytes != table.bytes || hashed.sha256() != table.sha256 {
        return Err(damaged(format_args!("{} is not what was exported", table.name)));
    }
    Ok(())
}

/// Sends an entry piece by piece, or why that is not possible. Blocks.
fn take(
    archive: &mut Archive,
    place: &str,
    to: &mpsc::Sender<Result<Vec<u8>, Fault>>,
    cancel: &CancellationToken,
    room: &Room,
) {
    let mut send = || -> Result<(), Fault> {
        let mut entry = archive.by_name(place).map_err(unreadable)?;
        for count in 0_u64.. {
            if count % PIECES_A_LOOK == 0 {
                room.check()?;
            }
            if cancel.is_cancelled() {
                return Err(Fault::new(
                    ErrorCode::Cancelled,
                    "The import was stopped; nothing of it was kept.",
                ));
            }
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            entry.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece).map_err(damaged)?;
            if piece.is_empty() || to.blocking_send(Ok(piece)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    };
    if let Err(fault) = send() {
        // Nobody receives any more: the import failed already, for a reason of its own.
        let _ = to.blocking_send(Err(fault));
    }
}

fn unreadable(error: ZipError) -> Fault {
    damaged("it cannot be read as a zip file").with_source(error)
}

/// A table with more bytes than the manifest tells: a bomb, or a file that was changed. No setting lets it in.
fn longer_than_told(table: &Table) -> Fault {
    let message = format!("The archive's table {} is longer than its manifest says.", table.name);
    Fault::new(ErrorCode::ArchiveTooLarge, message)
        .with_hint("Take a file that `pairofcleats projects export` wrote, as it was written.")
        .with_details(json!({ "table": table.name, "bytesTold": table.bytes }))
}

fn too_large(bytes_max: u64) -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, format!("The archive unpacks to more than {bytes_max} bytes."))
        .with_hint("If it is yours, raise upkeep.import_bytes_max.")
}
