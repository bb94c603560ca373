//! The files of a documentation site in a directory. Nothing below it is trusted: links are followed only as far as the repository,
//! and sizes, depth and numbers are limited.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use contract::{ErrorCode, Fault, escaped_line};
use launch::site::{SiteFiles, SiteLimits, is_page};
use platform::safe_open::{EntryKind, Folder};

use super::disk_paths::exists_below;

/// Deepest folder that is read.
const DEPTH_MAX: usize = 64;
/// Folders that are not part of any site: of version control, of installed packages, of builds.
const SKIPPED: &[&str] = &[
    ".cache", ".docusaurus", ".git", ".hg", ".next", ".nuxt", ".pairofcleats", ".svn", ".tox", ".venv",
    "__pycache__", "node_modules", "target", "venv",
];
/// Hugo's folder of page templates, which is next to the folder of pages.
const TEMPLATES: &str = "archetypes";
const PAGES: &str = "content";
/// Folders whose files generators put at the root of a site, and the one that has them.
const AT_ROOT: &[&str] = &["", "static", "public", "assets"];

/// The files below a directory.
pub(super) struct FolderFiles {
    root: PathBuf,
    folder: Folder,
    /// The folder that links must not leave: the repository, or the site itself.
    within: PathBuf,
    limits: SiteLimits,
}

impl FolderFiles {
    /// Opens a directory by its canonical path. Links in it may lead to files below `within`. Blocks.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if it cannot be opened.
    pub(super) fn open(root: &Path, within: &Path, limits: SiteLimits) -> Result<Self, Fault> {
        let folder = Folder::open(root).map_err(|error| {
            let shown = escaped_line(&root.to_string_lossy());
            Fault::new(ErrorCode::InvalidRequest, format!("The folder `{shown}` cannot be read: {error}."))
                .with_hint("Name the folder of a documentation site.")
        })?;
        Ok(Self { root: root.to_owned(), folder, within: within.to_owned(), limits })
    }

    /// Adds the entries of a folder to `paths`, and its subfolders to `open`.
    fn list(&self, path: &str, paths: &mut Vec<String>, open: &mut VecDeque<String>) {
        let folder = match path {
            "" => Folder::open(&self.root),
            path => Folder::open(&self.root.join(path)),
        };
        // One more than is read, so that the site says that there is more.
        let left = (self.limits.files_max + 1).saturating_sub(paths.len());
        let Ok((entries, _)) = folder.and_then(|folder| folder.entries(left)) else { return };
        for entry in entries {
            let Some(name) = entry.name.to_str() else { continue };
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            match entry.kind {
                EntryKind::Folder if SKIPPED.contains(&name) => {}
                EntryKind::Folder if below.split('/').count() > DEPTH_MAX => {}
                EntryKind::Folder => open.push_back(below),
                EntryKind::File => paths.push(below),
                EntryKind::Link if self.linked(&below).is_some() => paths.push(below),
                EntryKind::Link | EntryKind::Other => {}
            }
        }
    }

    /// Returns the target of a link, relative to `within`; `None` if it leads elsewhere or to a folder.
    fn linked(&self, path: &str) -> Option<String> {
        if path.split('/').any(|part| part == "..") {
            return None;
        }
        let target = self.root.join(path).canonicalize().ok()?;
        let below = target.strip_prefix(&self.within).ok()?.to_str()?.to_owned();
        target.is_file().then_some(below)
    }

    /// Returns `true` if a path is below a folder of templates for pages.
    fn is_template(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let Some(at) = parts.iter().position(|part| *part == TEMPLATES) else { return false };
        let beside = parts.iter().take(at).fold(self.root.clone(), |folder, part| folder.join(part));
        Folder::open(&beside).is_ok_and(|folder| folder.entry_kind(PAGES) == Some(EntryKind::Folder))
    }
}

