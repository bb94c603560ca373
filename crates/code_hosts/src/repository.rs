//! A repository as a host describes it, and the checks of that description.

use contract::RepositoryAddress;
use jiff::Timestamp;
use serde::Deserialize;

use crate::names::{is_full_name, is_topic};

/// Maximum number of topics of a repository that are kept; GitHub allows 20.
const TOPICS_MAX: usize = 100;

/// A repository of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRepository {
    /// `owner/name`, with the groups between them on GitLab. For the kind `list` the path of the address.
    pub full_name: String,
    /// Address for `git clone`: https, or http if the API of the host is an http address; no credentials are in it. For the kind
    /// `list` the address as the settings have it.
    pub clone_url: String,
    /// `true` if it is a fork. GitLab reports this only with a token.
    pub is_fork: bool,
    /// `true` if it is archived.
    pub is_archived: bool,
    /// Its topics.
    pub topics: Vec<String>,
    /// Time of the last push, or of the last change of any kind where the host does not distinguish them.
    pub pushed_at: Option<Timestamp>,
}

/// The repositories of a source that pass its filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The repositories, in the order of the host; each once.
    pub repositories: Vec<RemoteRepository>,
    /// `true` if the host was read to the end, and listed as many repositories as it counts. If not, a repository that is missing here may
    /// still exist.
    pub complete: bool,
    /// The reason why it is not complete, and the number of entries that were omitted because they cannot be used.
    pub note: Option<String>,
}

/// An entry of a host's answer, unchecked.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) full_name: String,
    pub(crate) clone_url: String,
    pub(crate) is_fork: bool,
    pub(crate) is_archived: bool,
    pub(crate) topics: Vec<String>,
    pub(crate) pushed_at: Option<String>,
}

/// The fields of a repository that are read from GitHub's API, which Gitea follows.
#[derive(Deserialize)]
pub(crate) struct GithubRepository {
    full_name: String,
    clone_url: String,
    #[serde(default)]
    fork: bool,
    #[serde(default)]
    archived: bool,
    topics: Option<Vec<String>>,
    pushed_at: Option<String>,
    updated_at: Option<String>,
}

impl GithubRepository {
    /// Returns the entry of GitHub, where the time of a repository without any push is null.
    pub(crate) fn by_push(self) -> Entry {
        let time = self.pushed_at.clone();
        self.entry(time)
    }

    /// Returns the entry of Gitea, which does not report pushes.
    pub(crate) fn by_update(self) -> Entry {
        let time = self.updated_at.clone();
        self.entry(time)
    }

    fn entry(self, pushed_at: Option<String>) -> Entry {
        Entry {
            full_name: self.full_name,
            clone_url: self.clone_url,
            is_fork: self.fork,
            is_archived: self.archived,
            topics: self.topics.unwrap_or_default(),
            pushed_at,
        }
    }
}

impl Entry {
    /// Returns the repository, unless its name or its address is unusable. Of the other fields, only well-formed values are kept.
    pub(crate) fn checked(self, allows_http: bool) -> Option<RemoteRepository> {
        if !is_full_name(&self.full_name) || !is_clone_url(&self.clone_url, allows_http) {
            return None;
        }
        let mut topics = self.topics;
        topics.retain(|topic| is_topic(topic));
        topics.truncate(TOPICS_MAX);
        Some(RemoteRepository {
            full_name: self.full_name,
            clone_url: self.clone_url,
            is_fork: self.is_fork,
            is_archived: self.is_archived,
            topics,
            pushed_at: self.pushed_at.and_then(|time| time.parse().ok()),
        })
    }
}

/// Returns `true` if a host may give out this address. `http` is for hosts on this machine, whose API has no certificate either.
fn is_clone_url(text: &str, allows_http: bool) -> bool {
    let Some(Ok(address)) = RepositoryAddress::parse(text) else { return false };
    let is_allowed = address.scheme() == "https" || (allows_http && address.scheme() == "http");
    // Servers and proxies decode the path, so an encoded `..` leads up as well.
    let decoded =
        address.path().to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    is_allowed && !decoded.split('/').any(|part| matches!(part, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(full_name: &str, clone_url: &str) -> Entry {
        Entry { full_name: full_name.into(), clone_url: clone_url.into(), ..Entry::default() }
    }

    #[test]
    fn addresses_are_https_without_credentials_and_lead_nowhere_else() {
        let is_accepted = |url: &str, allows_http| entry("acme/shop", url).checked(allows_http).is_some();
        for good in ["https://github.com/acme/shop.git", "https://git.example:8443/scm/acme/shop"] {
            assert!(is_accepted(good, false), "{good}");
        }
        assert!(is_accepted("http://127.0.0.1:3000/acme/shop.git", true));
        for bad in [
            "",
            "http://git.example/acme/shop.git",
            "git://git.example/acme/shop.git",
            "ssh://git@git.example/acme/shop.git",
            "git@git.example:acme/shop.git",
            "file:///srv/git/shop.git",
            "/srv/git/shop.git",
            "ext::sh -c id",
            "https://user:secret@git.example/acme/shop.git",
            "https://token@git.example/acme/shop.git",
            "https://-oProxyCommand=id/acme/shop.git",
            "https:///acme/shop.git",
            "https://git.example/",
            "https://git.example/acme/../../etc",
            "https://git.example/acme/%2e%2E/etc",
            "https://git.example/acme/..%2fetc",
            "https://git.example/acme/shop.git?x=1",
            "https://git.example/acme/shop\n.git",
            "--upload-pack=id",
        ] {
            assert!(!is_accepted(bad, false), "{bad:?}");
        }
    }

    #[test]
    fn what_is_malformed_beside_name_and_address_is_left_out() {
        let checked = Entry {
            topics: vec!["rust".into(), "a\nb".into(), String::new()],
            pushed_at: Some("yesterday".into()),
            ..entry("acme/shop", "https://git.example/acme/shop.git")
        };
        let repository = checked.checked(false).unwrap();
        assert_eq!((repository.topics, repository.pushed_at), (vec!["rust".to_owned()], None));
        let many = (0..500).map(|number| format!("topic-{number}")).collect();
        let many = Entry { topics: many, ..entry("acme/shop", "https://git.example/acme/shop.git") };
        assert_eq!(many.checked(false).unwrap().topics.len(), TOPICS_MAX);
        assert!(entry("acme/../shop", "https://git.example/acme/shop.git").checked(false).is_none());
    }

    #[test]
    fn times_of_all_hosts_are_read() {
        for text in
            ["2026-03-04T05:06:07Z", "2026-03-04T06:06:07.000+01:00", "2026-03-04T05:06:07.000000+00:00"]
        {
            let pushed_at = Some(text.to_owned());
            let entry = Entry { pushed_at, ..entry("acme/shop", "https://git.example/acme/shop.git") };
            let pushed_at = entry.checked(false).unwrap().pushed_at.unwrap();
            assert_eq!(pushed_at.to_string(), "2026-03-04T05:06:07Z", "{text}");
        }
    }
}
