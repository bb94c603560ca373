//! Trees as git stores them, also those that git would never write.

use super::repository::HostedRepository;

/// One entry of a tree.
#[derive(Debug, Clone)]
pub(crate) struct TreeEntry {
    mode: &'static str,
    name: Vec<u8>,
    object: Object,
}

#[derive(Debug, Clone)]
enum Object {
    File(Vec<u8>),
    Folder(Vec<TreeEntry>),
    /// An object that need not exist, by its id.
    Id(String),
}

impl TreeEntry {
    fn new(mode: &'static str, name: impl Into<Vec<u8>>, object: Object) -> Self {
        Self { mode, name: name.into(), object }
    }

    pub(crate) fn file(name: impl Into<Vec<u8>>, content: impl Into<Vec<u8>>) -> Self {
        Self::new("100644", name, Object::File(content.into()))
    }

    pub(crate) fn symlink(name: impl Into<Vec<u8>>, target: impl Into<Vec<u8>>) -> Self {
        Self::new("120000", name, Object::File(target.into()))
    }

    pub(crate) fn folder(name: impl Into<Vec<u8>>, entries: Vec<TreeEntry>) -> Self {
        Self::new("40000", name, Object::Folder(entries))
    }

    /// A commit of another repository, as submodules have it.
    pub(crate) fn gitlink(name: impl Into<Vec<u8>>, commit: &str) -> Self {
        Self::new("160000", name, Object::Id(commit.to_owned()))
    }

    /// Any mode, and the id of any object. Git cannot pack a commit with an object that does not exist.
    pub(crate) fn raw(mode: &'static str, name: impl Into<Vec<u8>>, id: &str) -> Self {
        Self::new(mode, name, Object::Id(id.to_owned()))
    }
}

/// Writes a tree with its entries in this order. Returns its id.
pub(super) fn write(repository: &HostedRepository, entries: &[TreeEntry]) -> String {
    let mut bytes = Vec::new();
    for entry in entries {
        let id = match &entry.object {
            Object::File(content) => repository.write_object("blob", content),
            Object::Folder(entries) => write(repository, entries),
            Object::Id(id) => id.clone(),
        };
        bytes.extend_from_slice(entry.mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend((0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()));
    }
    repository.write_object("tree", &bytes)
}
