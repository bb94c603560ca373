//! Writes files as the only commit of a new bare repository, without the `git` program: for content other than a repository that is indexed
//! like one. [`super::CommitTree`] reads it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::tree::{Entry, EntryKind};
use gix::objs::{Kind, Tree, WriteTo};

use super::pack_writer::PackWriter;

/// The branch that has the commit.
const BRANCH: &str = "refs/heads/pairofcleats";

/// The rest of a commit after its tree. Always the same, so that the same files are the same commit.
const COMMIT_REST: &str =
    "author pairofcleats <pairofcleats> 0 +0000\ncommitter pairofcleats <pairofcleats> 0 +0000\n\nImported\n";

/// A commit whose files come one after another, in any order. Their contents are written at once and the folders at the end, so
/// that only paths are in memory.
///
/// A path has non-empty parts, separated by `/`. If two entries have the same path, or one is a file where the other needs a folder, the
/// later one counts.
pub struct CommitWriter {
    git_dir: PathBuf,
    objects: PackWriter,
    files: BTreeMap<Vec<u8>, WrittenFile>,
    folders: usize,
}

/// A check before each folder is written; an error ends the writing.
type Check<'a> = &'a dyn Fn() -> io::Result<()>;

/// A file or a link whose content is written.
#[derive(Debug, Clone, Copy)]
struct WrittenFile {
    kind: EntryKind,
    id: ObjectId,
}

/// A folder whose entries are collected.
#[derive(Default)]
struct OpenFolder {
    name: BString,
    entries: Vec<Entry>,
}

impl CommitWriter {
    /// Creates the bare repository `git_dir`, which must not exist.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(git_dir: &Path) -> io::Result<Self> {
        for folder in ["objects/pack", "objects/info", "refs/heads"] {
            fs::create_dir_all(git_dir.join(folder))?;
        }
        fs::write(git_dir.join("HEAD"), format!("ref: {BRANCH}\n"))?;
        fs::write(git_dir.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")?;
        let objects = PackWriter::create(&git_dir.join("objects/pack"))?;
        Ok(Self { git_dir: git_dir.to_owned(), objects, files: BTreeMap::new(), folders: 0 })
    }

    /// Returns the number of files and links.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Checks whether there is neither a file nor a link.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of folders that the entries need; those of entries that were replaced count as well.
    #[must_use]
    pub fn folders(&self) -> usize {
        self.folders
    }

    /// Adds a file with exactly these bytes. Returns `true` if it replaced other entries.
    ///
    /// # Errors
    /// Those of reading the content and of writing it.
    pub fn add_file(&mut self, path: &[u8], bytes: u64, content: &mut dyn Read) -> io::Result<bool> {
        let id = self.objects.write_stream(Kind::Blob, bytes, content)?;
        Ok(self.place(path, WrittenFile { kind: EntryKind::Blob, id }))
    }

    /// Adds a symbolic link. Returns `true` if it replaced other entries.
    ///
    /// # Errors
    /// Those of writing it.
    pub fn add_link(&mut self, path: &[u8], target: &[u8]) -> io::Result<bool> {
        let id = self.objects.write(Kind::Blob, target)?;
        Ok(self.place(path, WrittenFile { kind: EntryKind::Link, id }))
    }

    /// Adds another name of the file `of`. Returns false if there is no such file.
    pub fn add_copy(&mut self, path: &[u8], of: &[u8]) -> bool {
        let file = self.files.get(of).copied().filter(|file| file.kind == EntryKind::Blob);
        if let Some(file) = file {
            self.place(path, file);
        }
        file.is_some()
    }

    /// Writes folders and commit; returns the commit in hex. If one folder contains everything, it is dropped, and the paths are relative
    /// to it. `check` is called before each folder, because there may be many.
    ///
    /// # Errors
    /// Those of the file system, and of `check`.
    pub fn finish(mut self, check: &dyn Fn() -> io::Result<()>) -> io::Result<String> {
        let skipped = self.common_folder_len();
        let files = std::mem::take(&mut self.files);
        let tree = write_folders(&mut self.objects, &files, skipped, check)?;
        let commit = format!("tree {tree}\n{COMMIT_REST}");
        let commit = self.objects.write(Kind::Commit, commit.as_bytes())?;
        self.objects.finish()?;
        fs::write(self.git_dir.join(BRANCH), format!("{commit}\n"))?;
        Ok(commit.to_string())
    }

