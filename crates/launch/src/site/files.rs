//! The source of the files of a site.

use std::collections::BTreeMap;

/// The files of a site. An implementation limits what it lists and reads.
pub trait SiteFiles {
    /// Paths of all files, relative to the site, `/` between parts; in any order.
    fn paths(&self) -> Vec<String>;

    /// The content of a file; `None` if it cannot be read.
    fn read(&self, path: &str) -> Option<Vec<u8>>;

    /// Returns `true` if a Markdown file is a page of the site, and not a template or a file of a tool.
    fn is_page_of_site(&self, _path: &str) -> bool {
        true
    }

    /// Returns `true` if a path that pages name from the root of the site exists beside or above the folder of the site, where generators
    /// look for images, for example.
    fn has_beside(&self, _path: &str) -> bool {
        false
    }

    /// Returns the last content of a file that the site no longer has.
    fn last_version(&self, _path: &str) -> Option<Vec<u8>> {
        None
    }

    /// Returns the day of their commit, such as 2026-01-31; `None` if they have none.
    fn date(&self) -> Option<String> {
        None
    }
}

/// Files in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFiles(BTreeMap<String, Vec<u8>>);

impl MemoryFiles {
    /// Adds a file, or replaces it.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), content.into());
    }
}

impl<P: Into<String>, C: Into<Vec<u8>>> FromIterator<(P, C)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        Self(files.into_iter().map(|(path, content)| (path.into(), content.into())).collect())
    }
}

impl SiteFiles for MemoryFiles {
    fn paths(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }
}
