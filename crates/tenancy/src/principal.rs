//! The authenticated caller of a request: its scopes and projects.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use contract::{ErrorCode, Fault, ProjectId};

/// A permission for one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Searching and reading indexed files.
    Search,
    /// Building and refreshing indexes, which creates projects.
    Index,
    /// Security findings and decisions.
    Triage,
    /// Keys, maintenance, metrics.
    Admin,
    /// Reading the instruction catalog, reviewing prompts, counting uses.
    Instructions,
    /// Writing the instruction catalog.
    Curate,
    /// Launch runs, except for publishing them.
    Launch,
    /// Publishing launch runs: what others see.
    Publish,
}

impl Scope {
    /// All scopes, for parsing and enumerating. Never grants anything: each grant lists its scopes by name.
    pub const ALL: [Self; 8] = [
        Self::Search,
        Self::Index,
        Self::Triage,
        Self::Admin,
        Self::Instructions,
        Self::Curate,
        Self::Launch,
        Self::Publish,
    ];

    /// Its name in keys, tokens and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Index => "index",
            Self::Triage => "triage",
            Self::Admin => "admin",
            Self::Instructions => "instructions",
            Self::Curate => "curate",
            Self::Launch => "launch",
            Self::Publish => "publish",
        }
    }

    /// The scope with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The scopes of the operator on this machine. A new scope is added here by hand if the operator should have it without a key.
const OPERATOR_SCOPES: [Scope; 8] = [
    Scope::Search,
    Scope::Index,
    Scope::Triage,
    Scope::Admin,
    Scope::Instructions,
    Scope::Curate,
    Scope::Launch,
    Scope::Publish,
];

/// The scopes of every caller of a server without keys. No new scope is added: it needs a key.
const ANONYMOUS_SCOPES: [Scope; 4] = [Scope::Search, Scope::Index, Scope::Triage, Scope::Admin];

/// The projects a principal may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projects {
    /// Every project, also those that are created later.
    All,
    /// Only these; the default workspace is one of them only if it is named.
    Only(BTreeSet<ProjectId>),
}

impl Projects {
    /// Returns `true` if `id` is one of them.
    #[must_use]
    pub fn contains(&self, id: &ProjectId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// The caller. Each surface builds it anew for each request; sessions never store it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Stable and unique: `local`, `key:<id>`, `oauth:<issuer>#<subject>`. Sessions and rate limits are per id.
    pub id: String,
    /// The name in logs and in the audit table.
    pub name: String,
    /// The projects it may use.
    pub projects: Projects,
    /// Its permissions.
    pub scopes: BTreeSet<Scope>,
    /// Maximum calls per minute; `None` for the server's limit.
    pub calls_per_minute: Option<u32>,
    /// Directories that it may index, within those of the project; `None` for all of them.
    pub roots: Option<Vec<PathBuf>>,
    /// True for the operator on this machine: the command line, stdio, and loopback without keys.
    pub is_local: bool,
}

impl Principal {
    /// The operator on this machine. Everything is allowed, because the operator can read the files anyway.
    #[must_use]
    pub fn local() -> Self {
        Self {
            id: "local".to_owned(),
            name: "local".to_owned(),
            projects: Projects::All,
            scopes: OPERATOR_SCOPES.into(),
            calls_per_minute: None,
            roots: None,
            is_local: true,
        }
    }

