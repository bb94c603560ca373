//! Pages of earlier listings with their validators: a page that did not change is not sent again, and does not count for the rate
//! limit of GitHub.

use std::collections::HashMap;

use platform::outbound::Url;

use crate::host::Page;

/// Longest validator that is kept, in bytes; usual ones have a few dozen.
const ETAG_BYTES_MAX: usize = 256;

/// A cache of the pages that earlier listings of one source read. The caller keeps it between listings; an empty one is always valid.
#[derive(Debug, Default)]
pub struct PageCache {
    pages: HashMap<Url, CachedPage>,
    /// Counts the listings.
    round: u64,
}

#[derive(Debug)]
struct CachedPage {
    etag: String,
    page: Page,
    /// The listing that used it last.
    round: u64,
}

impl PageCache {
    /// The number of pages.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Begins a listing. Listings that failed may have left more than these limits; then only the pages of the last one are kept.
    pub(crate) fn begin(&mut self, pages_max: usize, repositories_max: usize) {
        let repositories: usize = self.pages.values().map(|cached| cached.page.repositories.len()).sum();
        if self.pages.len() > pages_max || repositories > repositories_max {
            self.forget_unused();
        }
        self.round += 1;
    }

    /// Ends a listing that read all its pages: unused ones no longer exist.
    pub(crate) fn finish(&mut self) {
        self.forget_unused();
    }

    fn forget_unused(&mut self) {
        let round = self.round;
        self.pages.retain(|_, cached| cached.round == round);
    }

    /// Returns the validator of a page.
    pub(crate) fn etag(&self, url: &Url) -> Option<&str> {
        self.pages.get(url).map(|cached| cached.etag.as_str())
    }

    /// Returns a page that did not change according to the host.
    pub(crate) fn reuse(&mut self, url: &Url) -> Option<Page> {
        let cached = self.pages.get_mut(url)?;
        cached.round = self.round;
        Some(cached.page.clone())
    }

    /// Keeps a page, if it has a validator that shows whether it and its next page are still the same.
    pub(crate) fn store(&mut self, url: &Url, etag: Option<&str>, page: &Page) {
        let is_plain =
            |etag: &&str| etag.len() <= ETAG_BYTES_MAX && etag.bytes().all(|byte| byte.is_ascii_graphic());
        match etag.filter(is_plain) {
            Some(etag) if !page.may_gain_next => {
                let cached = CachedPage { etag: etag.to_owned(), page: page.clone(), round: self.round };
                self.pages.insert(url.clone(), cached);
            }
            _ => {
                self.pages.remove(url);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::Next;
    use crate::samples::repository;

    fn url(number: usize) -> Url {
        Url::parse(&format!("https://git.example/repos?page={number}")).unwrap()
    }

    fn page(may_gain_next: bool) -> Page {
        let repositories = vec![repository("acme/shop")];
        Page { repositories, rejected: 0, total: None, next: Next::End, may_gain_next }
    }

    #[test]
    fn pages_are_kept_until_a_listing_does_without_them() {
        let mut cache = PageCache::default();
        cache.begin(10, 10);
        cache.store(&url(1), Some("W/\"a\""), &page(false));
        cache.store(&url(2), Some("\"b\""), &page(false));
        cache.finish();
        assert_eq!((cache.pages(), cache.etag(&url(1))), (2, Some("W/\"a\"")));
        cache.begin(10, 10);
        assert_eq!(cache.reuse(&url(1)), Some(page(false)));
        assert_eq!(cache.reuse(&url(3)), None);
        assert_eq!(cache.pages(), 2, "the listing has not ended");
        cache.finish();
        assert_eq!((cache.pages(), cache.etag(&url(2))), (1, None));
    }

    #[test]
    fn pages_without_a_usable_validator_are_not_kept() {
        let mut cache = PageCache::default();
        cache.begin(10, 10);
        let long = "x".repeat(ETAG_BYTES_MAX + 1);
        for etag in [None, Some(long.as_str()), Some("\"a b\""), Some("\"ü\"")] {
            cache.store(&url(1), Some("\"a\""), &page(false));
            cache.store(&url(1), etag, &page(false));
            assert_eq!(cache.pages(), 0, "{etag:?}");
        }
        cache.store(&url(1), Some("\"a\""), &page(true));
        assert_eq!(cache.pages(), 0, "its validator would hide the next page");
    }

    #[test]
    fn failed_listings_leave_a_bounded_number_of_pages() {
        let mut cache = PageCache::default();
        for round in 0..10 {
            cache.begin(5, 100);
            for number in 0..5 {
                cache.store(&url(round * 5 + number), Some("\"a\""), &page(false));
            }
            assert!(cache.pages() <= 10, "{}", cache.pages());
        }
    }
}
