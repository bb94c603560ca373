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
    HashingReader, MANIFEST, MANIFEST_BYTES_MAX, Manifest, PIECE_BYTES, PIECES_BUFFERED, TableEntry, damaged,
    entry_name,
};
use crate::disk::disk_fault;
use contract::{ErrorCode, Fault, ProjectId};
use platform::disk_space::DiskSpace;
use platform::failpoints;
use platform::safe_open;
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
    /// Repositories without a directory on this machine: they can be searched, but their files cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repositories_without_folder: Vec<String>,
}

/// Bounds and index parameters of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportSettings {
    /// Largest archive, in uncompressed bytes.
    pub bytes_max: u64,
    /// Number of vectors from which an HNSW index is built.
    pub hnsw_rows_min: u64,
    /// Memory for building indexes, in MiB.
    pub maintenance_work_mem_mb: u32,
}

pub(super) type Archive = ZipArchive<File>;

/// Creates the project `id`, by default with the id of the exported project, from the archive `file`.
/// `directories_for` is called with that id before anything is written; it maps names of exported repositories to
/// directories of this machine that the project may read. A failed import leaves nothing behind.
///
/// # Errors
/// `NOT_FOUND` if the file does not exist; `DOWNLOAD_VERIFY_FAILED` if the archive is damaged; `ARCHIVE_UNSAFE` and
/// `ARCHIVE_TOO_LARGE` if no export can have written it; `ILLEGAL_STATE` if the project exists or another version of
/// the program wrote the archive; `STORAGE_UNAVAILABLE` if the rows do not fit on the disk; `CANCELLED`; the faults of
/// `directories_for`; storage faults.
pub async fn import_project(
    store: &Store,
    file: &Path,
    id: Option<ProjectId>,
    directories_for: impl FnOnce(&ProjectId) -> Result<BTreeMap<String, String>, Fault>,
    settings: ImportSettings,
    cancel: &CancellationToken,
    on_table: &(dyn Fn(&str) + Sync),
) -> Result<ImportReport, Fault> {
    let (path, stop) = (file.to_owned(), cancel.clone());
    let (archive, manifest) = blocking(move || verify_archive(&path, settings.bytes_max, &stop)).await?;
    let bytes = manifest.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add);
    store.disk_space().require(bytes).await?;
    let archive = Arc::new(Mutex::new(archive));
    let id = match id {
        Some(id) => id,
        None => ProjectId::parse(&manifest.project_id).map_err(|error| damaged(error.constraint))?,
    };
    let directories = directories_for(&id)?;
    let mut import = Import::begin(store, &id, &manifest.model.facts()?, manifest.modules()?).await?;
    let mut rows = 0;
    for (table, name) in manifest.tables.iter().zip(table_names(&manifest.modules()?)) {
        on_table(name);
        let columns = import.columns(name).await?;
        if columns != table.columns {
            return Err(damaged(format_args!("the columns of {name} are not those of its version")));
        }
        let (sender, mut pieces) = mpsc::channel(PIECES_BUFFERED);
        let (archive, entry, stop) = (Arc::clone(&archive), entry_name(&table.module, name), cancel.clone());
        let disk_space = store.disk_space().clone();
        let reading = platform::task::spawn_blocking(move || {
            let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
            send_entry(&mut archive, &entry, &sender, &stop, &disk_space);
        });
        let received = import.receive(name, &columns, &mut pieces).await;
        drop(pieces);
        reading.await.map_err(|error| Fault::internal("The archive was not read.", error))?;
        let received = received?;
        if received != table.rows {
            return Err(damaged(format_args!("{name} has {received} rows instead of {}", table.rows)));
        }
        failpoints::reach("import.table_taken");
        rows += received;
    }
    let (project, repositories_without_folder) = import.publish(&directories).await?;
    failpoints::reach("import.settled");
    // The import succeeds without these indexes: searches work, and the next index run builds them.
    let memory = settings.maintenance_work_mem_mb;
    let indexed = async {
        lexical::ensure_terms_index(store, &project, Fence(0), memory).await?;
        vectors::ensure_hnsw(store, &project, Fence(0), settings.hnsw_rows_min, memory).await
    };
    if let Err(fault) = indexed.await {
        tracing::warn!("the indexes were not built; the next index run builds them: {fault}");
    }
    Ok(ImportReport {
        project_id: id.as_str().to_owned(),
        exported_as: manifest.project_id,
        exported_at: manifest.created_at,
        rows,
        repositories_without_folder,
    })
}