    /// A caller without a key, on a server that is open to the network (`access.insecure`). Has all scopes, but is not
    /// the operator.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            id: "anonymous".to_owned(),
            name: "anonymous".to_owned(),
            scopes: ANONYMOUS_SCOPES.into(),
            is_local: false,
            ..Self::local()
        }
    }

    /// A caller without a key, on routes that do not need one. Has no scopes and no projects.
    #[must_use]
    pub fn unauthenticated() -> Self {
        let projects = Projects::Only(BTreeSet::new());
        Self {
            id: "nobody".to_owned(),
            name: "nobody".to_owned(),
            projects,
            scopes: BTreeSet::new(),
            ..Self::anonymous()
        }
    }

    /// Returns `true` if it has this scope.
    #[must_use]
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Returns `true` if it may use this project.
    #[must_use]
    pub fn may_use(&self, id: &ProjectId) -> bool {
        self.projects.contains(id)
    }

    /// Says whether it is the same principal as `earlier` was, and may do all that it could.
    #[must_use]
    pub fn covers(&self, earlier: &Self) -> bool {
        let has_projects = match (&self.projects, &earlier.projects) {
            (Projects::All, _) => true,
            (Projects::Only(_), Projects::All) => false,
            (Projects::Only(now), Projects::Only(before)) => now.is_superset(before),
        };
        self.id == earlier.id && has_projects && self.scopes.is_superset(&earlier.scopes)
    }

    /// Returns `true` if it may change what all projects share, such as models, and refer to files on this machine.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.is_local || (self.has_scope(Scope::Admin) && self.projects == Projects::All)
    }

    /// Returns `true` if its identity is known, so that what outlives the request, such as a key, has an author.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.is_local || self.id.contains(':')
    }

    /// The fault for writing into a project that this principal may not use; the same whether the project exists or not.
    #[must_use]
    pub fn project_forbidden(&self, id: &ProjectId) -> Fault {
        let fault = Fault::new(ErrorCode::Forbidden, format!("Your key may not use the project `{id}`."));
        fault.with_hint(self.project_hint())
    }

    /// A hint that names the projects it may use, and no others.
    #[must_use]
    pub fn project_hint(&self) -> String {
        match &self.projects {
            Projects::All => {
                "`workspace_status` (`pairofcleats projects`) lists the projects; `build_index` (`pairofcleats index PATH`) \
                 indexes a repository."
                    .to_owned()
            }
            Projects::Only(ids) if ids.is_empty() => {
                "Your key has no project; ask the operator for one.".to_owned()
            }
            Projects::Only(ids) => {
                let ids: Vec<&str> = ids.iter().map(ProjectId::as_str).collect();
                format!(
                    "Pass one of your key's projects as project_id ({}), and index into it first with `build_index`.",
                    ids.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_workspace_must_be_named_like_any_other() {
        let ids = BTreeSet::from([ProjectId::parse("client-a").unwrap()]);
        let principal = Principal { projects: Projects::Only(ids), ..Principal::local() };
        assert!(principal.may_use(&ProjectId::parse("client-a").unwrap()));
        assert!(!principal.may_use(&ProjectId::default_workspace()));
        assert!(principal.project_hint().contains("client-a"));
    }

    #[test]
    fn a_principal_that_lost_something_does_not_cover_what_it_was() {
        let project = |id: &str| ProjectId::parse(id).unwrap();
        let only = |ids: &[&str]| Projects::Only(ids.iter().map(|id| project(id)).collect());
        let before = Principal { projects: only(&["a", "b"]), ..Principal::local() };
        let covers = |now: Principal| now.covers(&before);
        assert!(covers(before.clone()) && covers(Principal::local()));
        assert!(!covers(Principal { projects: only(&["a", "c"]), ..Principal::local() }));
        assert!(!covers(Principal { scopes: BTreeSet::from([Scope::Search]), ..before.clone() }));
        assert!(!covers(Principal { id: "other".into(), ..before.clone() }));
        assert!(!before.covers(&Principal::local()), "it had all projects");
    }

    #[test]
    fn principals_without_a_key_have_the_listed_scopes() {
        let listed = BTreeSet::from([Scope::Search, Scope::Index, Scope::Triage, Scope::Admin]);
        assert_eq!(Principal::anonymous().scopes, listed);
        let named = [Scope::Instructions, Scope::Curate, Scope::Launch, Scope::Publish];
        assert_eq!(Principal::local().scopes, &listed | &BTreeSet::from(named));
        assert_eq!(Principal::unauthenticated().scopes, BTreeSet::new());
        assert!(Principal::local().is_identified() && !Principal::anonymous().is_identified());
    }

    #[test]
    fn scopes_are_parsed_from_their_names() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(Scope::parse("Search"), None);
    }
}
