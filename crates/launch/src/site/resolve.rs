//! Where links lead.

use percent_encoding::percent_decode_str;

use super::anchors::AnchorStyle;
use super::page::Page;
use super::{Site, is_page};

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Out of the site and its repository, or to what only the site's generator knows.
    External,
    /// To a file or folder of the site, or to an anchor in it.
    InSite {
        /// Path of the file or folder.
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

/// Why a link leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// The site has no such file.
    NoFile(String),
    /// The site has no such page or folder. The target has no extension, so the generator may know it.
    NoRoute(String),
    /// It would run code: `javascript:`.
    Code,
}

/// Names of the page that stands for a folder.
const INDEX_PAGES: &[&str] = &["README.md", "index.md", "_index.md", "readme.md"];
/// Folders of Hugo's whose contents are the root of the site.
const HUGO_ROOTS: &[&str] = &["content", "content/en", "static"];

impl Site {
    /// Where a link on a page leads.
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
        if target.starts_with("//") || target.contains("{{") || target.contains("{%") {
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
        match path.strip_prefix('/') {
            Some(path) => self.resolve_absolute(path, anchor),
            None => self.resolve_relative(page, &path, anchor),
        }
    }

    fn resolve_relative(
        &self,
        page: &Page,
        path: &str,
        anchor: Option<String>,
    ) -> Result<Target, Unresolved> {
        let mut folders = vec![page.folder().to_owned()];
        if self.style() != AnchorStyle::GitHub
            && let Some((stem, _)) = page.path.rsplit_once('.')
        {
            // Generators serve `a/b.md` at `a/b/`.
            folders.push(stem.to_owned());
        }
        let joined: Vec<Option<String>> = folders.iter().map(|folder| joined(folder, path)).collect();
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

    fn resolve_absolute(&self, path: &str, anchor: Option<String>) -> Result<Target, Unresolved> {
        let Some(path) = joined("", path) else { return Ok(Target::External) };
        let below_roots = HUGO_ROOTS.iter().map(|root| format!("{root}/{path}"));
        if let Some(path) = std::iter::once(path.clone()).chain(below_roots).find_map(|path| self.find(&path))
        {
            return Ok(Target::InSite { path, anchor });
        }
        match self.base() {
            // On a code host, the root is that of the repository.
            Some(base) if !base.is_empty() => Ok(Target::InRepository { path, anchor }),
            _ => Err(missing_in_site(path)),
        }
    }

    /// The file or folder that a path means: itself, or the page that is served there.
    fn find(&self, path: &str) -> Option<String> {
        let path = path.trim_end_matches('/');
        if self.exists(path) {
            return Some(path.to_owned());
        }
        let stem = path.strip_suffix(".html").unwrap_or(path);
        let pages = [format!("{stem}.md"), format!("{stem}.markdown")];
        let index =
            (stem.rsplit('/').next() == Some("index")).then(|| stem.trim_end_matches("index").to_owned());
        let of_index = index
            .into_iter()
            .flat_map(|folder| INDEX_PAGES.iter().map(move |name| format!("{folder}{name}")));
        pages.into_iter().chain(of_index).find(|path| self.files().contains(path))
    }

    /// The page that a path of the site shows: itself, or that of a folder.
    #[must_use]
    pub fn page_shown_at(&self, path: &str) -> Option<&Page> {
        self.page(path).or_else(|| {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            INDEX_PAGES.iter().find_map(|name| self.page(&format!("{prefix}{name}")))
        })
    }
}

/// The scheme of an address and what follows it. A single letter is a drive and no scheme.
fn scheme(target: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = target.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'));
    is_scheme.then_some((scheme, rest))
}

/// A path below a folder, without `.` and `..`; `None` if it leads out.
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

fn missing_in_site(path: String) -> Unresolved {
    let name = path.rsplit('/').next().unwrap_or(&path);
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && (1..=5).contains(&extension.len()) && extension != "html"
    });
    if has_extension || is_page(&path) { Unresolved::NoFile(path) } else { Unresolved::NoRoute(path) }
}

/// The text with its percent signs decoded; as it is if that would not be UTF-8.
#[must_use]
pub fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
