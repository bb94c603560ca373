//! A documentation site: a tree of files. Only its Markdown pages are read.
//!
//! A site is untrusted: pages, their number and the items collected of each are limited ([`SiteLimits`]), and each omission is a
//! [`SiteProblem`].

mod anchors;
mod files;
mod front_matter;
mod html;
mod line_index;
mod markdown;
mod page;
mod resolve;
mod unread;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use anchors::AnchorStyle;
pub use files::{MemoryFiles, SiteFiles};
pub use front_matter::{FrontMatter, FrontMatterFormat};
pub use page::{CodeBlock, CodeSpan, Comment, Heading, LineKind, Link, LinkKind, PAGE_ITEMS_MAX, Page};
pub(crate) use resolve::{STATIC_FOLDERS, names_file, page_files};
pub use resolve::{Target, Unresolved};
pub use unread::counted_by_extension;

/// Limits of reading a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteLimits {
    /// Maximum number of files of the tree.
    pub files_max: usize,
    /// Maximum number of pages.
    pub pages_max: usize,
    /// Maximum length of a page in bytes.
    pub page_bytes_max: usize,
    /// Maximum size of all pages together, in bytes.
    pub bytes_max: usize,
    /// Maximum number of headings, links, code blocks, code spans and comments that are collected of one page, each counted by itself.
    pub items_per_page_max: usize,
}

impl Default for SiteLimits {
    fn default() -> Self {
        Self {
            files_max: 200_000,
            pages_max: 20_000,
            page_bytes_max: 1 << 20,
            bytes_max: 256 << 20,
            items_per_page_max: PAGE_ITEMS_MAX,
        }
    }
}

/// Maximum number of paths that are looked for beside the folder of a site.
const BESIDE_MAX: usize = 10_000;

/// Something of a site that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteProblem {
    /// The page is longer than `page_bytes_max`, or the pages before it are `bytes_max` long.
    PageTooLarge,
    /// The page is not UTF-8, or has NUL characters.
    PageNotText,
    /// The page cannot be read.
    PageUnreadable,
    /// The page has more headings, links, code or comments than are collected.
    PageTruncated,
    /// The tree has more files or pages than are read; this is the first that is omitted.
    TooManyFiles,
}

/// A documentation site.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// The pages, sorted by path.
    pages: Vec<Page>,
    /// Places of the pages, by path.
    page_of: BTreeMap<String, usize>,
    /// Paths of all files.
    files: BTreeSet<String>,
    /// Paths of all folders that contain files, without the root.
    folders: BTreeSet<String>,
    /// The files that were not read, sorted by path.
    problems: Vec<(String, SiteProblem)>,
    unread: Vec<String>,
    /// Paths from the root of the site that lie beside its folder or above.
    beside: BTreeSet<String>,
    /// The style of heading anchors.
    style: AnchorStyle,
    /// The folder of the site in the repository; empty for the repository itself.
    base: Option<String>,
}

impl Site {
    /// Reads a site. `base` is its folder in the repository that it documents, relative to the repository's root; `None` if it is
    /// elsewhere.
    #[must_use]
    pub fn read(files: &dyn SiteFiles, base: Option<&str>, limits: &SiteLimits) -> Self {
        let mut paths = files.paths();
        paths.sort();
        paths.dedup();
        let base = base.map(|base| base.trim_matches('/').to_owned());
        let mut site = Self { base, ..Self::default() };
        let mut bytes_left = limits.bytes_max;
        for path in paths {
            if site.files.len() >= limits.files_max || site.pages.len() >= limits.pages_max {
                site.problems.push((path, SiteProblem::TooManyFiles));
                break;
            }
            site.add_folders(&path);
            if is_page(&path) && files.is_page_of_site(&path) {
                site.read_page(files, &path, limits, &mut bytes_left);
            } else if unread::is_unread_document(&path) && files.is_page_of_site(&path) {
                site.unread.push(path.clone());
            }
            site.files.insert(path);
        }
        site.style = AnchorStyle::of_site(&site.files);
        site.page_of = site.pages.iter().map(|page| page.path.clone()).zip(0..).collect();
        site.problems.sort();
        site.beside = site.found_beside(files);
        site
    }

    /// Returns the paths beside the site that links name from the root of the site.
    fn found_beside(&self, files: &dyn SiteFiles) -> BTreeSet<String> {
        let mut sought = BTreeSet::new();
        for page in &self.pages {
            for link in page.links.iter().filter(|link| link.target.starts_with(['/', '@'])) {
                if let Ok(Target::FromRoot { path, .. }) = self.resolve(page, &link.target)
                    && sought.len() < BESIDE_MAX
                {
                    sought.insert(path);
                }
            }
        }
        sought.retain(|path| files.has_beside(path));
        sought
    }

    fn add_folders(&mut self, path: &str) {
        let mut rest = path;
        while let Some((folder, _)) = rest.rsplit_once('/') {
            if !self.folders.insert(folder.to_owned()) {
                break;
            }
            rest = folder;
        }
    }

    fn read_page(&mut self, files: &dyn SiteFiles, path: &str, limits: &SiteLimits, bytes_left: &mut usize) {
        let bytes_max = limits.page_bytes_max.min(*bytes_left);
        let problem = match files.read(path) {
            None => SiteProblem::PageUnreadable,
            Some(bytes) if bytes.len() > bytes_max => SiteProblem::PageTooLarge,
            Some(bytes) => match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => {
                    *bytes_left -= text.len();
                    let page = Page::parse(path, text, limits.items_per_page_max);
                    if page.is_truncated {
                        self.problems.push((path.to_owned(), SiteProblem::PageTruncated));
                    }
                    self.pages.push(page);
                    return;
                }
                _ => SiteProblem::PageNotText,
            },
        };
        self.problems.push((path.to_owned(), problem));
    }

    /// The pages, sorted by path.
    #[must_use]
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The page at a path.
    #[must_use]
    pub fn page(&self, path: &str) -> Option<&Page> {
        self.page_of.get(path).and_then(|at| self.pages.get(*at))
    }

    /// Paths of all files, pages among them.
    #[must_use]
    pub fn files(&self) -> &BTreeSet<String> {
        &self.files
    }

    /// Returns `true` if a path is that of a file or a folder; the empty path is the site itself.
    #[must_use]
    pub fn exists(&self, path: &str) -> bool {
        path.is_empty() || self.files.contains(path) || self.folders.contains(path)
    }

    /// Returns the files that were not read, with the reasons.
    #[must_use]
    pub fn problems(&self) -> &[(String, SiteProblem)] {
        &self.problems
    }

    /// Documents in formats that are not read, sorted by path.
    #[must_use]
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Returns the style of heading anchors.
    #[must_use]
    pub fn style(&self) -> AnchorStyle {
        self.style
    }

    /// The folder of the site in the repository; empty for the repository itself, `None` if it is elsewhere.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The path in the repository of a path of the site.
    #[must_use]
    pub fn in_repository(&self, path: &str) -> Option<String> {
        let base = self.base.as_deref()?;
        Some(if base.is_empty() { path.to_owned() } else { format!("{base}/{path}") })
    }
}

/// Returns `true` if a file is a page: Markdown by its extension.
#[must_use]
pub fn is_page(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown"))
    })
}
