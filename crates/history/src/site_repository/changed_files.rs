//! A change of a site in the form that code hosts take: the changed files, and the topmost entries of the resulting tree.

use std::io;

use gix::objs::Kind as ObjectKind;

use super::{Entry, Kind, SiteError, SiteRepository, object_id, read_tree};

/// Mode of a file that may be executed.
const EXECUTABLE: &str = "100755";

/// A file that is new, or whose content differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// The id of its content.
    pub id: String,
    /// `true` if it is executable.
    pub is_executable: bool,
    /// `true` if there was no file at this path.
    pub is_new: bool,
    /// Its content.
    pub content: Vec<u8>,
}

/// An entry of the topmost folder of a tree. Equal entries mean equal trees, because each id covers everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootEntry {
    /// Its name.
    pub name: String,
    /// Its mode, with six digits.
    pub mode: String,
    /// The object.
    pub id: String,
}

impl SiteRepository {
    /// Returns the files at these paths of a tree, which differ from those of the tree `base`.
    ///
    /// # Errors
    /// [`SiteError::Blocked`] if one of them is removed, or is or was anything other than a file; [`SiteError::Damaged`] if an object is
    /// missing.
    pub fn changed_files(
        &self,
        base: &str,
        tree: &str,
        paths: &[String],
    ) -> Result<Vec<ChangedFile>, SiteError> {
        paths.iter().map(|path| self.changed_file((base, tree), path)).collect()
    }

    fn changed_file(&self, (base, tree): (&str, &str), path: &str) -> Result<ChangedFile, SiteError> {
        let blocked = || SiteError::Blocked(path.to_owned());
        let is_file = |entry: &Entry| entry.kind() == Kind::File;
        let before = self.entry_at(base, path)?;
        let after = self.entry_at(tree, path)?.filter(is_file).ok_or_else(blocked)?;
        if before.as_ref().is_some_and(|before| !is_file(before)) {
            return Err(blocked());
        }
        Ok(ChangedFile {
            path: path.to_owned(),
            id: after.id.to_hex().to_string(),
            is_executable: after.shown_mode() == EXECUTABLE,
            is_new: before.is_none(),
            content: self.reader.object(after.id, ObjectKind::Blob).map_err(io::Error::other)?,
        })
    }

    /// Returns the entry at a path of a tree.
    fn entry_at(&self, tree: &str, path: &str) -> Result<Option<Entry>, SiteError> {
        let mut folder = object_id(tree)?;
        let mut parts = path.split('/').peekable();
        while let Some(name) = parts.next() {
            let mut entries = read_tree(&self.reader, folder)?.into_iter();
            let Some(entry) = entries.find(|entry| entry.name == name.as_bytes()) else { return Ok(None) };
            if parts.peek().is_none() {
                return Ok(Some(entry));
            }
            if entry.kind() != Kind::Folder {
                return Ok(None);
            }
            folder = entry.id;
        }
        Ok(None)
    }

    /// Returns the topmost entries of a tree, by name.
    ///
    /// # Errors
    /// [`SiteError::Damaged`] if it is missing.
    pub fn root_entries(&self, tree: &str) -> Result<Vec<RootEntry>, SiteError> {
        let shown = |entry: Entry| RootEntry {
            name: String::from_utf8_lossy(&entry.name).into_owned(),
            mode: entry.shown_mode(),
            id: entry.id.to_hex().to_string(),
        };
        let mut entries: Vec<RootEntry> =
            read_tree(&self.reader, object_id(tree)?)?.into_iter().map(shown).collect();
        entries.sort();
        Ok(entries)
    }
}
