//! A bare repository in a folder of this machine, whose address is that of a file: it is fetched without the host.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::harness::{commit_all, git};

/// A bare repository with one commit. The folder that it is in takes the place of a host.
pub(crate) struct BareRepository {
    folder: TempDir,
    name: &'static str,
}

impl BareRepository {
    /// Creates `acme/shop` with these files, each with its path and content.
    pub(crate) fn new(files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) -> Self {
        Self::with_name("acme/shop", files)
    }

    /// As [`Self::new`], with another path below the folder.
    pub(crate) fn with_name(name: &'static str, files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, bare) = (folder.path().join("source"), folder.path().join(name));
        for (path, content) in files {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        commit_all(&source);
        let clone = ["clone", "--quiet", "--bare", source.to_str().unwrap(), bare.to_str().unwrap()];
        git(folder.path(), &clone);
        Self { folder, name }
    }

    /// Creates `acme/shop` with one small file.
    pub(crate) fn small() -> Self {
        Self::new(&[("till.py", "def count_drawer(coins):\n    return sum(coins)\n")])
    }

    /// The folder that takes the place of a host.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of the folder.
    pub(crate) fn host(&self) -> String {
        format!("file://{}", self.folder().display())
    }

    /// The address of the repository.
    pub(crate) fn address(&self) -> String {
        format!("{}/{}", self.host(), self.name)
    }
}
