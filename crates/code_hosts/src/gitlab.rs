//! The API v4 of GitLab, where groups are nested and repositories are projects.

use serde::Deserialize;
use serde::de::IgnoredAny;

use platform::outbound::Url;

use crate::host::{CodeHost, Page, Received};
use crate::links::{Next, below, page_number, with_page, with_suffix};
use crate::repository::Entry;

/// Maximum number of entries that a page has.
const PAGE_ENTRIES: usize = 100;

#[derive(Debug)]
pub(crate) struct Gitlab;

/// The fields of a project that are read. Without a token, GitLab omits the origin of a fork and whether it is archived.
#[derive(Deserialize)]
struct Project {
    path_with_namespace: String,
    http_url_to_repo: String,
    forked_from_project: Option<IgnoredAny>,
    #[serde(default)]
    archived: bool,
    topics: Option<Vec<String>>,
    last_activity_at: Option<String>,
}

impl From<Project> for Entry {
    fn from(project: Project) -> Self {
        Self {
            full_name: project.path_with_namespace,
            clone_url: project.http_url_to_repo,
            is_fork: project.forked_from_project.is_some(),
            is_archived: project.archived,
            topics: project.topics.unwrap_or_default(),
            pushed_at: project.last_activity_at,
        }
    }
}

impl CodeHost for Gitlab {
    fn public_url(&self) -> Option<&'static str> {
        Some("https://gitlab.com")
    }

    fn root(&self, configured: Url) -> Url {
        with_suffix(configured, "/api/v4")
    }

    fn has_subgroups(&self) -> bool {
        true
    }

    /// Sorts by id, so that no project moves between pages. GitLab itself filters out archived projects, because callers without a token
    /// cannot see which ones are archived. Projects that other groups share with this one belong to those groups.
    fn first_pages(&self, root: &Url, owner: &str, with_archived: bool) -> Vec<Url> {
        let mut common = vec![("per_page", "100"), ("order_by", "id"), ("sort", "asc")];
        if !with_archived {
            common.push(("archived", "false"));
        }
        let mut of_group = vec![("include_subgroups", "true"), ("with_shared", "false")];
        of_group.extend(&common);
        let group = below(root, &["groups", owner, "projects"], &of_group);
        // A nested group has a slash in its name; a user does not.
        let user = (!owner.contains('/')).then(|| below(root, &["users", owner, "projects"], &common));
        [group].into_iter().chain(user).collect()
    }

    fn read(&self, received: &Received<'_>) -> Result<Page, String> {
        let entries: Vec<Project> = received.json()?;
        let is_full = entries.len() >= PAGE_ENTRIES;
        let next = match received.answer.header("link") {
            Some(_) => received.next_by_header(),
            None => next_by_number(received, is_full),
        };
        // GitLab does not announce totals of more than 10,000.
        Ok(received.page(entries, received.total("x-total"), next, is_full))
    }
}

