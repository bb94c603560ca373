//! The files of a commit, read from git's objects without a work tree.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::tree::EntryKind as TreeEntryKind;
use gix::objs::{CommitRef, TreeRefIter};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use platform::safe_open::{DirectoryEntry, EntryKind, FileMetadata, ReadError};

use super::objects::{OBJECT_BYTES_MAX, ObjectReader};

/// The files of one commit. Threads may share it.
///
/// Only for mirrors that this program alone writes: packs are mapped into memory, and truncating one would kill this process. The content
/// of objects is not trusted: sizes are bounded, and names are single path components that cannot lead out of the mirror.
#[derive(Clone)]
pub struct CommitTree {
    objects: Arc<ObjectPool>,
    tree: ObjectId,
}

/// Readers of one object database, each used by one thread at a time, and folders that were read.
struct ObjectPool {
    idle: Mutex<Vec<ObjectReader>>,
    /// Further readers are cloned from it.
    first: Mutex<ObjectReader>,
    /// The entries of folders, by the id of their tree: the files of a folder are looked up one after another.
    folders: Cache<ObjectId, Arc<[TreeEntry]>, EntryCount>,
}

/// Weighs a folder by its entries.
#[derive(Clone)]
struct EntryCount;

impl Weighter<ObjectId, Arc<[TreeEntry]>> for EntryCount {
    fn weight(&self, _: &ObjectId, entries: &Arc<[TreeEntry]>) -> u64 {
        entries.len() as u64 + 1
    }
}

/// A folder of a commit.
#[derive(Clone)]
pub struct CommitFolder {
    objects: Arc<ObjectPool>,
    /// Sorted by name.
    entries: Arc<[TreeEntry]>,
}

struct TreeEntry {
    name: OsString,
    id: ObjectId,
    kind: TreeEntryKind,
}

/// The file in a mirror that names its origin. A mirror without it is fetched anew.
pub const MIRROR_FILE: &str = "pairofcleats";

/// Marks a mirror that could not be read, so that the next run fetches it anew.
pub fn distrust_mirror(git_dir: &Path) {
    if let Err(error) = std::fs::remove_file(git_dir.join(MIRROR_FILE)) {
        tracing::warn!(%error, "a damaged mirror could not be marked");
    }
}

/// Maximum number of entries of one folder. More than that many files are not indexed anyway.
pub(super) const ENTRIES_MAX: usize = 250_000;
/// Maximum length of the name of an entry in bytes, as on disk.
const NAME_BYTES_MAX: usize = 255;
/// Maximum number of entries of folders that are kept; about 80 bytes each.
const KEPT_ENTRIES_MAX: u64 = 500_000;
/// About how many folders are kept.
const KEPT_FOLDERS: usize = 1000;

impl std::fmt::Debug for CommitFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitFolder").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl CommitTree {
    /// Opens the files of a commit, given in hex, in the bare repository at `git_dir`.
    ///
    /// # Errors
    /// If the repository has no such commit, or cannot be read; `InvalidData` if the commit is too large or malformed.
    pub fn open(git_dir: &Path, commit: &str) -> std::io::Result<Self> {
        let reader = ObjectReader::open(git_dir.join("objects"))?;
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(std::io::Error::other)?;
        let size = reader.size(id).map_err(std::io::Error::other)?;
        if size > OBJECT_BYTES_MAX as u64 {
            return Err(malformed("the commit is too large"));
        }
        let data = reader.object(id, gix::objs::Kind::Commit).map_err(std::io::Error::other)?;
        let commit = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1);
        let tree = commit.map_err(|error| malformed(&error.to_string()))?.tree();
        // In one piece: divided among several, a large folder would fit into none of them.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(KEPT_FOLDERS)
            .weight_capacity(KEPT_ENTRIES_MAX)
            .build()
            .map_err(std::io::Error::other)?;
        let folders = Cache::with_options(
            options,
            EntryCount,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        );
        let objects = ObjectPool { first: Mutex::new(reader), idle: Mutex::default(), folders };
        Ok(Self { objects: Arc::new(objects), tree })
    }

    /// Opens the folder that contains everything.
    ///
    /// # Errors
    /// If it cannot be read; `InvalidData` if it is too large or malformed.
    pub fn root(&self) -> std::io::Result<CommitFolder> {
        CommitFolder::open(Arc::clone(&self.objects), self.tree)
    }
}

impl ObjectPool {
    fn with<T>(&self, read: impl FnOnce(&ObjectReader) -> T) -> T {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let first = || self.first.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reader = idle.unwrap_or_else(first);
        let result = read(&reader);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        result
    }
}

impl CommitFolder {
    fn open(objects: Arc<ObjectPool>, tree: ObjectId) -> std::io::Result<Self> {
        if let Some(entries) = objects.folders.get(&tree) {
            return Ok(Self { objects, entries });
        }
        let size = objects.with(|reader| reader.tree_size(tree)).map_err(std::io::Error::other)?;
        if size > OBJECT_BYTES_MAX as u64 {
            return Err(malformed("the folder is too large"));
        }
        let data = objects.with(|reader| reader.tree(tree)).map_err(std::io::Error::other)?;
        let mut entries = Vec::new();
        for entry in TreeRefIter::from_bytes(&data, gix::hash::Kind::Sha1) {
            let entry = entry.map_err(|error| malformed(&error.to_string()))?;
            if entries.len() >= ENTRIES_MAX {
                return Err(malformed("the folder has too many entries"));
            }
            let name = OsString::from_vec(entry.filename.to_vec());
            // Names that a work tree cannot have are skipped.
            if is_entry_name(&name) {
                entries.push(TreeEntry { name, id: entry.oid.to_owned(), kind: entry.mode.kind() });
            }
        }
        // Git's order differs for folders, and a hostile tree may have any order and the same name twice.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries.dedup_by(|a, b| a.name == b.name);
        let entries: Arc<[TreeEntry]> = entries.into();
        objects.folders.insert(tree, Arc::clone(&entries));
        Ok(Self { objects, entries })
    }

