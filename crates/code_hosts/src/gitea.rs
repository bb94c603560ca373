//! The API v1 of Gitea and of Forgejo, which Codeberg uses.

use platform::outbound::Url;

use crate::host::{CodeHost, Page, Received};
use crate::links::{Next, below, page_number, with_page, with_suffix};
use crate::repository::{Entry, GithubRepository};

/// Maximum number of entries that a page has.
const PAGE_ENTRIES: usize = 50;

#[derive(Debug)]
pub(crate) struct Gitea;

impl CodeHost for Gitea {
    fn public_url(&self) -> Option<&'static str> {
        None
    }

    fn root(&self, configured: Url) -> Url {
        with_suffix(configured, "/api/v1")
    }

    fn authorization(&self, token: &str) -> String {
        format!("token {token}")
    }

    fn first_pages(&self, root: &Url, owner: &str, _with_archived: bool) -> Vec<Url> {
        let query = [("limit", "50"), ("page", "1")];
        ["orgs", "users"].map(|owners| below(root, &[owners, owner, "repos"], &query)).to_vec()
    }

    fn read(&self, received: &Received<'_>) -> Result<Page, String> {
        let entries: Vec<GithubRepository> = received.json()?;
        let entries: Vec<Entry> = entries.into_iter().map(GithubRepository::by_update).collect();
        let total = received.total("x-total-count");
        let next = next_by_count(received, entries.len(), total);
        // A host may allow fewer entries than requested, so any last page may be full; an empty one may be followed by others.
        Ok(received.page(entries, total, next, true))
    }
}

/// Returns the next page, if entries are left of the total. The links of Gitea are not followed: they lead to its public address, which may
/// not be the configured one.
fn next_by_count(received: &Received<'_>, entries: usize, total: Option<usize>) -> Next {
    let number = page_number(received.url);
    // Repositories that are hidden from the caller are counted, so an empty page may be followed by others. The pages up to this one have
    // at most this many entries.
    let covered = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(PAGE_ENTRIES);
    let are_left = match total {
        Some(total) => received.entries_before + entries < total && (entries > 0 || covered < total),
        // The host may allow fewer entries than requested.
        None => entries > 0,
    };
    if !are_left {
        return Next::End;
    }
    Next::At(with_page(received.url, number.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{answer, names, read};

    const PLACE: (&str, &str) =
        ("https://codeberg.org/api/v1", "https://codeberg.org/api/v1/orgs/acme/repos?limit=50&page=2");

    /// Shortened from an answer of Forgejo.
    const PAGE: &str = r#"[
      {
        "id": 12, "owner": {"id": 3, "login": "acme", "full_name": "Acme", "email": "", "username": "acme"},
        "name": "shop", "full_name": "acme/shop", "description": "", "empty": false, "private": false, "fork": false,
        "template": false, "parent": null, "mirror": true, "size": 4321, "language": "Go",
        "html_url": "https://codeberg.org/acme/shop", "ssh_url": "git@codeberg.org:acme/shop.git",
        "clone_url": "https://codeberg.org/acme/shop.git", "original_url": "", "stars_count": 3, "default_branch": "trunk",
        "archived": false, "created_at": "2021-05-06T07:08:09+02:00", "updated_at": "2026-02-03T05:05:06+01:00",
        "permissions": {"admin": false, "push": false, "pull": true}, "topics": ["backend"], "object_format_name": "sha1"
      },
      {
        "id": 13, "full_name": "acme/fork", "fork": true, "archived": true, "size": 0, "topics": null,
        "clone_url": "https://codeberg.org/acme/fork.git", "default_branch": ""
      }
    ]"#;

    #[test]
    fn a_page_is_read() {
        let page = read(&Gitea, PLACE, 50, &answer(200, &[("x-total-count", "52")], PAGE)).unwrap();
        assert_eq!(names(&page), ["acme/shop", "acme/fork"]);
        let [shop, fork] = page.repositories.as_slice() else { panic!("{page:?}") };
        assert_eq!(shop.clone_url, "https://codeberg.org/acme/shop.git");
        assert_eq!(shop.pushed_at.map(|time| time.to_string()).as_deref(), Some("2026-02-03T04:05:06Z"));
        assert_eq!((fork.is_fork, fork.is_archived, fork.topics.len()), (true, true, 0));
        assert_eq!((page.total, page.next, page.may_gain_next), (Some(52), Next::End, true));
    }

    #[test]
    fn pages_are_counted_by_the_total_or_asked_for_until_one_is_empty() {
        let next = |before, total: Option<&str>, body: &str| {
            let headers: Vec<(&str, &str)> =
                total.map(|total| ("x-total-count", total)).into_iter().collect();
            read(&Gitea, PLACE, before, &answer(200, &headers, body)).unwrap().next
        };
        let third =
            Next::At(Url::parse("https://codeberg.org/api/v1/orgs/acme/repos?limit=50&page=3").unwrap());
        assert_eq!(next(50, Some("53"), PAGE), third);
        assert_eq!(next(50, Some("52"), PAGE), Next::End);
        assert_eq!(next(50, None, PAGE), third, "the host may allow fewer entries than were asked for");
        assert_eq!(next(50, None, "[]"), Next::End);
        assert_eq!(next(50, Some("101"), "[]"), third, "two pages have at most 100 entries");
        assert_eq!(next(50, Some("100"), "[]"), Next::End);
        assert_eq!(next(50, Some("many"), "[]"), Next::End);
        let entry = r#"{"full_name": "acme/x", "clone_url": "https://codeberg.org/acme/x.git"}"#;
        let full = format!("[{}]", vec![entry; 50].join(","));
        assert_eq!(next(50, None, &full), third);
        assert_eq!(next(50, Some("100"), &full), Next::End);
    }

    #[test]
    fn organisations_are_asked_first_and_then_users() {
        let root = Gitea.root(Url::parse("https://git.acme.example/gitea").unwrap());
        let pages = Gitea.first_pages(&root, "acme", false);
        let pages: Vec<&str> = pages.iter().map(Url::as_str).collect();
        assert_eq!(
            pages,
            [
                "https://git.acme.example/gitea/api/v1/orgs/acme/repos?limit=50&page=1",
                "https://git.acme.example/gitea/api/v1/users/acme/repos?limit=50&page=1",
            ]
        );
        assert_eq!(Gitea.authorization("t"), "token t");
    }
}
