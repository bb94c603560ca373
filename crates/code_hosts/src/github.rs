//! The REST API of GitHub and of GitHub Enterprise Server.

use platform::outbound::Url;

use crate::host::{CodeHost, Page, Received};
use crate::links::{Next, below, page_number, with_page, with_suffix};
use crate::repository::{Entry, GithubRepository};

/// Maximum number of entries that a page has.
const PAGE_ENTRIES: usize = 100;

#[derive(Debug)]
pub(crate) struct Github;

impl CodeHost for Github {
    fn public_url(&self) -> Option<&'static str> {
        Some("https://api.github.com")
    }

    /// GitHub itself has hosts for the API alone, which Enterprise Server does not.
    fn root(&self, configured: Url) -> Url {
        if configured.host_str().is_some_and(|host| host.starts_with("api.")) {
            return configured;
        }
        with_suffix(configured, "/api/v3")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }

    /// Sorts by name, so that a push during the listing moves no repository to a page that was read already.
    fn first_pages(&self, root: &Url, owner: &str, _with_archived: bool) -> Vec<Url> {
        let query = [("per_page", "100"), ("sort", "full_name")];
        ["orgs", "users"].map(|owners| below(root, &[owners, owner, "repos"], &query)).to_vec()
    }

    fn read(&self, received: &Received<'_>) -> Result<Page, String> {
        let entries: Vec<GithubRepository> = received.json()?;
        let entries: Vec<Entry> = entries.into_iter().map(GithubRepository::by_push).collect();
        let is_full = entries.len() >= PAGE_ENTRIES;
        let next = match received.answer.header("link") {
            // Some proxies remove the header.
            None if is_full => Next::At(with_page(received.url, page_number(received.url).saturating_add(1))),
            _ => received.next_by_header(),
        };
        // GitHub announces no total.
        Ok(received.page(entries, None, next, is_full))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{answer, names, read};

    const PLACE: (&str, &str) =
        ("https://api.github.com", "https://api.github.com/orgs/acme/repos?per_page=100");

    /// Shortened from an answer of GitHub.
    const PAGE: &str = r#"[
      {
        "id": 1296269, "node_id": "MDEwOlJlcG9zaXRvcnkxMjk2MjY5", "name": "shop", "full_name": "acme/shop", "private": true,
        "owner": {"login": "acme", "id": 1, "type": "Organization", "site_admin": false},
        "html_url": "https://github.com/acme/shop", "description": "The shop ☂", "fork": false,
        "url": "https://api.github.com/repos/acme/shop",
        "created_at": "2019-01-26T19:01:12Z", "updated_at": "2026-01-26T19:14:43Z", "pushed_at": "2026-02-03T04:05:06Z",
        "git_url": "git://github.com/acme/shop.git", "ssh_url": "git@github.com:acme/shop.git",
        "clone_url": "https://github.com/acme/shop.git", "size": 108, "stargazers_count": 80, "language": "Rust",
        "has_issues": true, "archived": false, "disabled": false,
        "license": {"key": "mit", "name": "MIT License", "spdx_id": "MIT"}, "allow_forking": true,
        "topics": ["backend", "rust"], "visibility": "private", "forks": 9, "default_branch": "main",
        "permissions": {"admin": false, "push": false, "pull": true}
      },
      {
        "id": 1296270, "full_name": "acme/old-site", "fork": true, "clone_url": "https://github.com/acme/old-site.git",
        "size": 0, "archived": true, "topics": [], "pushed_at": null, "default_branch": "master", "license": null
      }
    ]"#;

    #[test]
    fn a_page_is_read() {
        let link = r#"<https://api.github.com/organizations/1/repos?per_page=100&page=2>; rel="next", <https://api.github.com/organizations/1/repos?per_page=100&page=3>; rel="last""#;
        let page = read(&Github, PLACE, 0, &answer(200, &[("link", link)], PAGE)).unwrap();
        assert_eq!(names(&page), ["acme/shop", "acme/old-site"]);
        let [shop, old] = page.repositories.as_slice() else { panic!("{page:?}") };
        assert_eq!(shop.clone_url, "https://github.com/acme/shop.git");
        assert_eq!(shop.topics, ["backend", "rust"]);
        assert_eq!(shop.pushed_at.map(|time| time.to_string()).as_deref(), Some("2026-02-03T04:05:06Z"));
        assert_eq!(
            (shop.is_fork, shop.is_archived, old.is_fork, old.is_archived),
            (false, false, true, true)
        );
        assert_eq!(old.pushed_at, None);
        let second = Url::parse("https://api.github.com/organizations/1/repos?per_page=100&page=2").unwrap();
        assert_eq!((page.next.clone(), page.may_gain_next), (Next::At(second), false));
        let last = read(&Github, PLACE, 0, &answer(200, &[], PAGE)).unwrap();
        assert_eq!((last.next, last.may_gain_next), (Next::End, false));
    }

    #[test]
    fn a_full_page_without_a_link_is_not_taken_for_the_last_one() {
        let entry = |number: usize| {
            format!(r#"{{"full_name": "a/r{number}", "clone_url": "https://github.com/a/r{number}.git"}}"#)
        };
        let body = format!("[{}]", (0..100).map(entry).collect::<Vec<_>>().join(","));
        let page = read(&Github, PLACE, 0, &answer(200, &[], &body)).unwrap();
        let second = Url::parse("https://api.github.com/orgs/acme/repos?per_page=100&page=2").unwrap();
        assert_eq!((page.entries(), page.next), (100, Next::At(second)));
    }

    #[test]
    fn entries_that_cannot_be_used_are_counted_and_other_answers_are_refused() {
        let body = r#"[{"full_name": "acme/../x", "clone_url": "https://github.com/acme/x.git"},
            {"full_name": "acme/y", "clone_url": "ext::sh -c id"}, {"full_name": "acme/z", "clone_url": "https://github.com/acme/z.git"}]"#;
        let page = read(&Github, PLACE, 0, &answer(200, &[], body)).unwrap();
        assert_eq!((names(&page), page.rejected), (vec!["acme/z"], 2));
        let nested = "[".repeat(100_000);
        for bad in [
            "",
            "{}",
            r#"{"message": "Not Found"}"#,
            "<html>",
            r#"[{"full_name": "acme/x"}]"#,
            "[1]",
            nested.as_str(),
        ] {
            assert!(read(&Github, PLACE, 0, &answer(200, &[], bad)).is_err(), "{bad:.40}");
        }
        let long =
            format!(r#"[{{"full_name": "a/b", "clone_url": "c", "fork": "{}"}}]"#, "x".repeat(100_000));
        assert!(read(&Github, PLACE, 0, &answer(200, &[], &long)).unwrap_err().len() < 1000);
    }

    #[test]
    fn enterprise_server_has_its_api_below_a_path() {
        for (configured, root) in [
            ("https://api.github.com", "https://api.github.com/"),
            ("https://api.acme.ghe.com", "https://api.acme.ghe.com/"),
            ("https://github.acme.example", "https://github.acme.example/api/v3"),
            ("https://github.acme.example/api/v3/", "https://github.acme.example/api/v3"),
        ] {
            assert_eq!(Github.root(Url::parse(configured).unwrap()).as_str(), root);
        }
        let pages =
            Github.first_pages(&Url::parse("https://github.acme.example/api/v3").unwrap(), "acme", false);
        let pages: Vec<&str> = pages.iter().map(Url::as_str).collect();
        assert_eq!(
            pages,
            [
                "https://github.acme.example/api/v3/orgs/acme/repos?per_page=100&sort=full_name",
                "https://github.acme.example/api/v3/users/acme/repos?per_page=100&sort=full_name",
            ]
        );
    }
}
