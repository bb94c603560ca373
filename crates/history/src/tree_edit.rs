//! Git trees as lists of entries: read, changed and written again byte for byte, apart from the changes.

use std::collections::BTreeMap;
use std::io;

use gix::ObjectId;

use super::commit_tree::ENTRIES_MAX;
use super::objects::{OBJECT_BYTES_MAX, ObjectReader};
use super::site_repository::SiteError;

/// Mode of a folder.
const FOLDER: &[u8] = b"40000";
/// Mode of a new file.
const FILE: &[u8] = b"100644";
/// Deepest path, in folders.
pub(super) const DEPTH_MAX: usize = 64;
/// Length of an id in a tree.
const ID_BYTES: usize = 20;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A folder.
    Folder,
    /// A file, executable or not.
    File,
    /// A symbolic link.
    Link,
    /// Another repository.
    Submodule,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The mode as it is written.
    mode: Vec<u8>,
    /// The name.
    pub(super) name: Vec<u8>,
    /// The object.
    pub(super) id: ObjectId,
}

impl Entry {
    /// Returns its kind.
    pub(super) fn kind(&self) -> Kind {
        match self.mode.as_slice() {
            b"40000" | b"040000" => Kind::Folder,
            b"120000" => Kind::Link,
            b"160000" => Kind::Submodule,
            _ => Kind::File,
        }
    }

    /// Returns the mode with six digits, as programs show it.
    pub(super) fn shown_mode(&self) -> String {
        format!("{:0>6}", String::from_utf8_lossy(&self.mode))
    }

    /// Returns the key by which git sorts the name: that of a folder ends with a slash.
    fn order(&self) -> Vec<u8> {
        let mut name = self.name.clone();
        if self.kind() == Kind::Folder {
            name.push(b'/');
        }
        name
    }
}

/// Reads a tree.
pub(super) fn read_tree(reader: &ObjectReader, id: ObjectId) -> io::Result<Vec<Entry>> {
    let malformed = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("tree {id}: {why}"));
    if reader.tree_size(id).map_err(io::Error::other)? > OBJECT_BYTES_MAX as u64 {
        return Err(malformed("it is too large"));
    }
    let data = reader.tree(id).map_err(io::Error::other)?;
    let (mut rest, mut entries) = (data.as_slice(), Vec::new());
    while !rest.is_empty() {
        if entries.len() >= ENTRIES_MAX {
            return Err(malformed("it has too many entries"));
        }
        let (entry, after) = parse_entry(rest).ok_or_else(|| malformed("an entry is malformed"))?;
        entries.push(entry);
        rest = after;
    }
    Ok(entries)
}

/// Parses the first entry of a tree's bytes, and returns the bytes after it.
fn parse_entry(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let (mode, rest) = (bytes.get(..space)?, bytes.get(space + 1..)?);
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = (rest.get(..end)?, rest.get(end + 1..)?);
    let id = gix::oid::try_from_bytes(rest.get(..ID_BYTES)?).ok()?.to_owned();
    let is_mode = (5..=6).contains(&mode.len()) && mode.iter().all(|digit| (b'0'..=b'7').contains(digit));
    let entry = Entry { mode: mode.to_vec(), name: name.to_vec(), id };
    (is_mode && !name.is_empty()).then_some((entry, rest.get(ID_BYTES..)?))
}

/// Encodes a tree with these entries.
fn tree_bytes(entries: &mut [Entry]) -> Vec<u8> {
    entries.sort_by_key(Entry::order);
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.extend_from_slice(&entry.mode);
        bytes.push(b' ');
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend_from_slice(entry.id.as_bytes());
    }
    bytes
}

/// Files to add or replace below a folder, by name: either a file with its object, or a folder with the changes in it.
#[derive(Debug, Default)]
pub(super) struct FolderChange {
    files: BTreeMap<String, ObjectId>,
    folders: BTreeMap<String, FolderChange>,
}

