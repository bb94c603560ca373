//! The caller of a request, and what it may do: scopes, in projects.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use contract::{ErrorCode, Fault, ProjectId};

/// A kind of work that a principal may be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Questions and reading what is indexed.
    Search,
    /// Building and refreshing indexes; makes projects.
    Index,
    /// Security findings and decisions.
    Triage,
    /// Keys, upkeep, metrics.
    Admin,
}

impl Scope {
    /// All of them, for reading and for telling which there are. Nobody is given what this holds: who gets a scope says so by
    /// its name.
    pub const ALL: [Self; 4] = [Self::Search, Self::Index, Self::Triage, Self::Admin];

    /// The name in keys, tokens and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Index => "index",
            Self::Triage => "triage",
            Self::Admin => "admin",
        }
    }

    /// The scope of that name.
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

/// What the operator on this machine may do. A scope that is added later is added here by hand, where the operator is meant to
/// have it without a key.
const OF_THE_OPERATOR: [Scope; 4] = [Scope::Search, Scope::Index, Scope::Triage, Scope::Admin];

/// What everybody may do whom a server without keys lets in. No scope is added: what writes for others or publishes needs a key.
const OF_ANYBODY: [Scope; 4] = [Scope::Search, Scope::Index, Scope::Triage, Scope::Admin];

/// The projects a principal may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projects {
    /// Every project, also those that are made later.
    All,
    /// Only these; the default workspace is one of them only if it is named.
    These(BTreeSet<ProjectId>),
}

impl Projects {
    /// Whether `id` is one of them.
    #[must_use]
    pub fn allow(&self, id: &ProjectId) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(id),
        }
    }
}

/// The caller. Each surface makes it for each request; it is never kept with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Stable and unique: `local`, `key:<id>`, `oauth:<issuer>#<subject>`. Sessions and rate limits are per id.
    pub id: String,
    /// The name that people and the audit table see.
    pub name: String,
    /// The projects it may use.
    pub projects: Projects,
    /// The kinds of work it may do.
    pub scopes: BTreeSet<Scope>,
    /// Calls per minute; `None`: the server's limit.
    pub calls_per_minute: Option<u32>,
    /// Directories that it may index, within those of the project; `None`: all of these.
    pub roots: Option<Vec<PathBuf>>,
    /// True for the operator on this machine: the command line, stdio, and loopback without keys.
    pub is_local: bool,
}

impl Principal {
    /// The operator on this machine: everything is allowed, because the files are theirs anyway.
    #[must_use]
    pub fn local() -> Self {
        Self {
            id: "local".to_owned(),
            name: "local".to_owned(),
            projects: Projects::All,
            scopes: OF_THE_OPERATOR.into(),
            calls_per_minute: None,
            roots: None,
            is_local: true,
        }
    }

    /// A caller of a server that is open to the network without keys (`access.insecure`): may do what the operator allowed
    /// everybody, but is not the operator.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            id: "anonymous".to_owned(),
            name: "anonymous".to_owned(),
            scopes: OF_ANYBODY.into(),
            is_local: false,
            ..Self::local()
        }
    }

    /// A caller without a key, on routes that need none; may do nothing else.
    #[must_use]
    pub fn nobody() -> Self {
        let projects = Projects::These(BTreeSet::new());
        Self {
            id: "nobody".to_owned(),
            name: "nobody".to_owned(),
            projects,
            scopes: BTreeSet::new(),
            ..Self::anonymous()
        }
    }

    /// Whether it may do work of this kind.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether it may use this project.
    #[must_use]
    pub fn may_use(&self, id: &ProjectId) -> bool {
        self.projects.allow(id)
    }

    /// Whether it may change what all projects share, such as models, and name files of this machine.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.is_local || (self.may(Scope::Admin) && self.projects == Projects::All)
    }

    /// The fault for writing into a project that this principal may not use; the same whether it exists or not.
    #[must_use]
    pub fn refused(&self, id: &ProjectId) -> Fault {
        let fault = Fault::new(ErrorCode::Forbidden, format!("Your key may not use the project `{id}`."));
        fault.with_hint(self.hint())
    }

    /// A hint which projects it may use, without naming others.
    #[must_use]
    pub fn hint(&self) -> String {
        match &self.projects {
            Projects::All => {
                "Index a repository first: the tool `build_index`, or `pairofcleats index PATH`.".to_owned()
            }
            Projects::These(ids) if ids.is_empty() => {
                "Your key has no project; ask the operator for one.".to_owned()
            }
            Projects::These(ids) => {
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
    fn the_default_workspace_is_no_exception() {
        let ids = BTreeSet::from([ProjectId::parse("client-a").unwrap()]);
        let principal = Principal { projects: Projects::These(ids), ..Principal::local() };
        assert!(principal.may_use(&ProjectId::parse("client-a").unwrap()));
        assert!(!principal.may_use(&ProjectId::default_workspace()));
        assert!(principal.hint().contains("client-a"));
    }

    #[test]
    fn who_has_no_key_has_the_scopes_that_are_named() {
        let named = BTreeSet::from([Scope::Search, Scope::Index, Scope::Triage, Scope::Admin]);
        assert_eq!((Principal::local().scopes, Principal::anonymous().scopes), (named.clone(), named));
        assert_eq!(Principal::nobody().scopes, BTreeSet::new());
    }

    #[test]
    fn scopes_read_as_they_are_written() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(Scope::parse("Search"), None);
    }
}
