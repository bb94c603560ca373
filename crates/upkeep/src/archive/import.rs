//! Creates a project from an archive: verifies every byte first, then inserts all rows in one transaction.

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
    HashingReader, MANIFEST, MANIFEST_BYTES_MAX, Manifest, PIECE_BYTES, PIECES, TableEntry, damaged,
    entry_name,
};
use crate::disk::disk_fault;
use contract::{ErrorCode, Fault, ProjectId};
use platform::beneath;
use platform::failpoints;
use platform::room::Room;
use platform::task::blocking;
use store::transfer::{Import, Module};
use store::{Fence, Store, lexical, vectors};

/// Pieces between two checks of the free disk space: 4 MiB.
const PIECES_PER_DISK_CHECK: u64 = 16;

/// The imported project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// The new project.
    #[serde(rename = "project_id")]
    pub project_id: String,
    /// Id of the exported project.
    pub exported_as: String,
    /// Time of the export, UTC.
    pub exported_at: String,
    /// Rows of all tables.
    pub rows: u64,
    /// Repositories without a folder here: they are searched, and nothing of this machine is read for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repositories_without_folder: Vec<String>,
}

/// Bounds and index parameters of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportSettings {
    /// Most bytes of an archive, uncompressed.
    pub bytes_max: u64,
    /// Number of vectors from which an HNSW index is built.
    pub hnsw_rows_min: u64,
    /// Memory for building indexes, in MiB.
    pub maintenance_work_mem_mb: u32,
}

pub(super) type Archive = ZipArchive<File>;

/// Creates the project `id`, or one with the id of the exported project, from the archive `file`. `places` maps repository roots
/// of the exporting machine to directories of this one. A failed import leaves nothing behind.
///
/// # Errors
/// `NOT_FOUND` when there is no such file; `DOWNLOAD_VERIFY_FAILED` when it is not what an export wrote, `ARCHIVE_UNSAFE` and
/// `ARCHIVE_TOO_LARGE` when it cannot be; `ILLEGAL_STATE` when the project exists, or another version of the program wrote
/// the archive; `STORAGE_UNAVAILABLE` without disk space for its rows; `CANCELLED`; storage faults.
pub async fn import_project(
    store: &Store,
    file: &Path,
    id: Option<ProjectId>,
    places: &BTreeMap<String, String>,
    settings: ImportSettings,
    cancel: &CancellationToken,
    on_table: &(dyn Fn(&str) + Sync),
) -> Result<ImportReport, Fault> {
    let (path, stop) = (file.to_owned(), cancel.clone());
    let (archive, manifest) = blocking(move || verify_archive(&path, settings.bytes_max, &stop)).await?;
    let bytes = manifest.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add);
    store.room().require(bytes).await?;
    let archive = Arc::new(Mutex::new(archive));
    let id = match id {
        Some(id) => id,
        None => ProjectId::parse(&manifest.project_id).map_err(|error| damaged(error.constraint))?,
    };
    let mut import = Import::begin(store, &id, &manifest.model.facts()?, manifest.modules()?).await?;
    let mut rows = 0;
    for (table, name) in manifest.tables.iter().zip(names(&manifest.modules()?)) {
        on_table(name);
        let columns = import.columns(name).await?;
        if columns != table.columns {
            return Err(damaged(format_args!("the columns of {name} are not those of its version")));
        }
        let (to, mut from) = mpsc::channel(PIECES);
        let (archive, place, stop) = (Arc::clone(&archive), entry_name(&table.module, name), cancel.clone());
        let room = store.room().clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
            send_entry(&mut archive, &place, &to, &stop, &room);
        });
        let received = import.receive(name, &columns, &mut from).await;
        drop(from);
        reading.await.map_err(|error| Fault::internal("The archive was not read.", error))?;
        let received = received?;
        if received != table.rows {
            return Err(damaged(format_args!("{name} has {received} rows instead of {}", table.rows)));
        }
        failpoints::reach("import.table_taken");
        rows += received;
    }
    let (project, unplaced) = import.publish(places).await?;
    failpoints::reach("import.settled");
    // A failure here is not one of the import: searches work without these indexes, and the next index run builds them.
    let memory = settings.maintenance_work_mem_mb;
    let indexed = async {
        lexical::ensure_terms_index(store, &project, Fence(0), memory).await?;
        vectors::ensure_hnsw(store, &project, Fence(0), settings.hnsw_rows_min, memory).await
    };
    if let Err(fault) = indexed.await {
        tracing::warn!("the indexes are left to the next run: {fault}");
    }
    Ok(ImportReport {
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

/// Reads the whole archive and compares it with its manifest. Blocks.
pub(super) fn verify_archive(
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
        _ => disk_fault("read the archive", error),
    })?;
    let mut archive = ZipArchive::new(opened).map_err(unreadable)?;
    let manifest = read_manifest(&mut archive)?;
    let wanted: Vec<String> =
        manifest.tables.iter().map(|table| entry_name(&table.module, &table.name)).collect();
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
        verify_table(&mut archive, table, place)?;
    }
    Ok((archive, manifest))
}