fn table_names(modules: &[Module]) -> Vec<&'static str> {
    modules.iter().flat_map(Module::tables).collect()
}

/// Reads the whole archive and compares each entry with the manifest. Blocks.
pub(super) fn verify_archive(
    file: &Path,
    bytes_max: u64,
    cancel: &CancellationToken,
) -> Result<(Archive, Manifest), Fault> {
    let opened = safe_open::open_regular_file(file).map_err(|error| match error.kind() {
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
    let expected: Vec<String> =
        manifest.tables.iter().map(|table| entry_name(&table.module, &table.name)).collect();
    require_only(&mut archive, &expected)?;
    manifest.modules()?;
    manifest.model.facts()?;
    let total = manifest.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add);
    if total > bytes_max {
        return Err(too_large(bytes_max));
    }
    for (table, entry) in manifest.tables.iter().zip(&expected) {
        if cancel.is_cancelled() {
            return Err(Fault::new(
                ErrorCode::Cancelled,
                "The import was stopped before it changed anything.",
            ));
        }
        verify_table(&mut archive, table, entry)?;
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

/// Refuses an archive with other entries than the manifest and those in `expected`.
fn require_only(archive: &mut Archive, expected: &[String]) -> Result<(), Fault> {
    let unsafe_entry = |why: &str| {
        Fault::new(ErrorCode::ArchiveUnsafe, format!("The archive contains {why}; nothing was imported."))
            .with_hint("Use a file that `pairofcleats projects export` wrote.")
    };
    if archive.has_duplicate_names() {
        return Err(unsafe_entry("two entries of one name"));
    }
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(unreadable)?;
        let name = entry.name().map_err(unreadable)?;
        if entry.is_symlink() || entry.is_dir() || entry.encrypted() {
            return Err(unsafe_entry("a link, a folder or an encrypted entry"));
        }
        if name != MANIFEST && !expected.iter().any(|expected| *expected == name) {
            return Err(unsafe_entry("an entry that its manifest does not name"));
        }
    }
    if archive.len() == expected.len() + 1 { Ok(()) } else { Err(damaged("a table is missing")) }
}

fn verify_table(archive: &mut Archive, table: &TableEntry, entry_name: &str) -> Result<(), Fault> {
    let entry = archive.by_name(entry_name).map_err(unreadable)?;
    // Reads at most one byte more than the manifest announces, so that a zip bomb is not unpacked.
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

/// Sends the content of an entry in pieces, then the fault if one occurred. Blocks.
fn send_entry(
    archive: &mut Archive,
    entry_name: &str,
    sender: &mpsc::Sender<Result<Vec<u8>, Fault>>,
    cancel: &CancellationToken,
    disk_space: &DiskSpace,
) {
    let mut send = || -> Result<(), Fault> {
        let mut entry = archive.by_name(entry_name).map_err(unreadable)?;
        for count in 0_u64.. {
            if count % PIECES_PER_DISK_CHECK == 0 {
                disk_space.check()?;
            }
            if cancel.is_cancelled() {
                return Err(Fault::new(
                    ErrorCode::Cancelled,
                    "The import was stopped; nothing of it was kept.",
                ));
            }
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            entry.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece).map_err(damaged)?;
            if piece.is_empty() || sender.blocking_send(Ok(piece)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    };
    if let Err(fault) = send() {
        // Fails only if the receiver was dropped, that is, if the import has failed with another error.
        let _ = sender.blocking_send(Err(fault));
    }
}

fn unreadable(error: ZipError) -> Fault {
    damaged("it cannot be read as a zip file").with_source(error)
}

/// Returns the fault for a table with more bytes than the manifest announces: a zip bomb or an altered file. No setting permits it.
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
