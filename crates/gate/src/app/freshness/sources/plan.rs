//! The plan made from a listing: which repositories go into which projects, and which of them may be fetched at all.

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
    /// The time of the last push, if the host reports it.
    pub(super) pushed_ms: Option<i64>,
}

/// The plan made from a listing; each repository once for a project.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) wanted: Vec<Wanted>,
    /// Those that the lists of directories and addresses do not allow.
    pub(super) refused: Vec<SourceRepository>,
    /// Number of repositories whose address cannot be used, or whose names cannot become the id of a project.
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
