//! Fuzz target: the verification of an archive, which precedes the import of its rows.

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::LazyLock;

use tokio_util::sync::CancellationToken;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::format::{
    ArchivedModel, FORMAT, HashingReader, MANIFEST, Manifest, ModuleVersion, TableEntry, entry_name,
};
use super::import::{Archive, verify_archive};
use store::ModelFacts;
use store::transfer::Module;

/// Largest fuzzed archive, in uncompressed bytes.
const BYTES_MAX: u64 = 1 << 20;
/// Content of each table: a COPY in Postgres' binary format without rows.
const ROWS: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\0\xff\xff";

/// Returns a valid archive without rows, for the fuzzer to alter.
pub fn base() -> &'static [u8] {
    static BASE: LazyLock<Vec<u8>> = LazyLock::new(|| write_archive().unwrap_or_default());
    assert!(!BASE.is_empty(), "the archive could not be written");
    &BASE
}

fn write_archive() -> Option<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let module = Module::named("search")?;
    let mut hashed = HashingReader::new(ROWS);
    std::io::copy(&mut hashed, &mut std::io::sink()).ok()?;
    let (sha256, _) = hashed.finish();
    let table = |name: &&'static str| TableEntry {
        module: module.name.to_owned(),
        name: (*name).to_owned(),
        columns: vec![("id".to_owned(), "bigint".to_owned())],
        rows: 0,
        bytes: ROWS.len() as u64,
        sha256: sha256.clone(),
    };
    let facts = ModelFacts { id: "model".into(), variant: "fp32".into(), hash: vec![7; 32], dimensions: 8 };
    let manifest = Manifest {
        format: FORMAT,
        program: "pairofcleats".to_owned(),
        project_id: "client-a".to_owned(),
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        model: ArchivedModel::from_facts(&facts),
        modules: vec![ModuleVersion { name: module.name.to_owned(), version: module.version }],
        tables: module.tables().iter().map(table).collect(),
    };
    for name in module.tables() {
        zip.start_file(entry_name(module.name, name), SimpleFileOptions::default()).ok()?;
        zip.write_all(ROWS).ok()?;
    }
    zip.start_file(MANIFEST, SimpleFileOptions::default()).ok()?;
    zip.write_all(&serde_json::to_vec(&manifest).ok()?).ok()?;
    Some(zip.finish().ok()?.into_inner())
}

/// Verifies an archive. An archive that passes has every table of its manifest with the announced size, within the limit.
pub fn read(file: &Path) {
    let Ok((mut archive, manifest)) = verify_archive(file, BYTES_MAX, &CancellationToken::new()) else {
        return;
    };
    let total: u64 = manifest.tables.iter().map(|table| table.bytes).sum();
    assert!(total <= BYTES_MAX, "{total} bytes");
    for table in &manifest.tables {
        assert_eq!(
            unpacked_bytes(&mut archive, &entry_name(&table.module, &table.name)),
            Some(table.bytes),
            "{}",
            table.name
        );
    }
}

fn unpacked_bytes(archive: &mut Archive, name: &str) -> Option<u64> {
    std::io::copy(&mut archive.by_name(name).ok()?, &mut std::io::sink()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unaltered_archive_is_valid() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), base()).unwrap();
        verify_archive(file.path(), BYTES_MAX, &CancellationToken::new()).unwrap();
    }
}