impl SiteFiles for FolderFiles {
    fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let mut open = VecDeque::from([String::new()]);
        while let Some(path) = open.pop_front() {
            if paths.len() > self.limits.files_max {
                break;
            }
            self.list(&path, &mut paths, &mut open);
        }
        paths
    }

    /// Pages of hidden folders are those of tools and code hosts, which resolve their links in ways of their own.
    fn is_page_of_site(&self, path: &str) -> bool {
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        !folders.split('/').any(|folder| folder.starts_with('.')) && !self.is_template(path)
    }

    /// Looks in the folders above, as far as the repository reaches, or in the one around the site.
    fn has_beside(&self, path: &str) -> bool {
        let levels = self.root.strip_prefix(&self.within).map_or(0, |below| below.components().count());
        let has = |folder: &Folder, below: &&str| match *below {
            // Pages are looked for in the index, with their anchors.
            "" => !is_page(path) && exists_below(folder, path),
            below => exists_below(folder, &format!("{below}/{path}")),
        };
        self.root.ancestors().skip(1).take(levels.max(1)).any(|above| {
            Folder::open(above).is_ok_and(|folder| AT_ROOT.iter().any(|below| has(&folder, below)))
        })
    }

    /// A file that is longer than a page may be is cut one byte after that length.
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.folder.open_file(path).ok().or_else(|| {
            let linked = self.linked(path)?;
            Folder::open(&self.within).ok()?.open_file(&linked).ok()
        })?;
        let bytes_max = u64::try_from(self.limits.page_bytes_max).ok()?.saturating_add(1);
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use launch::site::{Site, SiteProblem};

    use super::*;

    #[test]
    fn links_are_followed_within_the_repository_only() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.md"), "# Secret").unwrap();
        let repository = tempfile::tempdir().unwrap();
        let root = repository.path().canonicalize().unwrap();
        let docs = root.join("docs");
        fs::create_dir_all(docs.join("guide/.git")).unwrap();
        fs::create_dir_all(docs.join("node_modules/x")).unwrap();
        fs::write(root.join("README.md"), "# Read me").unwrap();
        fs::write(docs.join("guide/a.md"), "# A").unwrap();
        fs::write(docs.join("guide/.git/b.md"), "# B").unwrap();
        fs::write(docs.join("node_modules/x/c.md"), "# C").unwrap();
        fs::write(docs.join("long.md"), "x".repeat(500)).unwrap();
        symlink("../README.md", docs.join("index.md")).unwrap();
        symlink(outside.path().join("secret.md"), docs.join("stolen.md")).unwrap();
        symlink(outside.path(), docs.join("elsewhere")).unwrap();
        symlink("loop", docs.join("loop")).unwrap();
        let limits = SiteLimits { page_bytes_max: 100, ..SiteLimits::default() };
        let files = FolderFiles::open(&docs, &root, limits).unwrap();
        let site = Site::read(&files, Some("docs"), &limits);
        let pages: Vec<_> = site.pages().iter().map(|page| (page.path.as_str(), page.title())).collect();
        assert_eq!(pages, [("guide/a.md", Some("A")), ("index.md", Some("Read me"))]);
        assert_eq!(site.problems(), [("long.md".to_owned(), SiteProblem::PageTooLarge)]);
        assert!(!site.exists("stolen.md") && !site.exists("elsewhere") && !site.exists("loop"));
        assert!(files.read("stolen.md").is_none() && files.read("../README.md").is_none());
        assert!(FolderFiles::open(&docs.join("none"), &root, limits).is_err());
    }

    #[test]
    fn templates_and_pages_of_tools_are_not_pages_of_the_site() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            "content/a.md", "archetypes/default.md", ".github/TEMPLATE.md", "docs/archetypes/b.md",
            "docs/c.md",
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "---\ntitle: {{ .Name }}\n---\n").unwrap();
        }
        let limits = SiteLimits::default();
        let files = FolderFiles::open(&root, &root, limits).unwrap();
        let site = Site::read(&files, None, &limits);
        let pages: Vec<_> = site.pages().iter().map(|page| page.path.as_str()).collect();
        assert_eq!(pages, ["content/a.md", "docs/archetypes/b.md", "docs/c.md"]);
        assert!(site.exists(".github/TEMPLATE.md"), "links may lead to it");
    }

    #[test]
    fn files_at_the_root_of_the_site_may_lie_beside_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("site/content/docs")).unwrap();
        fs::create_dir_all(root.join("site/static/img")).unwrap();
        fs::create_dir_all(root.join("public")).unwrap();
        fs::write(root.join("site/static/img/x.png"), "").unwrap();
        fs::write(root.join("public/y.png"), "").unwrap();
        fs::write(root.join("README.md"), "").unwrap();
        let text = "![x](/img/x.png) ![y](/y.png) ![x](@site/static/img/x.png) [gone](/img/gone.png) [r](/README.md)";
        fs::write(root.join("site/content/docs/a.md"), text).unwrap();
        let limits = SiteLimits::default();
        let unresolved = |within: &Path| {
            let files = FolderFiles::open(&root.join("site/content"), within, limits).unwrap();
            let site = Site::read(&files, None, &limits);
            let page = site.page("docs/a.md").unwrap();
            let links = page
                .links
                .iter()
                .filter(|link| site.resolve(page, &link.target) != Ok(launch::site::Target::External));
            links.map(|link| link.target.clone()).collect::<Vec<_>>()
        };
        assert_eq!(unresolved(&root), ["/img/gone.png", "/README.md"]);
        assert_eq!(unresolved(&root.join("site/content")), ["/y.png", "/img/gone.png", "/README.md"]);
    }

    #[test]
    fn no_more_is_listed_than_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for at in 0..20 {
            fs::write(root.join(format!("{at}.md")), "# P").unwrap();
        }
        let limits = SiteLimits { files_max: 5, ..SiteLimits::default() };
        let files = FolderFiles::open(&root, &root, limits).unwrap();
        assert_eq!(files.paths().len(), 6);
        let site = Site::read(&files, None, &limits);
        assert_eq!((site.pages().len(), site.problems().len()), (5, 1));
    }
}
