//! The evidence of a run as one file: its artifacts, its events and its snapshot, with a list of their hashes.

use std::io::{self, Cursor, Write};

use platform::sha256;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::report::stable_json;

/// Name of the packed evidence.
pub const EVIDENCE: &str = "evidence.zip";
/// Media type of the packed evidence.
pub const EVIDENCE_TYPE: &str = "application/zip";
/// Name of the list in it.
const MANIFEST: &str = "manifest.json";

/// A file of the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Packs files in this order. If the result has more than `bytes_max` bytes, drafts are omitted, then all files; the list always has the
/// hashes of all.
///
/// # Errors
/// Those of packing in memory.
pub fn pack(files: &[EvidenceFile], bytes_max: usize) -> io::Result<Vec<u8>> {
    let keeps: [fn(&EvidenceFile) -> bool; 3] =
        [|_| true, |file| !file.name.starts_with("drafts/"), |_| false];
    let mut packed = Vec::new();
    for keep in keeps {
        packed = pack_some(files, keep)?;
        if packed.len() <= bytes_max {
            break;
        }
    }
    Ok(packed)
}

fn pack_some(files: &[EvidenceFile], keep: fn(&EvidenceFile) -> bool) -> io::Result<Vec<u8>> {
    let listed: Vec<Value> = files
        .iter()
        .map(|file| {
            json!({
                "name": file.name,
                "bytes": file.bytes.len(),
                "sha256": sha256::digest_hex(&file.bytes),
                "included": keep(file),
            })
        })
        .collect();
    let manifest = stable_json(&json!({ "schema_version": "1.0", "files": listed }));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    // Without timestamps, which would make equal files differ.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut write = |name: &str, bytes: &[u8]| -> io::Result<()> {
        zip.start_file(name, options).map_err(io::Error::from)?;
        zip.write_all(bytes)
    };
    write(MANIFEST, manifest.as_bytes())?;
    for file in files.iter().filter(|file| keep(file)) {
        write(&file.name, &file.bytes)?;
    }
    Ok(zip.finish().map_err(io::Error::from)?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn file(name: &str, bytes: Vec<u8>) -> EvidenceFile {
        EvidenceFile { name: name.to_owned(), bytes }
    }

    /// Bytes that hardly compress.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut noise = Vec::new();
        while noise.len() < bytes {
            noise.extend(sha256::digest(&noise.len().to_le_bytes()));
        }
        noise
    }

    fn names(packed: &[u8]) -> Vec<String> {
        let archive = zip::ZipArchive::new(Cursor::new(packed)).unwrap();
        archive.file_names().map(|name| name.unwrap().into_owned()).collect()
    }

    #[test]
    fn equal_files_are_packed_into_equal_bytes() {
        let files = [file("page_plan.json", b"{}".to_vec()), file("drafts/a.md", b"# A".to_vec())];
        let packed = pack(&files, 1 << 20).unwrap();
        assert_eq!(packed, pack(&files, 1 << 20).unwrap());
        let mut archive = zip::ZipArchive::new(Cursor::new(&packed)).unwrap();
        let mut text = String::new();
        archive.by_name("drafts/a.md").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "# A");
        let mut manifest = String::new();
        archive.by_name(MANIFEST).unwrap().read_to_string(&mut manifest).unwrap();
        assert!(manifest.contains(&sha256::digest_hex(b"# A")), "{manifest}");
    }

    #[test]
    fn what_does_not_fit_is_only_listed() {
        let files = [file("report.json", noise(1000)), file("drafts/a.md", noise(50_000))];
        let packed = pack(&files, 10_000).unwrap();
        assert!(packed.len() <= 10_000 && !names(&packed).contains(&"drafts/a.md".to_owned()));
        assert!(names(&packed).contains(&"report.json".to_owned()));
        assert_eq!(names(&pack(&files, 1_100).unwrap()), [MANIFEST]);
    }
}
