//! The entries of the setting `[[sources]]`: the origins of repositories. `code_hosts` checks and lists them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An origin of repositories: organisations on a code host, or a list of addresses. All of them are kept indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSettings {
    /// Names the source in the status and in logs.
    pub name: String,
    /// The API of the host.
    pub kind: SourceKind,
    /// Base URL of the API; by default that of the public host, which Gitea does not have.
    #[serde(default)]
    pub url: Option<String>,
    /// Organisations, users, groups (with their subgroups) or workspaces.
    #[serde(default)]
    pub owners: Vec<String>,
    /// Only repositories with one of these topics; empty: all.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Only repositories that match one of these globs on `owner/name`; empty: all.
    #[serde(default)]
    pub include: Vec<String>,
    /// Excludes repositories that match one of these globs.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Includes forks.
    #[serde(default)]
    pub forks: bool,
    /// Includes archived repositories.
    #[serde(default)]
    pub archived: bool,
    /// A file whose first line is the token of the API.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// The addresses, for the kind `list`.
    #[serde(default)]
    pub repositories: Vec<String>,
    /// The project that gets the repositories, in which `{owner}` and `{repository}` are replaced by the names of each repository, as far
    /// as an id can contain them. Absent: the default workspace.
    #[serde(default)]
    pub project: Option<String>,
    /// Patterns of branches and tags that are indexed beside the default branch; absent: those requested for each repository.
    #[serde(default)]
    pub revisions: Option<Vec<String>>,
    /// The interval between two syncs of the source; 0: synced only by `pairofcleats sources sync`.
    #[serde(default = "an_hour_ms")]
    pub every_ms: u64,
    /// A repository that has been missing on the host for this time is removed from the index.
    #[serde(default = "a_week_ms")]
    pub gone_after_ms: u64,
}

/// The API of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// GitHub, also Enterprise Server.
    Github,
    /// GitLab, also self-managed.
    Gitlab,
    /// Gitea and Forgejo.
    Gitea,
    /// Bitbucket Cloud.
    Bitbucket,
    /// No API: the settings list the repositories.
    List,
}

impl SourceKind {
    /// Returns the kind as it is written in the settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Gitea => "gitea",
            Self::Bitbucket => "bitbucket",
            Self::List => "list",
        }
    }
}

fn an_hour_ms() -> u64 {
    3_600_000
}

fn a_week_ms() -> u64 {
    604_800_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::load::load_text;

    #[test]
    fn only_name_and_kind_are_required_and_unknown_fields_are_refused() {
        let read = |text: &str| serde_json::from_str::<SourceSettings>(text);
        let source = read(r#"{"name": "acme", "kind": "gitlab"}"#).unwrap();
        assert_eq!((source.kind, source.kind.as_str()), (SourceKind::Gitlab, "gitlab"));
        assert!(!source.forks && !source.archived && source.owners.is_empty() && source.url.is_none());
        assert_eq!((source.every_ms, source.gone_after_ms), (3_600_000, 604_800_000));
        for bad in [
            r#"{"name": "acme"}"#,
            r#"{"name": "acme", "kind": "sourceforge"}"#,
            r#"{"name": "acme", "kind": "github", "owner": ["acme"]}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_configuration_file_lists_them() {
        let sources = |text: &str| load_text(text).map(|config: Config| config.sources);
        assert_eq!(sources("").unwrap(), []);
        let both = sources(
            "[server]\nport = 1\n[[sources]]\nname = \"acme\"\nkind = \"github\"\nowners = [\"acme\"]\nproject = \"{owner}\"\n\
             [[sources]]\nname = \"more\"\nkind = \"list\"\nrepositories = [\"https://host/x\"]\nrevisions = [\"v1.*\"]\nevery_ms = 5\n",
        )
        .unwrap();
        assert_eq!((both[0].project.as_deref(), both[0].every_ms), (Some("{owner}"), 3_600_000));
        assert_eq!((both[1].kind, both[1].every_ms), (SourceKind::List, 5));
        assert_eq!((&both[0].revisions, &both[1].revisions), (&None, &Some(vec!["v1.*".to_owned()])));
        let refused =
            sources("[[sources]]\nname = \"acme\"\nkind = \"github\"\nowner = \"acme\"\n").unwrap_err();
        assert!(refused.0.contains("owner"), "{refused}");
    }
}
