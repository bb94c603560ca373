//! Resolves the targets of links.

use percent_encoding::percent_decode_str;

use super::page::Page;
use super::{Site, is_page};

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Out of the site and its repository, or to a target that only the site's generator knows.
    External,
    /// To a file or folder of the site, or to an anchor in it.
    InSite {
        /// Path of the file or folder.
        path: String,
        /// The anchor, decoded.
        anchor: Option<String>,
    },
    /// To a path that the site does not have at its root. Only its generator knows what else is there; on a code host, it is the root of
    /// the repository.
    FromRoot {
        /// Path from the root.
        path: String,
        /// The anchor, decoded.
        anchor: Option<String>,
    },
    /// Out of the site, into the repository.
    InRepository {
        /// Path in the repository; whether it exists is not known here.
        path: String,
        /// The anchor, decoded.
        anchor: Option<String>,
    },
}

/// The reason why a link leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// The site has no such file.
    NoFile(String),
    /// The site has no such page or folder. The target is not named like a file, so the generator may know it.
    NoRoute(String),
    /// It would run code: `javascript:`.
    Code,
}

/// Names of the page that represents a folder.
const INDEX_PAGES: &[&str] = &["README.md", "index.md", "_index.md", "readme.md"];
/// Extensions of pages; generators serve them without.
const PAGE_EXTENSIONS: &[&str] = &["md", "markdown", "mdx", "rst", "ipynb", "adoc"];
/// Folders whose files generators copy unchanged to the root of the site.
pub(crate) const STATIC_FOLDERS: &[&str] = &["static", "public", "assets"];
/// Folders of Hugo's whose pages are at the root of the site.
const CONTENT_FOLDERS: &[&str] = &["content", "content/en"];
/// Maximum number of folders that may be the root of a page's site.
const ROOTS_MAX: usize = 4;
/// Extensions of files that are not code.
const FILE_EXTENSIONS: &[&str] = &[
    "avif", "bmp", "csv", "doc", "docx", "drawio", "eot", "gif", "gz", "ico", "ipynb", "jpeg", "jpg", "log",
    "mdx", "mov", "mp3", "mp4", "odt", "ogg", "otf", "pdf", "png", "ppt", "pptx", "rst", "svg", "tar", "tgz",
    "tiff", "ttf", "txt", "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "zip",
];
/// Beginnings of targets that only generators understand: aliases of folders in bundlers, and template expressions.
const OF_GENERATORS: &[&str] = &["@/", "~/", "~@", "{"];

impl Site {
    /// Resolves the target of a link on a page.
    ///
    /// # Errors
    /// If it leads nowhere.
    pub fn resolve(&self, page: &Page, target: &str) -> Result<Target, Unresolved> {
        let target = target.trim();
        if let Some((scheme, rest)) = scheme(target) {
            let is_code = ["javascript", "vbscript"].iter().any(|one| scheme.eq_ignore_ascii_case(one))
                || (scheme.eq_ignore_ascii_case("data") && !rest.to_ascii_lowercase().starts_with("image/"));
            return if is_code { Err(Unresolved::Code) } else { Ok(Target::External) };
        }
        let is_of_generator = OF_GENERATORS.iter().any(|beginning| target.starts_with(beginning));
        if is_of_generator || target.starts_with("//") || target.contains("{{") || target.contains("{%") {
            return Ok(Target::External);
        }
        let (path, anchor) = match target.split_once('#') {
            Some((path, anchor)) => (path, Some(decoded(anchor)).filter(|anchor| !anchor.is_empty())),
            None => (target, None),
        };
        let path = decoded(path.split_once('?').map_or(path, |(path, _)| path));
        if path.is_empty() {
            return Ok(Target::InSite { path: page.path.clone(), anchor });
        }
        // Docusaurus calls the root of the site `@site`.
        match path.strip_prefix('/').or_else(|| path.strip_prefix("@site/")) {
            Some(path) => Ok(self.resolve_from_root(page, path, anchor)),
            None => self.resolve_relative(page, &path, anchor),
        }
    }

