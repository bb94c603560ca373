//! The common parts of the hosts: owners whose repositories are listed in pages of JSON.

use std::fmt;

use serde::de::DeserializeOwned;

use contract::echo_within;
use platform::outbound::{Answer, Url};

use crate::links::{Next, next_link};
use crate::repository::{Entry, RemoteRepository};

/// Longest quote of an answer in a message.
const QUOTED_CHARS_MAX: usize = 200;
/// Headers for hosts without a media type of their own.
pub(crate) const ACCEPT_JSON: &[(&str, &str)] = &[("accept", "application/json")];

/// The API of one kind of host.
pub(crate) trait CodeHost: fmt::Debug + Send + Sync {
    /// Returns the URL of the public host; `None` if there is no public host.
    fn public_url(&self) -> Option<&'static str>;

    /// Returns the root of the API at a configured URL, which may be that of the host.
    fn root(&self, configured: Url) -> Url;

    /// Returns `true` if owners are nested, with a slash between them.
    fn has_subgroups(&self) -> bool {
        false
    }

    /// Returns `true` if repositories have topics.
    fn has_topics(&self) -> bool {
        true
    }

    /// Returns the headers of every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        ACCEPT_JSON
    }

    /// Returns the value of the header `authorization`.
    fn authorization(&self, token: &str) -> String {
        format!("Bearer {token}")
    }

    /// Returns the first page of each list in which the repositories of an owner may be. The first list that exists is read.
    fn first_pages(&self, root: &Url, owner: &str, with_archived: bool) -> Vec<Url>;

    /// Reads a page.
    ///
    /// # Errors
    /// The reason why it is not a page of repositories.
    fn read(&self, received: &Received<'_>) -> Result<Page, String>;
}

/// A page as the host sent it, with status 200.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'a> {
    /// Its address.
    pub(crate) url: &'a Url,
    /// The root of the API, whose server no link leaves.
    pub(crate) root: &'a Url,
    pub(crate) answer: &'a Answer,
    /// Entries of the earlier pages of this list.
    pub(crate) entries_before: usize,
}

impl Received<'_> {
    /// Parses the body.
    ///
    /// # Errors
    /// The reason why it is not the expected JSON, with a short quote.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_slice(&self.answer.body)
            .map_err(|error| echo_within(&error.to_string(), QUOTED_CHARS_MAX))
    }

    /// Returns the next page by the header `link`.
    pub(crate) fn next_by_header(&self) -> Next {
        let target = self.answer.header("link").and_then(next_link);
        target.map_or(Next::End, |target| Next::linked(target, self.url, self.root))
    }

    /// Returns the number of entries of the whole list that this header announces.
    pub(crate) fn total(&self, header: &str) -> Option<usize> {
        self.answer.header(header)?.trim().parse().ok()
    }

    /// Returns the page with these entries. `total` is the number of entries of the whole list, if the host announces it; `is_full` is
    /// `true` if further entries would be on another page.
    pub(crate) fn page<T: Into<Entry>>(
        &self,
        entries: Vec<T>,
        total: Option<usize>,
        next: Next,
        is_full: bool,
    ) -> Page {
        let allows_http = self.root.scheme() == "http";
        let count = entries.len();
        let are_missing = total.is_some_and(|total| self.entries_before + count < total);
        let repositories: Vec<RemoteRepository> =
            entries.into_iter().filter_map(|entry| Entry::checked(entry.into(), allows_http)).collect();
        Page {
            rejected: count - repositories.len(),
            repositories,
            total,
            may_gain_next: (is_full || are_missing) && next == Next::End,
            next,
        }
    }
}

/// A page of repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) repositories: Vec<RemoteRepository>,
    /// Number of entries that were omitted, because their name or address cannot be used.
    pub(crate) rejected: usize,
    /// Number of entries of the whole list, if the host announces it.
    pub(crate) total: Option<usize>,
    pub(crate) next: Next,
    /// `true` if a next page may appear while this one stays the same, so that "not modified" would hide it.
    pub(crate) may_gain_next: bool,
}

impl Page {
    /// Returns the number of entries as the host counts them.
    pub(crate) fn entries(&self) -> usize {
        self.repositories.len() + self.rejected
    }
}
