//! Lists a source: all owners, all pages, within limits.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use contract::clock::Clock;
use contract::{ErrorCode, Fault, echo};
use platform::outbound::{HttpClient, Url};

use crate::error::ListError;
use crate::host::Page;
use crate::links::Next;
use crate::page_cache::PageCache;
use crate::page_reader::PageReader;
use crate::repository::{Listing, RemoteRepository};
use crate::source::{Api, Origin, Source};

/// Maximum number of owners that a message names.
const NAMED_OWNERS_MAX: usize = 10;

/// Limits of one listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest page; those of GitHub have up to 1 MB.
    pub page_bytes_max: usize,
    /// Maximum number of requests.
    pub pages_max: usize,
    /// Maximum number of repositories that are read, before the filter.
    pub repositories_max: usize,
    /// Longest time of one request.
    pub request_ms_max: u64,
    /// Longest time of all requests.
    pub listing_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page_bytes_max: 8 << 20,
            pages_max: 1000,
            repositories_max: 50_000,
            request_ms_max: 30_000,
            listing_ms_max: 1_800_000,
        }
    }
}

/// Lists sources, one request at a time, as hosts ask for.
pub struct Lister {
    outbound: HttpClient,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

impl Lister {
    /// Creates a lister with these limits. The clock is compared with the time at which a host lifts a rate limit.
    ///
    /// # Errors
    /// `INTERNAL` if TLS cannot be set up.
    pub fn new(limits: Limits, clock: Arc<dyn Clock>) -> Result<Self, Fault> {
        let outbound = HttpClient::with_keep_alive(Duration::from_millis(limits.request_ms_max))
            .map_err(|error| Fault::internal("The client of code hosts cannot be set up.", error))?;
        Ok(Self { outbound, clock, limits })
    }

    /// Lists the repositories of a source that pass its filter.
    ///
    /// `cache` holds the pages of earlier listings of this source, and afterwards those of this one, even if it fails or is dropped. Pages
    /// are read one after another: a repository that is created or removed meanwhile may be missed, so the caller should not remove a
    /// repository that is missing once.
    ///
    /// # Errors
    /// [`ListError::Limited`] and [`ListError::Unavailable`] if another attempt may succeed. Otherwise [`ListError::Fault`]:
    /// `INVALID_INPUT` if the token is missing or not accepted, `NOT_FOUND` if the host knows none of the owners, `CAPABILITY_MISSING` if
    /// it sends something other than pages of repositories.
    pub async fn list(&self, source: &Source, cache: &mut PageCache) -> Result<Listing, ListError> {
        let api = match &source.origin {
            Origin::Api(api) => api,
            Origin::Settings(repositories) => return Ok(of_settings(source, repositories)),
        };
        let token = source.token().await?;
        let reader = PageReader {
            outbound: &self.outbound,
            clock: &*self.clock,
            source,
            api,
            authorization: token.map(|token| api.host.authorization(&token)),
            page_bytes_max: self.limits.page_bytes_max,
        };
        let reading = ListReader::new(reader, self.limits);
        let time_limit = Duration::from_millis(self.limits.listing_ms_max);
        match tokio::time::timeout(time_limit, reading.read(source, api, cache)).await {
            Ok(listing) => listing,
            Err(_) => {
                let seconds = time_limit.as_secs();
                Err(ListError::Unavailable { reason: format!("listing took longer than {seconds} s") })
            }
        }
    }
}

/// Returns the list of the settings, each address once.
fn of_settings(source: &Source, repositories: &[RemoteRepository]) -> Listing {
    let mut addresses = HashSet::new();
    let wanted = repositories.iter().filter(|it| source.filter.passes(it) && addresses.insert(&it.clone_url));
    Listing { repositories: wanted.cloned().collect(), complete: true, note: None }
}

/// The parts of a source that were read so far.
struct ListReader<'a> {
    reader: PageReader<'a>,
    limits: Limits,
    repositories: Vec<RemoteRepository>,
    /// Names in lower case, because hosts compare them so: a repository may be on two pages, or have two owners in the settings.
    names: HashSet<String>,
    requests: usize,
    rejected: usize,
    /// The reasons why the listing is not complete.
    gaps: Vec<String>,
}

impl<'a> ListReader<'a> {
    fn new(reader: PageReader<'a>, limits: Limits) -> Self {
        let (repositories, names, gaps) = (Vec::new(), HashSet::new(), Vec::new());
        Self { reader, limits, repositories, names, requests: 0, rejected: 0, gaps }
    }

    async fn read(mut self, source: &Source, api: &Api, cache: &mut PageCache) -> Result<Listing, ListError> {
        cache.begin(self.limits.pages_max, self.limits.repositories_max);
        let mut missing: Vec<&str> = Vec::new();
        for owner in &source.settings.owners {
            if let Some(limit) = self.reached_limit() {
                self.gaps.push(format!("the repositories of `{}` were not read: {limit}", echo(owner)));
                break;
            }
            if !self.read_owner(source, api, owner, cache).await? {
                missing.push(owner);
            }
        }
        if missing.len() == source.settings.owners.len() {
            return Err(self.not_found(&missing).into());
        }
        if !missing.is_empty() {
            self.gaps.push(format!("{} not found", named(&missing)));
        }
        // A listing that stopped early used only some of its pages.
        if self.gaps.is_empty() {
            cache.finish();
        }
        Ok(self.into_listing(source))
    }