    /// Adds an entry, in place of those that cannot be beside it. Returns `true` if there were any.
    fn place(&mut self, path: &[u8], file: WrittenFile) -> bool {
        let before = self.files.len();
        for slash in path.find_iter("/") {
            self.files.remove(&path[..slash]);
        }
        let [below, after] = [b'/', b'/' + 1].map(|byte| [path, &[byte]].concat());
        let inside: Vec<Vec<u8>> = self.files.range(below..after).map(|(path, _)| path.clone()).collect();
        for path in inside {
            self.files.remove(&path);
        }
        self.folders += self.new_folders(path);
        let replaced = self.files.insert(path.to_vec(), file).is_some();
        replaced || self.files.len() <= before
    }

    /// Counts the folders around `path` that no entry has yet. Of all paths, one of its neighbours in their order shares most of them.
    fn new_folders(&self, path: &[u8]) -> usize {
        let before = self.files.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(path))).next_back();
        let after = self.files.range::<[u8], _>((Bound::Included(path), Bound::Unbounded)).next();
        let shared_with = |other: &[u8]| {
            let same = path.iter().zip(other).take_while(|(one, other)| one == other).count();
            path[..same].find_iter("/").count()
        };
        let neighbours = before.into_iter().chain(after);
        let shared = neighbours.map(|(other, _)| shared_with(other)).max().unwrap_or(0);
        path.find_iter("/").count().saturating_sub(shared)
    }

    /// Returns the length of the folder that contains everything, with its slash; 0 if there is no such folder.
    fn common_folder_len(&self) -> usize {
        let first_and_last = self.files.first_key_value().zip(self.files.last_key_value());
        let Some(((first, _), (last, _))) = first_and_last else { return 0 };
        // The paths are sorted: a common prefix of the first and the last one is common to all.
        let folder = first.find_byte(b'/').map_or(&[][..], |slash| &first[..=slash]);
        if last.starts_with(folder) { folder.len() } else { 0 }
    }
}

/// Writes all folders; returns the id of the top one. Not recursive, because paths of archives may be as deep as they are long.
fn write_folders(
    objects: &mut PackWriter,
    files: &BTreeMap<Vec<u8>, WrittenFile>,
    skipped: usize,
    check: Check<'_>,
) -> io::Result<ObjectId> {
    let mut open = vec![OpenFolder::default()];
    for (path, file) in files {
        let path = &path[skipped..];
        let (folders, name) = path.rsplit_once_str("/").unwrap_or((&[][..], path));
        let folders: Vec<&[u8]> = folders.split_str("/").filter(|name| !name.is_empty()).collect();
        let is_same = |(folder, name): &(&OpenFolder, &&[u8])| folder.name == **name;
        let common = open.iter().skip(1).zip(&folders).take_while(is_same).count();
        while open.len() > common + 1 {
            close_folder(objects, &mut open, check)?;
        }
        let entered = folders.iter().skip(common);
        open.extend(entered.map(|name| OpenFolder { name: (*name).into(), entries: Vec::new() }));
        if let Some(folder) = open.last_mut() {
            folder.entries.push(Entry { mode: file.kind.into(), filename: name.into(), oid: file.id });
        }
    }
    while open.len() > 1 {
        close_folder(objects, &mut open, check)?;
    }
    write_folder(objects, open.pop().unwrap_or_default(), check)
}

/// Writes the innermost open folder, and adds it to the one around it.
fn close_folder(objects: &mut PackWriter, open: &mut Vec<OpenFolder>, check: Check<'_>) -> io::Result<()> {
    let Some(mut folder) = open.pop() else { return Ok(()) };
    let filename = std::mem::take(&mut folder.name);
    let oid = write_folder(objects, folder, check)?;
    if let Some(parent) = open.last_mut() {
        parent.entries.push(Entry { mode: EntryKind::Tree.into(), filename, oid });
    }
    Ok(())
}

fn write_folder(objects: &mut PackWriter, folder: OpenFolder, check: Check<'_>) -> io::Result<ObjectId> {
    check()?;
    let mut entries = folder.entries;
    entries.sort();
    let mut tree = Vec::new();
    Tree { entries }.write_to(&mut tree)?;
    objects.write(Kind::Tree, &tree)
}

#[cfg(test)]
mod tests;
