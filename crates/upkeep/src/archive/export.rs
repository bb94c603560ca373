//! Writes a project into one file: streamed, aside, and renamed when it is whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::format::{FORMAT, MANIFEST, Manifest, Model, ModuleVersion, PIECES, Table, entry, hex};
use crate::folder;
use contract::{ErrorCode, Fault, TOOLING_VERSION};
use platform::failpoints;
use platform::room::Room;
use store::transfer::Departure;
use store::{Project, Store};

/// Bytes between two looks at the room on disk.
const LOOK_BYTES: u64 = 4 * 1024 * 1024;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// The project.
    #[serde(rename = "project_id")]
    pub project_id: String,
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Their size, unpacked.
    pub row_bytes: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// Writes the project as it is now into `file`, which must not exist. `now` is what the manifest says of the time.
///
/// # Errors
/// `INVALID_REQUEST` when the file exists; `PERMISSION_DENIED` and `INTERNAL` as the disk says, `STORAGE_UNAVAILABLE` without
/// room on it; `CANCELLED`; storage faults.
/// Nothing is left of a file that was not finished.
pub async fn export(
    store: &Store,
    project: &Project,
    file: &Path,
    now: String,
    cancel: &CancellationToken,
    on_table: &(dyn Fn(&str) + Sync),
) -> Result<Exported, Fault> {
    if file.exists() {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("{} exists already.", file.display()))
            .with_hint("Give the name of a new file."));
    }
    let room = store.room().and("the archive", file);
    room.require(0).await?;
    let aside = Aside::of(file);
    let path = aside.0.clone();
    let mut zip = folder::off(move || {
        let file = File::create(&path).map_err(|error| folder::refused("write the archive", error))?;
        Ok(ZipWriter::new(file))
    })
    .await?;
    let mut departure = Departure::begin(store, project).await?;
    let mut tables = Vec::new();
    for module in departure.modules.clone() {
        for table in module.tables() {
            if cancel.is_cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, "The export was stopped; no file was left."));
            }
            on_table(table);
            let (columns, rows) = departure.describe(table).await?;
            let (to, from) = mpsc::channel(PIECES);
            let name = entry(module.name, table);
            let kept = room.clone();
            let writing = tokio::task::spawn_blocking(move || put(zip, &name, from, &kept));
            let sent = departure.send(table, &columns, &to).await;
            drop(to);
            let written =
                writing.await.map_err(|error| Fault::internal("The archive was not written.", error))?;
            // A full disk is why nobody received.
            let (back, bytes, sha256) = written?;
            sent?;
            zip = back;
            tables.push(Table {
                module: module.name.into(),
                name: table.into(),
                columns,
                rows,
                bytes,
                sha256,
            });
        }
    }
    let modules = departure.modules.iter();
    let modules =
        modules.map(|module| ModuleVersion { name: module.name.into(), version: module.version }).collect();
    departure.end().await?;
    let (rows, row_bytes) =
        tables.iter().fold((0, 0), |(rows, bytes), table| (rows + table.rows, bytes + table.bytes));
    let manifest = Manifest {
        format: FORMAT,
        program: format!("pairofcleats {TOOLING_VERSION}"),
        project_id: project.id().as_str().to_owned(),
        created_at: now,
        model: Model::of(project.model()),
        modules,
        tables,
    };
    let count = manifest.tables.len() as u64;
    let target = file.to_owned();
    let bytes = folder::off(move || finish(zip, &manifest, aside, &target)).await?;
    Ok(Exported { project_id: project.id().as_str().to_owned(), tables: count, rows, row_bytes, bytes })
}

/// The file beside the target while it is written; removed unless it was finished.
struct Aside(PathBuf);

impl Aside {
    fn of(file: &Path) -> Self {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        Self(file.with_file_name(name))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "an unfinished archive was left behind");
        }
    }
}

type Put = (ZipWriter<File>, u64, String);

fn put(
    mut zip: ZipWriter<File>,
    name: &str,
    mut from: mpsc::Receiver<Vec<u8>>,
    room: &Room,
) -> Result<Put, Fault> {
    let failed = |error| folder::refused("write the archive", error);
    let (mut hasher, mut bytes, mut looked) = (Sha256::new(), 0, 0);
    zip.start_file(name, options()).map_err(|error| failed(error.into()))?;
    while let Some(piece) = from.blocking_recv() {
        hasher.update(&piece);
        bytes += piece.len() as u64;
        if bytes - looked >= LOOK_BYTES {
            looked = bytes;
            room.check()?;
        }
        zip.write_all(&piece).map_err(failed)?;
    }
    Ok((zip, bytes, hex(&hasher.finalize())))
}

fn finish(mut zip: ZipWriter<File>, manifest: &Manifest, aside: Aside, target: &Path) -> Result<u64, Fault> {
    let failed = |error| folder::refused("write the archive", error);
    let text = serde_json::to_vec_pretty(manifest)
        .map_err(|error| Fault::internal("The manifest could not be written.", error))?;
    zip.start_file(MANIFEST, options()).map_err(|error| failed(error.into()))?;
    zip.write_all(&text).map_err(failed)?;
    let file = zip.finish().map_err(|error| failed(error.into()))?;
    file.sync_all().map_err(failed)?;
    failpoints::reach("export.written");
    fs::rename(&aside.0, target).map_err(failed)?;
    Ok(file.metadata().map_err(failed)?.len())
}

fn options() -> SimpleFileOptions {
    // Level 1: vectors hardly shrink, and texts do so at once.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    options.compression_level(Some(1)).large_file(true).unix_permissions(0o600)
}
