//! Settings, repositories and answers for unit tests.

use contract::config::{ForgeKind, LaunchForge, SourceSettings};
use platform::outbound::{Answer, Url};

use crate::host::{CodeHost, Page, Received};
use crate::repository::RemoteRepository;

/// Settings of a source of this kind with the owner `acme`.
pub(crate) fn settings(kind: &str) -> SourceSettings {
    serde_json::from_value(serde_json::json!({ "name": "acme", "kind": kind, "owners": ["acme"] })).unwrap()
}

/// A forge named `hub`, which takes repositories of `acme`.
pub(crate) fn forge(kind: ForgeKind) -> LaunchForge {
    LaunchForge {
        name: "hub".to_owned(),
        kind,
        api: "https://forge.example/api".to_owned(),
        token_file: "/run/secrets/forge".into(),
        owners: vec!["acme".to_owned()],
        redirect_hosts: Vec::new(),
        read_only: false,
    }
}

/// A repository with this name.
pub(crate) fn repository(full_name: &str) -> RemoteRepository {
    RemoteRepository {
        full_name: full_name.to_owned(),
        clone_url: format!("https://git.example/{full_name}.git"),
        is_fork: false,
        is_archived: false,
        topics: Vec::new(),
        pushed_at: None,
    }
}

/// An answer with this status and these headers.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Answer { status, headers, body: body.as_bytes().to_vec() }
}

/// Returns the result of `host`, whose API is at `root`, for this answer to `url`.
pub(crate) fn read(
    host: &dyn CodeHost,
    (root, url): (&str, &str),
    entries_before: usize,
    answer: &Answer,
) -> Result<Page, String> {
    let (root, url) = (Url::parse(root).unwrap(), Url::parse(url).unwrap());
    host.read(&Received { url: &url, root: &root, answer, entries_before })
}

/// The names of the repositories on a page.
pub(crate) fn names(page: &Page) -> Vec<&str> {
    page.repositories.iter().map(|repository| repository.full_name.as_str()).collect()
}
