//! Sources: the repositories of organisations as code hosts list them, from hosts that behave and from hosts that do not, and how
//! they are kept indexed.

mod caching;
mod fake_host;
mod hostile;
mod listing;
mod rates;
mod sync;
mod tokens;

use std::sync::Arc;

use code_hosts::{Limits, ListError, Lister, Listing, PageCache, Source};
use contract::Fault;
use contract::clock::SystemClock;
use contract::config::{SourceKind, SourceSettings};

use fake_host::FakeHost;

/// The kinds that have an API.
const KINDS: [SourceKind; 4] =
    [SourceKind::Github, SourceKind::Gitlab, SourceKind::Gitea, SourceKind::Bitbucket];

/// Settings of a source on this host.
fn settings(host: &FakeHost, owners: &[&str]) -> SourceSettings {
    SourceSettings {
        name: "acme".to_owned(),
        kind: host.kind(),
        url: Some(host.url.clone()),
        owners: owners.iter().map(|&owner| owner.to_owned()).collect(),
        topics: Vec::new(),
        include: Vec::new(),
        exclude: Vec::new(),
        forks: false,
        archived: false,
        token_file: None,
        repositories: Vec::new(),
        project: None,
        revisions: None,
        every_ms: 3_600_000,
        gone_after_ms: 604_800_000,
    }
}

/// The owner `acme` on this host.
fn source(host: &FakeHost) -> Source {
    Source::new(&settings(host, &["acme"])).unwrap()
}

fn lister(limits: Limits) -> Lister {
    Lister::new(limits, Arc::new(SystemClock)).unwrap()
}

/// Lists a source for the first time.
async fn list(source: &Source, limits: Limits) -> Result<Listing, ListError> {
    lister(limits).list(source, &mut PageCache::default()).await
}

/// Lists a source, which must succeed.
async fn listed(source: &Source) -> Listing {
    list(source, Limits::default()).await.unwrap()
}

/// Lists a source, which must fail for good.
async fn refused(source: &Source) -> Fault {
    match list(source, Limits::default()).await {
        Err(ListError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.repositories.iter().map(|repository| repository.full_name.as_str()).collect()
}
