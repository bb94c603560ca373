//! The receipt of each installed asset: its origin, and size and hash of each of its files.
//!
//! Sizes are compared on every start, in milliseconds. Contents are compared on request, and before a file is loaded; the result
//! is stored with size, inode and times of each file, and reused for a day while these are unchanged.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Seconds for which a comparison of contents is reused; bounded, because a failing disk changes bytes but no times.
const COMPARISON_VALID_S: i64 = 24 * 60 * 60;
/// File name of the receipt in an asset's folder.
const RECEIPT_FILE: &str = "receipt.json";

/// The origin of an installed asset. An asset whose origin changed is installed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AssetOrigin {
    pub(super) asset: String,
    pub(super) version: String,
    pub(super) sha256: String,
    pub(super) recipe: String,
}

/// The installed files of an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    pub(super) origin: AssetOrigin,
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

/// The result of comparing a folder with its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReceiptCheck {
    /// The folder does not exist.
    Absent,
    /// It was installed from another origin, or its receipt is unreadable.
    Outdated,
    /// These files are missing or altered.
    Damaged(Vec<String>),
    /// No file is missing or altered.
    Intact(Receipt),
}

impl Receipt {
    /// Returns the total size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Records every file below `dir` and writes the receipt there.
    pub(super) fn write(dir: &Path, origin: AssetOrigin) -> io::Result<Self> {
        let mut files = Vec::new();
        record(dir, "", &mut files)?;
        files.sort_by(|a: &FileRecord, b| a.path.cmp(&b.path));
        let receipt = Self { origin, files };
        fs::write(dir.join(RECEIPT_FILE), serde_json::to_vec(&receipt)?)?;
        Ok(receipt)
    }
}

/// The stored result of a comparison of contents.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ComparisonRecord {
    origin: AssetOrigin,
    /// Time of the comparison, seconds since the epoch.
    at: i64,
    /// Metadata of the files, in the receipt's order.
    stamps: Vec<FileStamp>,
    damaged: Vec<String>,
}

/// Metadata that changes when a file is written: size, inode, mtime and ctime in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp(u64, u64, i128, i128);

