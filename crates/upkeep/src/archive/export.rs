//! Writes a project into one file: streamed into a partial file, which is renamed when it is complete.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::format::{
    ArchivedModel, FORMAT, MANIFEST, Manifest, ModuleVersion, PIECES_BUFFERED, TableEntry, entry_name,
};
use crate::disk::disk_fault;
use crate::partial_file::PartialFile;
use contract::{ErrorCode, Fault, TOOLING_VERSION};
use platform::disk_space::DiskSpace;
use platform::failpoints;
use platform::sha256;
use platform::task::blocking;
use store::transfer::Export;
use store::{Project, Store};

/// Bytes between two checks of the free disk space.
const DISK_CHECK_BYTES: u64 = 4 * 1024 * 1024;

/// The size of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportReport {
    /// The project.
    #[serde(rename = "project_id")]
    pub project_id: String,
    /// Number of tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of the rows, uncompressed.
    pub row_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes one snapshot of the project into `file`, which must not exist. The manifest records `now` as the time of the
/// export; `on_table` is called with the name of each table. A failed export leaves no file.
///
/// # Errors
/// `INVALID_REQUEST` when the file exists; `PERMISSION_DENIED` and `INTERNAL` for file system errors, `STORAGE_UNAVAILABLE` when
/// the disk is full; `CANCELLED`; storage faults.
pub async fn export_project(
    store: &Store,
    project: &Project,
    file: &Path,
    now: String,
    cancel: &CancellationToken,
    on_table: &(dyn Fn(&str) + Sync),
) -> Result<ExportReport, Fault> {
    if file.exists() {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("{} already exists.", file.display()))
            .with_hint("Give the name of a new file."));
    }
    let disk_space = store.disk_space().with_volume("the archive", file);
    disk_space.require(0).await?;
    let partial = PartialFile::beside(file);
    let path = partial.path().to_owned();
    let mut zip = blocking(move || {
        let file = File::create(&path).map_err(|error| disk_fault("write the archive", error))?;
        Ok(ZipWriter::new(file))
    })
    .await?;
    let mut export = Export::begin(store, project).await?;
    let mut tables = Vec::new();
    for module in export.modules.clone() {
        for table in module.tables() {
            if cancel.is_cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, "The export was stopped; no file was left."));
            }
            on_table(table);
            let (columns, rows) = export.describe(table).await?;
            let (sender, pieces) = mpsc::channel(PIECES_BUFFERED);
            let name = entry_name(module.name, table);
            let disk_space = disk_space.clone();
            let writing =
                platform::task::spawn_blocking(move || write_table(zip, &name, pieces, &disk_space));
            let sent = export.send(table, &columns, &sender).await;
            drop(sender);
            let written =
                writing.await.map_err(|error| Fault::internal("The archive was not written.", error))?;
            // Checked before `sent`: a failed writer closes the channel, so its error is the cause of the sender's.
            let (writer, bytes, sha256) = written?;
            sent?;
            zip = writer;
            tables.push(TableEntry {
                module: module.name.into(),
                name: table.into(),
                columns,
                rows,
                bytes,
                sha256,
            });
        }
    }
    let modules = export.modules.iter();
    let modules =
        modules.map(|module| ModuleVersion { name: module.name.into(), version: module.version }).collect();
    export.finish().await?;
    let (rows, row_bytes) =
        tables.iter().fold((0, 0), |(rows, bytes), table| (rows + table.rows, bytes + table.bytes));
    let manifest = Manifest {
        format: FORMAT,
        program: format!("pairofcleats {TOOLING_VERSION}"),
        project_id: project.id().as_str().to_owned(),
        created_at: now,
        model: ArchivedModel::from_facts(project.model()),
        modules,
        tables,
    };
    let count = manifest.tables.len() as u64;
    let target = file.to_owned();
    let bytes = blocking(move || finish(zip, &manifest, partial, &target)).await?;
    Ok(ExportReport { project_id: project.id().as_str().to_owned(), tables: count, rows, row_bytes, bytes })
}

/// The archive's writer, and size and sha256 of the written table.
type WrittenTable = (ZipWriter<File>, u64, String);

fn write_table(
    mut zip: ZipWriter<File>,
    name: &str,
    mut pieces: mpsc::Receiver<Vec<u8>>,
    disk_space: &DiskSpace,
) -> Result<WrittenTable, Fault> {
    let failed = |error| disk_fault("write the archive", error);
    let (mut hasher, mut checked_at) = (sha256::Hasher::default(), 0);
    zip.start_file(name, options()).map_err(|error| failed(error.into()))?;
    while let Some(piece) = pieces.blocking_recv() {
        hasher.update(&piece);
        if hasher.bytes() - checked_at >= DISK_CHECK_BYTES {
            checked_at = hasher.bytes();
            disk_space.check()?;
        }
        zip.write_all(&piece).map_err(failed)?;
    }
    let bytes = hasher.bytes();
    Ok((zip, bytes, hasher.hex()))
}

fn finish(
    mut zip: ZipWriter<File>,
    manifest: &Manifest,
    partial: PartialFile,
    target: &Path,
) -> Result<u64, Fault> {
    let failed = |error| disk_fault("write the archive", error);
    let text = serde_json::to_vec_pretty(manifest)
        .map_err(|error| Fault::internal("The manifest could not be written.", error))?;
    zip.start_file(MANIFEST, options()).map_err(|error| failed(error.into()))?;
    zip.write_all(&text).map_err(failed)?;
    let file = zip.finish().map_err(|error| failed(error.into()))?;
    file.sync_all().map_err(failed)?;
    failpoints::reach("export.written");
    partial.rename_to(target).map_err(failed)?;
    Ok(file.metadata().map_err(failed)?.len())
}

fn options() -> SimpleFileOptions {
    // Level 1: vectors hardly compress at any level, and texts compress well at the lowest.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    options.compression_level(Some(1)).large_file(true).unix_permissions(0o600)
}
