//! A small file beside each installed asset: what it was made from and what must be there.
//!
//! Sizes are compared on every start (milliseconds); contents only when asked for.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the receipt inside an asset's folder.
const FILE: &str = "receipt.json";

/// What an asset was made from; another origin means another installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) asset: String,
    pub(super) version: String,
    pub(super) sha256: String,
    pub(super) recipe: String,
}

/// The receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    pub(super) origin: Origin,
    pub(super) files: Vec<FileRecord>,
}

/// One installed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    /// Relative to the asset's folder.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

/// How a folder compares with its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing is installed.
    Absent,
    /// It was made from something else, or its receipt is unreadable.
    Outdated,
    /// These files are missing or differ.
    Damaged(Vec<String>),
    /// All is as it was installed.
    Sound(Receipt),
}

impl Receipt {
    /// Total size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Records every file below `dir` and writes the receipt there.
    pub(super) fn write(dir: &Path, origin: Origin) -> io::Result<Self> {
        let mut files = Vec::new();
        record(dir, "", &mut files)?;
        files.sort_by(|a: &FileRecord, b| a.path.cmp(&b.path));
        let receipt = Self { origin, files };
        fs::write(dir.join(FILE), serde_json::to_vec(&receipt)?)?;
        Ok(receipt)
    }
}

fn record(dir: &Path, prefix: &str, files: &mut Vec<FileRecord>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            record(&entry.path(), &format!("{path}/"), files)?;
        } else {
            let (bytes, blake3) = (entry.metadata()?.len(), content_hash(&entry.path())?);
            files.push(FileRecord { path, bytes, blake3 });
        }
    }
    Ok(())
}

fn content_hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(fs::File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Compares sizes, and contents too if `contents`.
pub(super) fn check(dir: &Path, origin: &Origin, contents: bool) -> Check {
    if !dir.exists() {
        return Check::Absent;
    }
    let receipt =
        fs::read(dir.join(FILE)).ok().and_then(|json| serde_json::from_slice::<Receipt>(&json).ok());
    let Some(receipt) = receipt.filter(|receipt| receipt.origin == *origin) else {
        return Check::Outdated;
    };
    let sound = |file: &&FileRecord| {
        let path = dir.join(&file.path);
        let size = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == file.bytes);
        size && (!contents || content_hash(&path).is_ok_and(|hash| hash == file.blake3))
    };
    let damaged: Vec<String> =
        receipt.files.iter().filter(|file| !sound(file)).map(|f| f.path.clone()).collect();
    if damaged.is_empty() { Check::Sound(receipt) } else { Check::Damaged(damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(sha256: &str) -> Origin {
        let [asset, version, recipe] = ["a", "1", "r"].map(String::from);
        Origin { asset, version, sha256: sha256.to_owned(), recipe }
    }

    #[test]
    fn notices_missing_truncated_and_altered_files_and_another_origin() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("lib")).unwrap();
        let file = dir.path().join("lib/x.so");
        fs::write(&file, b"12345").unwrap();
        assert_eq!(check(dir.path(), &origin("s"), false), Check::Outdated);
        let receipt = Receipt::write(dir.path(), origin("s")).unwrap();
        assert_eq!(receipt.bytes(), 5);
        assert_eq!(check(dir.path(), &origin("s"), true), Check::Sound(receipt.clone()));
        assert_eq!(check(dir.path(), &origin("other"), false), Check::Outdated);

        fs::write(&file, b"54321").unwrap();
        assert_eq!(check(dir.path(), &origin("s"), false), Check::Sound(receipt));
        let damaged = Check::Damaged(vec!["lib/x.so".to_owned()]);
        assert_eq!(check(dir.path(), &origin("s"), true), damaged);
        fs::write(&file, b"123").unwrap();
        assert_eq!(check(dir.path(), &origin("s"), false), damaged);
        fs::remove_file(&file).unwrap();
        assert_eq!(check(dir.path(), &origin("s"), false), damaged);
        assert_eq!(check(&dir.path().join("absent"), &origin("s"), false), Check::Absent);
    }
}