impl FileStamp {
    fn read(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let (modified, changed) =
            (nanos(metadata.mtime(), metadata.mtime_nsec()), nanos(metadata.ctime(), metadata.ctime_nsec()));
        Some(Self(metadata.len(), metadata.ino(), modified, changed))
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

/// Compares the files' sizes with the receipt, and with `compare_contents` also their hashes.
pub(super) fn check_receipt(dir: &Path, origin: &AssetOrigin, compare_contents: bool) -> ReceiptCheck {
    if !dir.exists() {
        return ReceiptCheck::Absent;
    }
    let receipt =
        fs::read(dir.join(RECEIPT_FILE)).ok().and_then(|json| serde_json::from_slice::<Receipt>(&json).ok());
    let Some(receipt) = receipt.filter(|receipt| receipt.origin == *origin) else {
        return ReceiptCheck::Outdated;
    };
    let is_intact = |file: &&FileRecord| {
        let path = dir.join(&file.path);
        let has_size = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == file.bytes);
        has_size && (!compare_contents || content_hash(&path).is_ok_and(|hash| hash == file.blake3))
    };
    let damaged: Vec<String> =
        receipt.files.iter().filter(|file| !is_intact(file)).map(|f| f.path.clone()).collect();
    if damaged.is_empty() { ReceiptCheck::Intact(receipt) } else { ReceiptCheck::Damaged(damaged) }
}

/// Compares contents, unless `record_file` has the result for the same files from the last 24 hours. `now` is in
/// seconds since the epoch. If `record_file` cannot be written, the next call compares again.
pub(super) fn check_before_use(
    dir: &Path,
    origin: &AssetOrigin,
    record_file: &Path,
    now: i64,
) -> ReceiptCheck {
    let ReceiptCheck::Intact(receipt) = check_receipt(dir, origin, false) else {
        return check_receipt(dir, origin, false);
    };
    // Read before the contents, so that a file that changes meanwhile has other stamps at the next comparison.
    let stamps =
        receipt.files.iter().map(|file| FileStamp::read(&dir.join(&file.path))).collect::<Option<Vec<_>>>();
    let Some(stamps) = stamps else { return check_receipt(dir, origin, true) };
    let previous =
        fs::read(record_file).ok().and_then(|json| serde_json::from_slice::<ComparisonRecord>(&json).ok());
    let is_valid = |previous: &ComparisonRecord| {
        previous.origin == *origin
            && previous.stamps == stamps
            && (0..COMPARISON_VALID_S).contains(&(now - previous.at))
    };
    if let Some(previous) = previous.filter(is_valid) {
        return if previous.damaged.is_empty() {
            ReceiptCheck::Intact(receipt)
        } else {
            ReceiptCheck::Damaged(previous.damaged)
        };
    }
    let result = check_receipt(dir, origin, true);
    let damaged = match &result {
        ReceiptCheck::Intact(_) => Vec::new(),
        ReceiptCheck::Damaged(files) => files.clone(),
        ReceiptCheck::Absent | ReceiptCheck::Outdated => return result,
    };
    let record = ComparisonRecord { origin: origin.clone(), at: now, stamps, damaged };
    if let Err(error) = write_record(record_file, &record) {
        tracing::debug!(%error, "the result of comparing installed files could not be stored");
    }
    result
}

/// Writes the file atomically, so that a concurrent reader never sees a partial one.
fn write_record(record_file: &Path, record: &ComparisonRecord) -> io::Result<()> {
    if let Some(folder) = record_file.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = record_file.with_extension(format!("{}.part", std::process::id()));
    fs::write(&new, serde_json::to_vec(record)?)?;
    fs::rename(&new, record_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_compared_again_only_after_a_change_or_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let (record_file, file) = (dir.path().join("compared/a.json"), dir.path().join("asset/model"));
        fs::create_dir(dir.path().join("asset")).unwrap();
        fs::write(&file, b"12345").unwrap();
        let (asset, origin) = (dir.path().join("asset"), origin("s"));
        let receipt = Receipt::write(&asset, origin.clone()).unwrap();
        let intact = ReceiptCheck::Intact(receipt);
        let check = |now| check_before_use(&asset, &origin, &record_file, now);
        assert_eq!(check(1000), intact);
        let first = fs::read(&record_file).unwrap();
        assert_eq!(check(2000), intact);
        assert_eq!(fs::read(&record_file).unwrap(), first, "not compared again");
        assert_eq!(check(1000 + COMPARISON_VALID_S), intact);
        assert_ne!(fs::read(&record_file).unwrap(), first, "compared again after a day");

        fs::write(&file, b"12845").unwrap();
        let damaged = ReceiptCheck::Damaged(vec!["model".to_owned()]);
        assert_eq!((check(1000), check(1000)), (damaged.clone(), damaged.clone()));
        let new = asset.join("model.new");
        fs::write(&new, b"12345").unwrap();
        fs::rename(&new, &file).unwrap();
        assert_eq!(check(1000), intact, "repaired");

        fs::remove_dir_all(record_file.parent().unwrap()).unwrap();
        fs::write(record_file.parent().unwrap(), b"in the way").unwrap();
        fs::write(&file, b"12845").unwrap();
        assert_eq!(check(1000), damaged, "although the result cannot be stored");
    }

    fn origin(sha256: &str) -> AssetOrigin {
        let [asset, version, recipe] = ["a", "1", "r"].map(String::from);
        AssetOrigin { asset, version, sha256: sha256.to_owned(), recipe }
    }

    #[test]
    fn notices_missing_truncated_and_altered_files_and_another_origin() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("lib")).unwrap();
        let file = dir.path().join("lib/x.so");
        fs::write(&file, b"12345").unwrap();
        assert_eq!(check_receipt(dir.path(), &origin("s"), false), ReceiptCheck::Outdated);
        let receipt = Receipt::write(dir.path(), origin("s")).unwrap();
        assert_eq!(receipt.bytes(), 5);
        assert_eq!(check_receipt(dir.path(), &origin("s"), true), ReceiptCheck::Intact(receipt.clone()));
        assert_eq!(check_receipt(dir.path(), &origin("other"), false), ReceiptCheck::Outdated);

        fs::write(&file, b"54321").unwrap();
        assert_eq!(check_receipt(dir.path(), &origin("s"), false), ReceiptCheck::Intact(receipt));
        let damaged = ReceiptCheck::Damaged(vec!["lib/x.so".to_owned()]);
        assert_eq!(check_receipt(dir.path(), &origin("s"), true), damaged);
        fs::write(&file, b"123").unwrap();
        assert_eq!(check_receipt(dir.path(), &origin("s"), false), damaged);
        fs::remove_file(&file).unwrap();
        assert_eq!(check_receipt(dir.path(), &origin("s"), false), damaged);
        assert_eq!(check_receipt(&dir.path().join("absent"), &origin("s"), false), ReceiptCheck::Absent);
    }
}