/// Returns the next page by the header `x-next-page`, which is empty on the last page. Some proxies remove the header `link`.
fn next_by_number(received: &Received<'_>, is_full: bool) -> Next {
    let number = match received.answer.header("x-next-page") {
        Some(number) => number.trim().parse().ok(),
        None => is_full.then(|| page_number(received.url).saturating_add(1)),
    };
    number.map_or(Next::End, |number| Next::At(with_page(received.url, number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{answer, names, read};

    const PLACE: (&str, &str) = (
        "https://gitlab.com/api/v4",
        "https://gitlab.com/api/v4/groups/acme/projects?per_page=100&order_by=id",
    );

    /// Shortened from an answer of GitLab.
    const PAGE: &str = r#"[
      {
        "id": 9, "description": "foo", "default_branch": "main", "tag_list": ["rust"], "topics": ["rust"], "archived": false,
        "visibility": "internal", "ssh_url_to_repo": "git@gitlab.com:acme/platform/shop.git",
        "http_url_to_repo": "https://gitlab.com/acme/platform/shop.git", "web_url": "https://gitlab.com/acme/platform/shop",
        "name": "Shop", "name_with_namespace": "Acme / Platform / Shop", "path": "shop",
        "path_with_namespace": "acme/platform/shop", "created_at": "2019-09-30T13:46:02.000Z",
        "last_activity_at": "2026-02-03T04:05:06.789Z", "empty_repo": false, "star_count": 0,
        "namespace": {"id": 4, "name": "Platform", "path": "platform", "kind": "group", "full_path": "acme/platform"}
      },
      {
        "id": 10, "path_with_namespace": "acme/fork", "http_url_to_repo": "https://gitlab.com/acme/fork.git",
        "default_branch": null, "archived": true, "forked_from_project": {"id": 1, "path_with_namespace": "other/fork"}
      }
    ]"#;

    #[test]
    fn a_page_is_read() {
        let page = read(&Gitlab, PLACE, 0, &answer(200, &[], PAGE)).unwrap();
        assert_eq!(names(&page), ["acme/platform/shop", "acme/fork"]);
        let [shop, fork] = page.repositories.as_slice() else { panic!("{page:?}") };
        assert_eq!(shop.clone_url, "https://gitlab.com/acme/platform/shop.git");
        assert_eq!(shop.topics, ["rust"]);
        assert_eq!(shop.pushed_at.map(|time| time.to_string()).as_deref(), Some("2026-02-03T04:05:06.789Z"));
        assert_eq!(
            (shop.is_fork, shop.is_archived, fork.is_fork, fork.is_archived),
            (false, false, true, true)
        );
        assert_eq!((fork.pushed_at, page.next, page.total), (None, Next::End, None));
    }

    #[test]
    fn a_last_page_before_the_total_is_asked_for_again() {
        for (total, may_gain_next) in [("2", false), ("3", true)] {
            let page = read(&Gitlab, PLACE, 0, &answer(200, &[("x-total", total)], PAGE)).unwrap();
            assert_eq!((page.total, page.may_gain_next), (total.parse().ok(), may_gain_next));
            let with_earlier = read(&Gitlab, PLACE, 1, &answer(200, &[("x-total", total)], PAGE)).unwrap();
            assert!(!with_earlier.may_gain_next, "{total}");
        }
    }

    #[test]
    fn the_next_page_is_that_of_the_link_or_of_the_number() {
        let next =
            |headers: &[(&str, &str)]| read(&Gitlab, PLACE, 0, &answer(200, headers, PAGE)).unwrap().next;
        let at = |text: &str| Next::At(Url::parse(text).unwrap());
        let keyset =
            r#"<https://gitlab.com/api/v4/groups/acme/projects?pagination=keyset&id_after=10>; rel="next""#;
        assert_eq!(
            next(&[("link", keyset), ("x-next-page", "7")]),
            at("https://gitlab.com/api/v4/groups/acme/projects?pagination=keyset&id_after=10")
        );
        assert_eq!(
            next(&[("x-next-page", "2")]),
            at("https://gitlab.com/api/v4/groups/acme/projects?per_page=100&order_by=id&page=2")
        );
        assert_eq!(next(&[("x-next-page", "")]), Next::End);
        assert_eq!(next(&[("x-next-page", "https://evil.example/")]), Next::End);
        assert_eq!(next(&[("link", r#"<https://evil.example/>; rel="next""#)]), Next::Elsewhere);
    }

    #[test]
    fn groups_are_asked_first_and_then_users() {
        let root = Gitlab.root(Url::parse("https://git.acme.example").unwrap());
        let pages = |owner: &str, with_archived| -> Vec<String> {
            Gitlab.first_pages(&root, owner, with_archived).iter().map(Url::to_string).collect()
        };
        assert_eq!(
            pages("acme", true),
            [
                "https://git.acme.example/api/v4/groups/acme/projects?include_subgroups=true&with_shared=false&per_page=100&order_by=id&sort=asc",
                "https://git.acme.example/api/v4/users/acme/projects?per_page=100&order_by=id&sort=asc",
            ]
        );
        let [only]: [String; 1] = pages("acme/platform", false).try_into().unwrap();
        assert!(
            only.contains("/groups/acme%2Fplatform/projects?") && only.ends_with("&archived=false"),
            "{only}"
        );
    }
}