fn read_manifest(archive: &mut Archive) -> Result<Manifest, Fault> {
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

/// Refuses an archive with entries that no export writes.
fn require_only(archive: &mut Archive, wanted: &[String]) -> Result<(), Fault> {
    let unsafe_entry = |why: &str| {
        Fault::new(ErrorCode::ArchiveUnsafe, format!("The archive contains {why}; nothing was imported."))
            .with_hint("Use a file that `pairofcleats projects export` wrote.")
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

fn verify_table(archive: &mut Archive, table: &TableEntry, place: &str) -> Result<(), Fault> {
    let entry = archive.by_name(place).map_err(unreadable)?;
    // One byte more than announced proves that the entry is longer; a zip bomb is read no further.
    let mut hashed = HashingReader::new(entry.take(table.bytes.saturating_add(1)));
    io::copy(&mut hashed, &mut io::sink()).map_err(damaged)?;
    let (sha256, bytes) = hashed.finish();
    if bytes > table.bytes {
        return Err(longer_than_announced(table));
    }
    if bytes != table.bytes || sha256 != table.sha256 {
        return Err(damaged(format_args!("{} is not what was exported", table.name)));
    }
    Ok(())
}

/// Sends the content of an entry in pieces, or the fault that ended it. Blocks.
fn send_entry(
    archive: &mut Archive,
    place: &str,
    to: &mpsc::Sender<Result<Vec<u8>, Fault>>,
    cancel: &CancellationToken,
    room: &Room,
) {
    let mut send = || -> Result<(), Fault> {
        let mut entry = archive.by_name(place).map_err(unreadable)?;
        for count in 0_u64.. {
            if count % PIECES_PER_DISK_CHECK == 0 {
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
        // Fails when the receiver is gone: then the import has failed already, with an error of its own.
        let _ = to.blocking_send(Err(fault));
    }
}

fn unreadable(error: ZipError) -> Fault {
    damaged("it cannot be read as a zip file").with_source(error)
}

/// A table with more bytes than its manifest announces: a zip bomb, or an altered file. No setting permits it.
fn longer_than_announced(table: &TableEntry) -> Fault {
    let message = format!("The archive's table {} is longer than its manifest says.", table.name);
    Fault::new(ErrorCode::ArchiveTooLarge, message)
        .with_hint("Use a file that `pairofcleats projects export` wrote, as it was written.")
        .with_details(json!({ "table": table.name, "bytesTold": table.bytes }))
}

fn too_large(bytes_max: u64) -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, format!("The archive unpacks to more than {bytes_max} bytes."))
        .with_hint("If you trust it, raise upkeep.import_bytes_max.")
}
