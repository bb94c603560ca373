//! Who calls, and what they may do: projects × scopes.

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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Search, Self::Index, Self::Triage, Self::Admin];

    /// As keys, tokens and answers name it.
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

/// Who calls. Made by the surface for each request, never kept with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Stable and unique: `local`, `key:<id>`, `oauth:<issuer>#<subject>`. Owns sessions, counts against limits.
    pub id: String,
    /// For people and the audit table.
    pub name: String,
    /// Where it may work.
    pub projects: Projects,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// Calls a minute; None takes the server's own limit.
    pub calls_per_minute: Option<u32>,
    /// Directories to which indexing is narrowed further; None: those of the project.
    pub roots: Option<Vec<PathBuf>>,
    /// Works on this machine as the operator: the command line, stdio, and loopback without keys.
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
            scopes: Scope::ALL.into(),
            calls_per_minute: None,
            roots: None,
            is_local: true,
        }
    }

    /// Whoever reaches a server that was opened to the network without keys: may do everything, as the operator
    /// wanted, but is not the operator.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { id: "anonymous".to_owned(), name: "anonymous".to_owned(), is_local: false, ..Self::local() }
    }

    /// Whoever asks for what needs no key; may do nothing else.
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

    /// Whether it speaks for the whole installation: only then may it change what all projects share, such as
    /// models, or name files of this machine.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.is_local || (self.may(Scope::Admin) && self.projects == Projects::All)
    }

    /// The answer to writing into a project that is not this principal's; the same whether it exists or not.
    #[must_use]
    pub fn refused(&self, id: &ProjectId) -> Fault {
        let fault = Fault::new(ErrorCode::Forbidden, format!("Your key may not use the project `{id}`."));
        fault.with_hint(self.hint())
    }

    /// What the principal itself may know of where it may work.
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
    fn scopes_read_as_they_are_written() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(Scope::parse("Search"), None);
    }
}
