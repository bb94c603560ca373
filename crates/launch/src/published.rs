//! Pages that earlier runs published, and people's changes of them since. A run changes a page only if it is as a run published it.

use std::collections::{BTreeMap, BTreeSet};

use platform::sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::{is_mark_of_a_run, marked_id};
use crate::config::Section;
use crate::site::{PAGE_ITEMS_MAX, Page, SiteFiles};

/// The state of the pages that earlier runs published, when a run starts. Only pages that exist count, and missing pages if others of the
/// same run exist: thus unmerged pull requests change nothing.
pub const PUBLISHED_PAGES: &str = "published_pages.json";

/// The artifact [`PUBLISHED_PAGES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedPages {
    /// [`page_sha256`] of the pages that are as a run published them, by path.
    #[serde(default)]
    pub unchanged: BTreeMap<String, String>,
    /// Pages that a run published, and that are not as it did.
    #[serde(default)]
    pub changed: BTreeSet<String>,
    /// Pages that are missing, although people took the others of the run that published them.
    #[serde(default)]
    pub declined: BTreeSet<String>,
}

/// The pages that a run published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedRun {
    /// Its id.
    pub run_id: String,
    /// [`page_sha256`] of each page that it changed, by path.
    pub pages: BTreeMap<String, String>,
}

/// A planned page that is not written, because what is there is people's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptPage {
    /// Its section.
    pub section: Section,
    /// Its path in the site.
    pub output_path: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Why it is not written.
    pub reason: KeptReason,
    /// The page that is there instead, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// Sentences with the mark of a claim that the run does not make.
    #[serde(default)]
    pub unsaid: usize,
}

/// Why a planned page is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptReason {
    /// A run wrote it, and it is not as a run published it.
    Edited,
    /// No run wrote the page at its path.
    Foreign,
    /// Another page has its address.
    AddressTaken,
    /// It was published, and people took it away.
    Removed,
    /// It was published, and people moved it.
    Moved,
}

impl KeptReason {
    /// Checks if the page is there, at its own path, with the text of a run.
    #[must_use]
    pub fn is_there(self) -> bool {
        self == Self::Edited
    }
}

impl PublishedPages {
    /// Returns the state of the pages of these runs on a site, and of those that earlier runs knew of.
    #[must_use]
    pub fn of(runs: &[PublishedRun], earlier: &[Self], site: &dyn SiteFiles) -> Self {
        let of_runs = runs.iter().flat_map(|run| run.pages.keys());
        let paths: BTreeSet<&String> = of_runs.chain(earlier.iter().flat_map(Self::paths)).collect();
        let existing: BTreeSet<String> = site.paths().into_iter().collect();
        let (there, missing): (Vec<&String>, Vec<&String>) =
            paths.into_iter().partition(|path| existing.contains(*path));
        let is_known = |path: &String, hash: &String| {
            let mut versions =
                runs.iter().map(|run| &run.pages).chain(earlier.iter().map(|known| &known.unchanged));
            versions.any(|pages| pages.get(path) == Some(hash))
        };
        let mut found = Self::default();
        for path in there {
            let hash = site
                .read(path)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .map(|text| page_sha256(&text));
            match hash.filter(|hash| is_known(path, hash)) {
                Some(hash) => drop(found.unchanged.insert(path.clone(), hash)),
                None => drop(found.changed.insert(path.clone())),
            }
        }
        let declined = missing.into_iter().filter(|path| {
            earlier.iter().any(|known| known.declined.contains(*path))
                || is_declined(path, runs, &found.unchanged)
        });
        found.declined = declined.cloned().collect();
        found
    }

    fn paths(&self) -> impl Iterator<Item = &String> {
        self.unchanged.keys().chain(&self.changed).chain(&self.declined)
    }

    /// Checks if nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Checks if a run published the page at this path.
    fn has(&self, path: &str) -> bool {
        self.unchanged.contains_key(path) || self.changed.contains(path)
    }

    /// Checks if a run published a page with this text at the path.
    fn is_version(&self, path: &str, text: &str) -> bool {
        self.unchanged.get(path).is_some_and(|hash| *hash == page_sha256(text))
    }
}

/// Checks if people accepted other pages of the runs that published this one, but not this one: others exist, and each run that published
/// them in their current form published this one, too.
fn is_declined(path: &str, runs: &[PublishedRun], there: &BTreeMap<String, String>) -> bool {
    let with_it = runs.iter().filter(|run| run.pages.contains_key(path));
    let mut others =
        with_it.flat_map(|run| &run.pages).filter(|(other, hash)| there.get(*other) == Some(hash));
    others.any(|(other, hash)| {
        let mut with_that = runs.iter().filter(|run| run.pages.get(other) == Some(hash));
        with_that.all(|run| run.pages.contains_key(path))
    })
}