    fn entry(&self, name: &OsStr) -> Option<&TreeEntry> {
        let place = self.entries.binary_search_by(|entry| entry.name.as_os_str().cmp(name)).ok()?;
        self.entries.get(place)
    }

    /// Returns the entries, up to `entries_max`, and `true` if these are all.
    #[must_use]
    pub fn entries(&self, entries_max: usize) -> (Vec<DirectoryEntry>, bool) {
        let kept = self.entries.iter().take(entries_max);
        let entries = kept.map(|entry| DirectoryEntry { name: entry.name.clone(), kind: kind(entry.kind) });
        (entries.collect(), self.entries.len() <= entries_max)
    }

    /// Returns the type of the entry `name`, or `None` if there is no such entry.
    #[must_use]
    pub fn entry_kind(&self, name: &str) -> Option<EntryKind> {
        self.entry(OsStr::new(name)).map(|entry| kind(entry.kind))
    }

    /// Opens the subdirectory `name`.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, or that of reading it.
    pub fn open_folder(&self, name: &OsStr) -> std::io::Result<Self> {
        let entry = self.entry(name).ok_or(std::io::ErrorKind::NotFound)?;
        match entry.kind {
            TreeEntryKind::Tree => Self::open(Arc::clone(&self.objects), entry.id),
            _ => Err(std::io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns the size of the file `name`, and in place of its time a number that differs for each content.
    ///
    /// # Errors
    /// `NotFound` if there is no such file; another error if its object cannot be read.
    pub fn metadata(&self, name: &OsStr) -> std::io::Result<FileMetadata> {
        let entry = self.entry(name).ok_or(std::io::ErrorKind::NotFound)?;
        self.objects.with(|reader| metadata(reader, entry.id))
    }

    /// Reads the file at `path`, separated by `/`, if it has at most `bytes_max` bytes, and returns its [`Self::metadata`] as well.
    pub fn read_with_metadata(
        &self,
        path: &str,
        bytes_max: u64,
    ) -> (Option<FileMetadata>, Result<Vec<u8>, ReadError>) {
        let (folder, name) = match path.rsplit_once('/') {
            None => (self.clone(), path),
            Some((folders, name)) => {
                let opened = folders.split('/').try_fold(self.clone(), |folder, name| {
                    match folder.entry(OsStr::new(name)).map(|entry| entry.kind) {
                        Some(TreeEntryKind::Link) => Err(ReadError::Link),
                        _ => folder.open_folder(OsStr::new(name)).map_err(|_| ReadError::NotFound),
                    }
                });
                match opened {
                    Ok(folder) => (folder, name),
                    Err(refused) => return (None, Err(refused)),
                }
            }
        };
        let Some(entry) = folder.entry(OsStr::new(name)) else { return (None, Err(ReadError::NotFound)) };
        match entry.kind {
            TreeEntryKind::Blob | TreeEntryKind::BlobExecutable => {}
            TreeEntryKind::Link => return (None, Err(ReadError::Link)),
            TreeEntryKind::Tree => return (None, Err(ReadError::IsFolder)),
            TreeEntryKind::Commit => return (None, Err(ReadError::NotRegular)),
        }
        folder.objects.with(|reader| {
            let Ok(metadata) = metadata(reader, entry.id) else { return (None, Err(ReadError::Unreadable)) };
            let read = if metadata.bytes > bytes_max.min(OBJECT_BYTES_MAX as u64) {
                Err(ReadError::TooLarge)
            } else {
                reader.object(entry.id, gix::objs::Kind::Blob).map_err(|_| ReadError::Unreadable)
            };
            (Some(metadata), read)
        })
    }
}

/// Returns the error for an object that is too large or malformed, and was so on the host. Any other error is damage of the mirror.
fn malformed(why: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why)
}

/// Returns the size of an object, and the beginning of its id in place of a time.
fn metadata(reader: &ObjectReader, id: ObjectId) -> std::io::Result<FileMetadata> {
    // A missing object is damage; the file itself is not gone.
    let bytes = reader.size(id).map_err(std::io::Error::other)?;
    let start: [u8; 8] = id.as_bytes()[..8].try_into().unwrap_or_default();
    Ok(FileMetadata { bytes, modified_ns: i64::from_be_bytes(start) })
}

fn kind(kind: TreeEntryKind) -> EntryKind {
    match kind {
        TreeEntryKind::Tree => EntryKind::Folder,
        TreeEntryKind::Blob | TreeEntryKind::BlobExecutable => EntryKind::File,
        TreeEntryKind::Link => EntryKind::Link,
        TreeEntryKind::Commit => EntryKind::Other,
    }
}

/// Checks whether a directory can have an entry of this name.
fn is_entry_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let is_repository = bytes.eq_ignore_ascii_case(b".git");
    let is_plain = !matches!(bytes, b"" | b"." | b"..") && bytes.find_byteset(b"/\0").is_none();
    is_plain && !is_repository && bytes.len() <= NAME_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::is_entry_name;
    use std::ffi::OsStr;

    #[test]
    fn names_that_no_directory_has_are_left_out() {
        assert!(is_entry_name(OsStr::new("a b.rs")) && is_entry_name(OsStr::new("...")));
        let long = "x".repeat(256);
        for name in ["", ".", "..", "a/b", "../x", "a\0", ".git", ".GIT", &long] {
            assert!(!is_entry_name(OsStr::new(name)), "{name:?}");
        }
    }
}
