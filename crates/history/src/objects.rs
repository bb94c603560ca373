//! Reads git objects within a size limit.

use std::fmt::Display;
use std::path::PathBuf;

use gix::ObjectId;
use gix::objs::{Find, FindHeader};
use gix::odb::pack::cache;

/// Size of the cache of decoded objects, for each handle. Neighbouring commits share most of their trees.
const OBJECT_CACHE_BYTES: usize = 32 << 20;
/// Largest object, also among the bases of a packed one: a few packed bytes can expand to gigabytes.
pub(super) const OBJECT_BYTES_MAX: usize = 64 << 20;

/// Reads objects; used by one thread at a time. Clones are cheap and have caches of their own.
#[derive(Clone)]
pub(super) struct ObjectReader {
    pub(super) handle: gix::odb::HandleArc,
}

impl ObjectReader {
    /// Opens the directory `objects` of a repository.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn open(directory: PathBuf) -> std::io::Result<Self> {
        let options = gix::odb::store::init::Options {
            alloc_limit_bytes: Some(OBJECT_BYTES_MAX),
            ..gix::odb::store::init::Options::default()
        };
        let mut handle = gix::odb::at_opts(directory, gix::hash::Kind::Sha1, None, options)?.into_arc()?;
        handle.set_pack_cache(|| Box::<cache::lru::StaticLinkedList<64>>::default());
        handle.set_object_cache(|| Box::new(cache::object::MemoryCappedHashmap::new(OBJECT_CACHE_BYTES)));
        Ok(Self { handle })
    }

    /// Returns the size of an object in bytes.
    pub(super) fn size(&self, id: ObjectId) -> gix::Result<u64> {
        let header = self.handle.try_header(&id)?.ok_or_else(|| object_error("is missing", id))?;
        Ok(header.size)
    }

    /// Returns the size of a tree in bytes.
    pub(super) fn tree_size(&self, id: ObjectId) -> gix::Result<u64> {
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) { Ok(0) } else { self.size(id) }
    }

    /// Returns the bytes of a tree.
    pub(super) fn tree(&self, id: ObjectId) -> gix::Result<Vec<u8>> {
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(Vec::new());
        }
        self.object(id, gix::objs::Kind::Tree)
    }

    /// Returns the bytes of an object of this kind.
    pub(super) fn object(&self, id: ObjectId, kind: gix::objs::Kind) -> gix::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.handle.try_find(&id, &mut bytes)?.map(|found| found.kind) {
            Some(found) if found == kind => Ok(bytes),
            Some(_) => Err(object_error("is of another kind", id)),
            None => Err(object_error("is missing", id)),
        }
    }
}

/// Returns the error for an object with this problem.
pub(super) fn object_error(problem: impl Display, id: ObjectId) -> gix::Error {
    gix::Error::from_error(std::io::Error::other(format!("object {id} {problem}")))
}
