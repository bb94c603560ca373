//! What a listing asks for: which repositories, into which projects, and which of them may be fetched at all.

use std::collections::HashSet;

use super::super::RepositoryKey;
use code_hosts::{RemoteRepository, Source};
use contract::RepositoryAddress;
use contract::config::Indexing;
use store::SourceRepository;
use tenancy::AllowedRoots;

/// A listed repository that may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) repository: SourceRepository,
    /// When it was last pushed to, if the host says so.
    pub(super) pushed_ms: Option<i64>,
}

/// What a listing asks for; each repository once for a project.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) wanted: Vec<Wanted>,
    /// Those that the lists of directories and addresses do not allow.
    pub(super) refused: Vec<SourceRepository>,
    /// How many have an address that cannot be used, or names of which no id of a project can be made.
    pub(super) unusable: usize,
}

impl Plan {
    pub(super) fn of(settings: &Indexing, source: &Source, listed: &[RemoteRepository]) -> Self {
        let (mut plan, mut known) = (Self::default(), HashSet::new());
        for remote in listed {
            let address = RepositoryAddress::parse(&remote.clone_url).and_then(Result::ok);
            let (Some(address), Some(project_id)) = (address, source.project(remote)) else {
                plan.unusable += 1;
                continue;
            };
            let repository = SourceRepository { address: address.as_str().to_owned(), project_id };
            if !known.insert(repository.clone()) {
                continue;
            }
            let allowed = AllowedRoots::for_project(settings, &repository.project_id);
            if allowed.check(repository.address.as_ref()).is_err() {
                plan.refused.push(repository);
                continue;
            }
            let pushed_ms = remote.pushed_at.map(|pushed_at| pushed_at.as_millisecond());
            plan.wanted.push(Wanted { repository, pushed_ms });
        }
        plan
    }

    /// All that the host has, whether it may be fetched or not.
    pub(super) fn listed(&self) -> Vec<SourceRepository> {
        let wanted = self.wanted.iter().map(|wanted| &wanted.repository);
        wanted.chain(&self.refused).cloned().collect()
    }
}

impl From<&SourceRepository> for RepositoryKey {
    fn from(SourceRepository { address, project_id }: &SourceRepository) -> Self {
        Self { project: project_id.clone(), root: address.into() }
    }
}
