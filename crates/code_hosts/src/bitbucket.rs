//! The API 2.0 of Bitbucket Cloud.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use platform::outbound::Url;

use crate::host::{CodeHost, Page, Received};
use crate::links::{Next, below, with_suffix};
use crate::repository::Entry;

#[derive(Debug)]
pub(crate) struct Bitbucket;

/// The body of a page. `values` has no default: an answer without it is not an empty page but something else.
#[derive(Deserialize)]
struct Repositories {
    values: Vec<Repository>,
    /// The number of repositories on all pages.
    size: Option<usize>,
    next: Option<String>,
}

/// The fields of a repository that are read.
#[derive(Deserialize)]
struct Repository {
    full_name: String,
    links: Links,
    /// The repository that it was forked from.
    parent: Option<IgnoredAny>,
    updated_on: Option<String>,
}

#[derive(Deserialize)]
struct Links {
    #[serde(default)]
    clone: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    /// `https` or `ssh`.
    name: String,
    href: String,
}

impl From<Repository> for Entry {
    fn from(repository: Repository) -> Self {
        let link = repository.links.clone.into_iter().find(|link| link.name == "https");
        Self {
            full_name: repository.full_name,
            clone_url: link.map(|link| without_user(&link.href)).unwrap_or_default(),
            is_fork: repository.parent.is_some(),
            is_archived: false,
            topics: Vec::new(),
            pushed_at: repository.updated_on,
        }
    }
}

/// Returns the address without a user, which Bitbucket adds for callers with a token. An address with a password is unchanged, and is then
/// refused.
fn without_user(href: &str) -> String {
    let Ok(mut url) = Url::parse(href) else { return href.to_owned() };
    if url.password().is_some() || url.set_username("").is_err() {
        return href.to_owned();
    }
    url.into()
}

impl CodeHost for Bitbucket {
    fn public_url(&self) -> Option<&'static str> {
        Some("https://api.bitbucket.org")
    }

    fn root(&self, configured: Url) -> Url {
        with_suffix(configured, "/2.0")
    }

    fn has_topics(&self) -> bool {
        false
    }

    /// API tokens and app passwords belong to a user: `user:token`. Access tokens of a workspace or a repository do not.
    fn authorization(&self, token: &str) -> String {
        if token.contains(':') {
            format!("Basic {}", STANDARD.encode(token))
        } else {
            format!("Bearer {token}")
        }
    }

    fn first_pages(&self, root: &Url, owner: &str, _with_archived: bool) -> Vec<Url> {
        vec![below(root, &["repositories", owner], &[("pagelen", "100")])]
    }

    fn read(&self, received: &Received<'_>) -> Result<Page, String> {
        let page: Repositories = received.json()?;
        let next = page.next.map_or(Next::End, |next| Next::linked(&next, received.url, received.root));
        // The link is part of the page, so a page that gains one is another page.
        Ok(received.page(page.values, page.size, next, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{answer, names, read};

    const PLACE: (&str, &str) =
        ("https://api.bitbucket.org/2.0", "https://api.bitbucket.org/2.0/repositories/acme?pagelen=100");

    /// Shortened from an answer of Bitbucket to a request with a token.
    const PAGE: &str = r#"{
      "values": [
        {
          "type": "repository", "full_name": "acme/shop", "name": "Shop", "slug": "shop", "scm": "git",
          "links": {
            "self": {"href": "https://api.bitbucket.org/2.0/repositories/acme/shop"},
            "clone": [
              {"name": "https", "href": "https://robot@bitbucket.org/acme/shop.git"},
              {"name": "ssh", "href": "git@bitbucket.org:acme/shop.git"}
            ]
          },
          "description": "", "created_on": "2020-04-03T15:13:00.831121+00:00", "updated_on": "2026-02-03T04:05:06.500000+00:00",
          "size": 2049, "language": "rust", "fork_policy": "no_public_forks", "parent": null,
          "mainbranch": {"type": "branch", "name": "main"}, "is_private": true,
          "project": {"type": "project", "key": "PLAT", "name": "Platform"}
        },
        {
          "full_name": "acme/fork", "mainbranch": null, "size": 0,
          "links": {"clone": [{"name": "https", "href": "https://bitbucket.org/acme/fork.git"}]},
          "parent": {"type": "repository", "full_name": "other/fork"}
        },
        {"full_name": "acme/ssh-only", "links": {"clone": [{"name": "ssh", "href": "git@bitbucket.org:acme/ssh-only.git"}]}}
      ],
      "pagelen": 100, "size": 203, "page": 1,
      "next": "https://api.bitbucket.org/2.0/repositories/acme?pagelen=100&page=2"
    }"#;

    #[test]
    fn a_page_is_read() {
        let page = read(&Bitbucket, PLACE, 0, &answer(200, &[], PAGE)).unwrap();
        assert_eq!((names(&page), page.rejected), (vec!["acme/shop", "acme/fork"], 1));
        let [shop, fork] = page.repositories.as_slice() else { panic!("{page:?}") };
        assert_eq!(shop.clone_url, "https://bitbucket.org/acme/shop.git", "without the user");
        assert_eq!(shop.pushed_at.map(|time| time.to_string()).as_deref(), Some("2026-02-03T04:05:06.5Z"));
        assert_eq!((shop.is_fork, fork.is_fork, page.total), (false, true, Some(203)));
        let second = "https://api.bitbucket.org/2.0/repositories/acme?pagelen=100&page=2";
        assert_eq!((page.next.clone(), page.may_gain_next), (Next::At(Url::parse(second).unwrap()), false));
    }

    #[test]
    fn other_answers_are_not_empty_pages() {
        let last = read(&Bitbucket, PLACE, 0, &answer(200, &[], r#"{"values": [], "next": null}"#)).unwrap();
        assert_eq!((last.entries(), last.next), (0, Next::End));
        let elsewhere = r#"{"values": [], "next": "https://evil.example/2.0/x"}"#;
        assert_eq!(read(&Bitbucket, PLACE, 0, &answer(200, &[], elsewhere)).unwrap().next, Next::Elsewhere);
        for bad in ["{}", "[]", r#"{"type": "error", "error": {"message": "x"}}"#, r#"{"values": null}"#] {
            assert!(read(&Bitbucket, PLACE, 0, &answer(200, &[], bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_refused() {
        let body = r#"{"values": [{"full_name": "acme/x", "links": {"clone": [{"name": "https", "href": "https://u:p@bitbucket.org/acme/x.git"}]}}]}"#;
        assert_eq!(read(&Bitbucket, PLACE, 0, &answer(200, &[], body)).unwrap().rejected, 1);
    }

    #[test]
    fn tokens_of_users_are_sent_with_the_user() {
        assert_eq!(
            Bitbucket.authorization("robot@acme.example:secret"),
            "Basic cm9ib3RAYWNtZS5leGFtcGxlOnNlY3JldA=="
        );
        assert_eq!(Bitbucket.authorization("secret"), "Bearer secret");
        let root = Bitbucket.root(Url::parse("https://api.bitbucket.org").unwrap());
        let pages = Bitbucket.first_pages(&root, "acme", false);
        assert_eq!(pages.iter().map(Url::as_str).collect::<Vec<_>>(), [PLACE.1]);
    }
}
