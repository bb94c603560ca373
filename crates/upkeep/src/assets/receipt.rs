//! A small file beside each installed asset: what it was made from and what must be there.
//!
//! Sizes are compared on every start (milliseconds). Contents are compared when that is asked for, and before a file is loaded that
//! was not compared before: what was found is kept beside what the system says of each file, and holds for a day.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Seconds for which a comparison is believed; a disk may change bytes without telling.
const COMPARED_FOR_S: i64 = 24 * 60 * 60;
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

/// A comparison of contents, as it is kept.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Compared {
    origin: Origin,
    /// When, in seconds since the epoch.
    at: i64,
    /// What the system said of the files, in the receipt's order.
    stamps: Vec<Stamp>,
    damaged: Vec<String>,
}

/// What changes with a file: size, inode, and when contents and inode were written, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp(u64, u64, i128, i128);

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let (modified, changed) =
            (nanos(found.mtime(), found.mtime_nsec()), nanos(found.ctime(), found.ctime_nsec()));
        Some(Self(found.len(), found.ino(), modified, changed))
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

/// Compares contents, unless the same files were compared within a day; `memory` keeps what was found. `now` is in seconds since
/// the epoch. A memory that cannot be written costs the next comparison, nothing else.
pub(super) fn check_before_use(dir: &Path, origin: &Origin, memory: &Path, now: i64) -> Check {
    let Check::Sound(receipt) = check(dir, origin, false) else { return check(dir, origin, false) };
    // Taken before the contents are read: what changes meanwhile has other stamps the next time.
    let stamps =
        receipt.files.iter().map(|file| Stamp::of(&dir.join(&file.path))).collect::<Option<Vec<_>>>();
    let Some(stamps) = stamps else { return check(dir, origin, true) };
    let known = fs::read(memory).ok().and_then(|json| serde_json::from_slice::<Compared>(&json).ok());
    let holds = |known: &Compared| {
        known.origin == *origin && known.stamps == stamps && (0..COMPARED_FOR_S).contains(&(now - known.at))
    };
    if let Some(known) = known.filter(holds) {
        return if known.damaged.is_empty() { Check::Sound(receipt) } else { Check::Damaged(known.damaged) };
    }
    let found = check(dir, origin, true);
    let damaged = match &found {
        Check::Sound(_) => Vec::new(),
        Check::Damaged(files) => files.clone(),
        Check::Absent | Check::Outdated => return found,
    };
    let compared = Compared { origin: origin.clone(), at: now, stamps, damaged };
    if let Err(error) = keep(memory, &compared) {
        tracing::debug!(%error, "a comparison of installed files is not kept");
    }
    found
}

/// Whoever reads it meanwhile sees all of it or nothing.
fn keep(memory: &Path, compared: &Compared) -> io::Result<()> {
    if let Some(folder) = memory.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = memory.with_extension(format!("{}.part", std::process::id()));
    fs::write(&aside, serde_json::to_vec(compared)?)?;
    fs::rename(&aside, memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_compared_once_and_again_when_anything_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (memory, file) = (dir.path().join("compared/a.json"), dir.path().join("asset/model"));
        fs::create_dir(dir.path().join("asset")).unwrap();
        fs::write(&file, b"12345").unwrap();
        let (asset, origin) = (dir.path().join("asset"), origin("s"));
        let receipt = Receipt::write(&asset, origin.clone()).unwrap();
        let sound = Check::Sound(receipt);
        let look = |now| check_before_use(&asset, &origin, &memory, now);
        assert_eq!(look(1000), sound);
        let kept = fs::read(&memory).unwrap();
        assert_eq!(look(2000), sound);
        assert_eq!(fs::read(&memory).unwrap(), kept, "not compared again");
        assert_eq!(look(1000 + COMPARED_FOR_S), sound);
        assert_ne!(fs::read(&memory).unwrap(), kept, "after a day it is");

        fs::write(&file, b"12845").unwrap();
        let damaged = Check::Damaged(vec!["model".to_owned()]);
        assert_eq!((look(1000), look(1000)), (damaged.clone(), damaged.clone()));
        let aside = asset.join("model.new");
        fs::write(&aside, b"12345").unwrap();
        fs::rename(&aside, &file).unwrap();
        assert_eq!(look(1000), sound, "mended");

        fs::remove_dir_all(memory.parent().unwrap()).unwrap();
        fs::write(memory.parent().unwrap(), b"in the way").unwrap();
        fs::write(&file, b"12845").unwrap();
        assert_eq!(look(1000), damaged, "also where nothing can be kept");
    }

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