    fn resolve_relative(
        &self,
        page: &Page,
        path: &str,
        anchor: Option<String>,
    ) -> Result<Target, Unresolved> {
        // Generators serve `a/b.md` at `a/b/`.
        let served_at = page.path.rsplit_once('.').map(|(stem, _)| stem);
        let folders = std::iter::once(page.folder()).chain(served_at);
        let joined: Vec<Option<String>> = folders.map(|folder| joined(folder, path)).collect();
        for found in joined.iter().flatten() {
            if let Some(path) = self.find(found) {
                return Ok(Target::InSite { path, anchor });
            }
        }
        match joined.into_iter().next().flatten() {
            Some(missing) => Err(missing_in_site(missing)),
            // It leaves the site.
            None => Ok(self
                .base()
                .and_then(|base| {
                    let folder = if base.is_empty() {
                        page.folder().to_owned()
                    } else {
                        format!("{base}/{}", page.folder())
                    };
                    Some(Target::InRepository { path: self::joined(&folder, path)?, anchor })
                })
                .unwrap_or(Target::External)),
        }
    }

    /// Resolves a target that begins at the root of the site. Each folder above the page may be that root, because the folder that is read
    /// may be a whole repository or a part of the site.
    fn resolve_from_root(&self, page: &Page, path: &str, anchor: Option<String>) -> Target {
        let Some(path) = joined("", path) else { return Target::External };
        if self.beside.contains(&path) {
            return Target::External;
        }
        let folder = page.folder();
        let ends = folder.match_indices('/').map(|(end, _)| end).chain([folder.len()]);
        let mut roots = std::iter::once("").chain(ends.filter_map(|end| folder.get(..end))).take(ROOTS_MAX);
        // Generators serve the folder `docs` at `/docs`.
        let served_at = self.base().and_then(|base| base.rsplit('/').next()).filter(|name| !name.is_empty());
        let in_folder = served_at.and_then(|name| path.strip_prefix(name)?.strip_prefix('/'));
        let found = roots
            .find_map(|root| self.find_at_root(root, &path))
            .or_else(|| CONTENT_FOLDERS.iter().find_map(|folder| self.find(&format!("{folder}/{path}"))))
            .or_else(|| self.find(in_folder?));
        match found {
            Some(path) => Target::InSite { path, anchor },
            None => Target::FromRoot { path, anchor },
        }
    }

    /// Returns the file or folder at a path if `root` is the root of the site.
    fn find_at_root(&self, root: &str, path: &str) -> Option<String> {
        self.find(&join([root, "", path])).or_else(|| {
            STATIC_FOLDERS.iter().map(|folder| join([root, folder, path])).find(|path| self.exists(path))
        })
    }

    /// Returns the file or folder at a path: itself, or the page that is served there.
    fn find(&self, path: &str) -> Option<String> {
        let path = path.trim_end_matches('/');
        if self.exists(path) {
            return Some(path.to_owned());
        }
        page_files(path).find(|path| self.files().contains(path))
    }

    /// Returns the page that a path of the site shows: itself, or that of a folder.
    #[must_use]
    pub fn page_shown_at(&self, path: &str) -> Option<&Page> {
        self.page(path).or_else(|| {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            INDEX_PAGES.iter().find_map(|name| self.page(&format!("{prefix}{name}")))
        })
    }
}

/// Returns the files whose page may be served at a path.
pub(crate) fn page_files(path: &str) -> impl Iterator<Item = String> {
    let stem = path.strip_suffix(".html").unwrap_or(path).to_owned();
    let index = stem.strip_suffix("index").filter(|folder| folder.is_empty() || folder.ends_with('/'));
    let folder = index.map(str::to_owned);
    let of_index =
        folder.into_iter().flat_map(|folder| INDEX_PAGES.iter().map(move |name| format!("{folder}{name}")));
    PAGE_EXTENSIONS.iter().map(move |extension| format!("{stem}.{extension}")).chain(of_index)
}

/// Returns the scheme of an address and the text after it. A single letter is a drive and not a scheme.
fn scheme(target: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = target.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'));
    is_scheme.then_some((scheme, rest))
}

/// Resolves a path below a folder, without `.` and `..`; `None` if it leads out of the folder.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Joins parts of a path, without empty ones.
fn join(parts: [&str; 3]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

fn missing_in_site(path: String) -> Unresolved {
    if names_file(&path) { Unresolved::NoFile(path) } else { Unresolved::NoRoute(path) }
}

/// Returns `true` if a path is that of a file by its extension, and not one at which a generator serves a page, such as `guide/v1.2` and
/// `guide.html`.
pub(crate) fn names_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let extension = extension.to_ascii_lowercase();
        !stem.is_empty()
            && extension != "html"
            && (FILE_EXTENSIONS.contains(&extension.as_str()) || languages::detect(name, b"").is_some())
    }) || is_page(path)
}

/// Decodes percent signs; returns the text unchanged if the result would not be UTF-8.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