/// Returns the hash of a page without differences that programs introduce and readers do not see: a byte order mark, the form of line ends,
/// blanks at the end of lines, and empty lines at the end. Two blanks at the end of a line are a line break, which people see.
#[must_use]
pub fn page_sha256(text: &str) -> String {
    sha256::digest_hex(plain(text).as_bytes())
}

fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        let shown = line.trim_end_matches([' ', '\t']);
        plain.push_str(shown);
        if !shown.is_empty() && line.ends_with("  ") {
            plain.push_str("  ");
        }
        plain.push('\n');
    }
    plain.truncate(plain.trim_end_matches('\n').len());
    plain
}

/// Returns a new text of a page, with the page's current line ends and byte order mark; `None` if the page has this text already.
#[must_use]
pub fn refreshed(now: &str, text: &str) -> Option<String> {
    if plain(now) == plain(text) {
        return None;
    }
    let ends = now.matches('\n').count();
    let windows = now.matches("\r\n").count();
    let text = if windows * 2 > ends { text.replace('\n', "\r\n") } else { text.to_owned() };
    Some(if now.starts_with('\u{feff}') { format!("\u{feff}{text}") } else { text })
}

/// Returns the ids of the claims whose marks a page has, and `true` if a run wrote it.
#[must_use]
pub fn marks_of(path: &str, text: &str) -> (Vec<String>, bool) {
    let page = Page::parse(path, text.to_owned(), PAGE_ITEMS_MAX);
    let ids = page.comments.iter().filter_map(|comment| marked_id(&comment.text)).map(str::to_owned);
    let is_of_a_run = page.comments.iter().any(|comment| is_mark_of_a_run(&comment.text));
    (ids.collect(), is_of_a_run)
}

/// Returns the reason why the page at a path must not be written, and the page that is there instead, if it is another one. `None` if it
/// may be written: it is new, or as a run published it.
#[must_use]
pub fn reason_to_keep(
    site: &dyn SiteFiles,
    existing: &[String],
    published: &PublishedPages,
    path: &str,
) -> Option<(KeptReason, Option<String>)> {
    let text_of = |path: &str| site.read(path).and_then(|bytes| String::from_utf8(bytes).ok());
    let is_of_a_run = |path: &str| text_of(path).is_some_and(|text| marks_of(path, &text).1);
    if existing.iter().any(|known| known == path) {
        let text = text_of(path);
        if !text.as_ref().is_some_and(|text| published.is_version(path, text)) {
            let is_ours = published.has(path) || is_of_a_run(path);
            return Some((if is_ours { KeptReason::Edited } else { KeptReason::Foreign }, None));
        }
    }
    if let Some(other) = existing.iter().find(|other| *other != path && has_same_address(other, path)) {
        let reason = if is_of_a_run(other) { KeptReason::Moved } else { KeptReason::AddressTaken };
        return Some((reason, Some(other.clone())));
    }
    if existing.iter().any(|known| known == path) {
        return None;
    }
    // The version that a run once published at this path, and that the base branch had.
    let before = site.last_version(path).and_then(|bytes| String::from_utf8(bytes).ok());
    match before.map(|text| (marks_of(path, &text), text)) {
        Some(((ids, true), text)) => {
            let moved = moved_to(site, existing, &ids, &page_sha256(&text));
            Some((if moved.is_some() { KeptReason::Moved } else { KeptReason::Removed }, moved))
        }
        _ if published.declined.contains(path) => Some((KeptReason::Removed, None)),
        _ => None,
    }
}

/// Returns the page to which another one was moved: it has the same text, or most of its claims.
fn moved_to(site: &dyn SiteFiles, existing: &[String], ids: &[String], hash: &str) -> Option<String> {
    let pages = existing.iter().filter(|path| crate::site::is_page(path));
    let mut best: Option<(usize, &String)> = None;
    for path in pages {
        let Some(text) = site.read(path).and_then(|bytes| String::from_utf8(bytes).ok()) else { continue };
        if page_sha256(&text) == hash {
            return Some(path.clone());
        }
        // Parsing Markdown costs more than searching for a mark.
        if !text.contains("claim_id:") {
            continue;
        }
        let (found, _) = marks_of(path, &text);
        let common = ids.iter().filter(|id| found.contains(id)).count();
        if common * 5 > ids.len() * 4 && best.is_none_or(|(most, _)| common > most) {
            best = Some((common, path));
        }
    }
    best.map(|(_, path)| path.clone())
}

/// Checks if two paths are served at one address: a page, or the index of a folder of its name.
fn has_same_address(one: &str, other: &str) -> bool {
    let address = |path: &str| {
        let (stem, extension) = path.rsplit_once('.')?;
        let is_page = ["md", "markdown", "mdx"].iter().any(|known| extension.eq_ignore_ascii_case(known));
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let address = if matches!(name, "index" | "_index") { folder } else { stem };
        is_page.then(|| address.to_lowercase())
    };
    address(one).is_some_and(|one| Some(one) == address(other))
}

#[cfg(test)]
mod tests;
