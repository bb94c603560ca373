//! Finds the content that a file had before it was removed from a branch.

use std::collections::HashMap;
use std::io;

use gix::ObjectId;
use gix::objs::{CommitRef, Kind as ObjectKind};

use super::{FILE_BYTES_MAX, SiteError, SiteRepository, object_id};
use crate::tree_edit::{Kind, read_tree};

impl SiteRepository {
    /// Finds the last content of a file on the way from a commit back along first parents, which are the former states of the branch;
    /// `None` if the last `commits_max` commits do not have it, or if that is not known, such as in a shallow clone.
    ///
    /// # Errors
    /// [`SiteError::Damaged`] if there is no such commit.
    pub fn last_version(
        &self,
        commit: &str,
        path: &str,
        commits_max: usize,
    ) -> Result<Option<Vec<u8>>, SiteError> {
        let mut next = Some(object_id(commit)?);
        let mut known = HashMap::new();
        for at in 0..commits_max {
            let Some(id) = next else { break };
            let data = match self.reader.object(id, ObjectKind::Commit) {
                Ok(data) => data,
                Err(error) if at == 0 => return Err(SiteError::from(io::Error::other(error))),
                Err(_) => break,
            };
            let commit = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1).map_err(io::Error::other)?;
            if let Some(file) = self.file_at(commit.tree(), path, &mut known) {
                let size = self.reader.size(file).map_err(io::Error::other)?;
                let content = || self.reader.object(file, ObjectKind::Blob).ok();
                return Ok(if size > FILE_BYTES_MAX { None } else { content() });
            }
            next = commit.parents().next();
        }
        Ok(None)
    }

    /// Returns the file at a path of a tree. `known` caches what was found below trees before: most commits leave most folders unchanged.
    fn file_at<'p>(
        &self,
        tree: ObjectId,
        path: &'p str,
        known: &mut HashMap<(ObjectId, &'p str), Option<ObjectId>>,
    ) -> Option<ObjectId> {
        if let Some(found) = known.get(&(tree, path)) {
            return *found;
        }
        let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let entries = read_tree(&self.reader, tree).ok()?;
        let entry = entries.into_iter().find(|entry| entry.name == name.as_bytes());
        let found = entry.and_then(|entry| match (rest, entry.kind()) {
            (Some(rest), Kind::Folder) => self.file_at(entry.id, rest, known),
            (None, Kind::File) => Some(entry.id),
            _ => None,
        });
        known.insert((tree, path), found);
        found
    }
}