    /// Reads the list of an owner; `false` if the host knows no such owner.
    async fn read_owner(
        &mut self,
        source: &Source,
        api: &Api,
        owner: &str,
        cache: &mut PageCache,
    ) -> Result<bool, ListError> {
        for first in api.host.first_pages(&api.root, owner, source.settings.archived) {
            if let Some(page) = self.request(&first, 0, cache).await? {
                self.read_list(owner, first, page, cache).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a list to its end, or to a limit.
    async fn read_list(
        &mut self,
        owner: &str,
        first: Url,
        first_page: Page,
        cache: &mut PageCache,
    ) -> Result<(), ListError> {
        let mut entries = 0;
        let mut visited = HashSet::from([first]);
        let mut page = first_page;
        let problem = loop {
            entries += page.entries();
            let total = page.total;
            let url = match self.add(page) {
                Err(limit) => break limit,
                Ok(Next::Elsewhere) => break "the link to its next page leads to another server".to_owned(),
                Ok(Next::At(url)) => url,
                Ok(Next::End) => match total.filter(|&total| entries < total) {
                    Some(total) => break fewer_than_announced(entries, total),
                    None => return Ok(()),
                },
            };
            if let Some(limit) = self.reached_limit() {
                break limit;
            }
            if !visited.insert(url.clone()) {
                break "its pages lead back to an earlier one".to_owned();
            }
            page = match self.request(&url, entries, cache).await? {
                Some(page) => page,
                None => break "its next page does not exist".to_owned(),
            };
        };
        self.gaps.push(format!("the list of `{}` was not read to its end: {problem}", echo(owner)));
        Ok(())
    }

    async fn request(
        &mut self,
        url: &Url,
        entries_before: usize,
        cache: &mut PageCache,
    ) -> Result<Option<Page>, ListError> {
        self.requests += 1;
        self.reader.page(url, entries_before, cache).await
    }

    /// Adds the repositories of a page. Returns the place of the next page, or the limit that this one exceeds.
    fn add(&mut self, page: Page) -> Result<Next, String> {
        self.rejected += page.rejected;
        for repository in page.repositories {
            let is_new = self.names.insert(repository.full_name.to_ascii_lowercase());
            if is_new && self.repositories.len() >= self.limits.repositories_max {
                return Err(format!("there are more than {} repositories", self.limits.repositories_max));
            }
            if is_new {
                self.repositories.push(repository);
            }
        }
        Ok(page.next)
    }

    /// Returns the limit that forbids a further request.
    fn reached_limit(&self) -> Option<String> {
        if self.requests >= self.limits.pages_max {
            return Some(format!("a listing takes at most {} requests", self.limits.pages_max));
        }
        let is_full = self.repositories.len() >= self.limits.repositories_max;
        is_full.then(|| format!("a listing has at most {} repositories", self.limits.repositories_max))
    }

    fn not_found(&self, missing: &[&str]) -> Fault {
        let hint = match self.reader.authorization {
            Some(_) => "Correct owners of the source, or let its token see them: hosts hide what is private.",
            None => "Correct owners of the source, or set its token_file: hosts hide what is private.",
        };
        self.reader.fault(ErrorCode::NotFound, &format!("{} not found", named(missing))).with_hint(hint)
    }

    fn into_listing(self, source: &Source) -> Listing {
        let mut notes = self.gaps;
        // Unusable entries still exist, but are not in the list.
        let complete = notes.is_empty() && self.rejected == 0;
        if self.rejected > 0 {
            notes.push(format!(
                "{} entries were left out, because their name or address cannot be used",
                self.rejected
            ));
        }
        let mut repositories = self.repositories;
        repositories.retain(|repository| source.filter.passes(repository));
        Listing { repositories, complete, note: (!notes.is_empty()).then(|| notes.join("; ")) }
    }
}

/// Describes a list that ends early. Gitea counts repositories that it hides from the caller; they cannot be distinguished from those that
/// a page should have had.
fn fewer_than_announced(entries: usize, total: usize) -> String {
    format!(
        "the host counts {total} repositories and listed {entries}, so it hides some or the list ended early"
    )
}

/// Names owners at the beginning of a sentence about them.
fn named(owners: &[&str]) -> String {
    let names: Vec<String> =
        owners.iter().take(NAMED_OWNERS_MAX).map(|owner| format!("`{}`", echo(owner))).collect();
    let verb = if owners.len() == 1 { "was" } else { "were" };
    match owners.len() - names.len() {
        0 => format!("{} {verb}", names.join(", ")),
        more => format!("{} and {more} more {verb}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::clock::SystemClock;
    use contract::config::SourceSettings;

    use crate::samples::settings;

    #[tokio::test]
    async fn a_list_of_the_settings_needs_no_request() {
        let addresses = ["https://git.example/acme/shop.git", "https://git.example/acme/api.git"];
        let repositories = [addresses[0], addresses[1], addresses[0]].map(str::to_owned).to_vec();
        let settings = SourceSettings { owners: Vec::new(), repositories, ..settings("list") };
        let lister = Lister::new(Limits::default(), Arc::new(SystemClock)).unwrap();
        let list = async |settings: &SourceSettings| {
            let source = Source::new(settings).unwrap();
            let listing = lister.list(&source, &mut PageCache::default()).await.unwrap();
            assert!(listing.complete && listing.note.is_none());
            listing.repositories.into_iter().map(|repository| repository.clone_url).collect::<Vec<_>>()
        };
        assert_eq!(list(&settings).await, addresses, "as they are, each once");
        let without_api = SourceSettings { exclude: vec!["*/api".into()], ..settings };
        assert_eq!(list(&without_api).await, addresses[..1]);
    }

    #[test]
    fn owners_are_named_up_to_a_limit() {
        assert_eq!(named(&["acme"]), "`acme` was");
        assert_eq!(named(&["acme", "labs"]), "`acme`, `labs` were");
        assert!(named(&["x"; 12]).ends_with("`x` and 2 more were"));
    }
}