impl FolderChange {
    /// Adds a file at a path. Returns false if a file of the change is a folder on its way, or the path is too deep.
    pub(super) fn insert(&mut self, path: &str, id: ObjectId) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let Some((name, folders)) = parts.split_last() else { return false };
        if folders.len() > DEPTH_MAX {
            return false;
        }
        let mut folder = self;
        for part in folders {
            if folder.files.contains_key(*part) {
                return false;
            }
            folder = folder.folders.entry((*part).to_owned()).or_default();
        }
        folder.files.insert((*name).to_owned(), id);
        !folder.folders.contains_key(*name)
    }
}

/// Writes the tree that results from a change of `base`; `None` is an empty folder. `path` is that of the folder, for errors.
pub(super) fn write_changed(
    reader: &ObjectReader,
    write: &dyn Fn(&[u8]) -> Result<ObjectId, SiteError>,
    base: Option<ObjectId>,
    change: &FolderChange,
    path: &str,
) -> Result<ObjectId, SiteError> {
    let mut entries = base.map_or(Ok(Vec::new()), |id| read_tree(reader, id))?;
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    for (name, id) in &change.files {
        match entries.iter_mut().find(|entry| entry.name == name.as_bytes()) {
            Some(entry) if entry.kind() == Kind::File => entry.id = *id,
            Some(_) => return Err(SiteError::Blocked(join(name))),
            None => entries.push(Entry { mode: FILE.to_vec(), name: name.as_bytes().to_vec(), id: *id }),
        }
    }
    for (name, inner) in &change.folders {
        let found = entries.iter_mut().find(|entry| entry.name == name.as_bytes());
        let known = match &found {
            Some(entry) if entry.kind() != Kind::Folder => return Err(SiteError::Blocked(join(name))),
            found => found.as_ref().map(|entry| entry.id),
        };
        let id = write_changed(reader, write, known, inner, &join(name))?;
        match found {
            Some(entry) => entry.id = id,
            None => entries.push(Entry { mode: FOLDER.to_vec(), name: name.as_bytes().to_vec(), id }),
        }
    }
    write(&tree_bytes(&mut entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mode: &str, name: &str) -> Entry {
        let id = ObjectId::from_hex(b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391").unwrap();
        Entry { mode: mode.as_bytes().to_vec(), name: name.as_bytes().to_vec(), id }
    }

    #[test]
    fn folders_sort_as_if_their_names_ended_with_a_slash() {
        let mut entries = [entry("40000", "a"), entry("100644", "a.md"), entry("100644", "a0")];
        let bytes = tree_bytes(&mut entries);
        let names: Vec<&[u8]> = entries.iter().map(|entry| entry.name.as_slice()).collect();
        assert_eq!(names, [&b"a.md"[..], b"a", b"a0"]);
        let (first, rest) = parse_entry(&bytes).unwrap();
        assert_eq!((&first, rest.is_empty()), (&entries[0], false));
    }

    #[test]
    fn malformed_trees_are_refused() {
        let good = tree_bytes(&mut [entry("100644", "a")]);
        assert!(parse_entry(&good).is_some());
        assert!(parse_entry(&good[..good.len() - 1]).is_none(), "a short id");
        for bad in
            ["", "100644", "100644 a", "x00644 a\0aaaaaaaaaaaaaaaaaaaa", "100644 \0aaaaaaaaaaaaaaaaaaaa"]
        {
            assert!(parse_entry(bad.as_bytes()).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_file_is_no_folder_of_the_same_change() {
        let id = entry("100644", "a").id;
        let mut change = FolderChange::default();
        assert!(change.insert("a/b.md", id));
        assert!(!change.insert("a", id), "it is a folder already");
        let mut change = FolderChange::default();
        assert!(change.insert("a", id));
        assert!(!change.insert("a/b.md", id), "it is a file already");
        assert!(!change.insert(&"x/".repeat(100), id), "too deep");
    }
}
