//! A code host on loopback that speaks the four APIs: pages, links, validators, and trouble on demand.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use contract::config::SourceKind;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A repository of the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeRepository {
    pub(crate) full_name: String,
    pub(crate) fork: bool,
    pub(crate) archived: bool,
    pub(crate) topics: Vec<&'static str>,
    /// Its address, if it is not on this host.
    pub(crate) clone_url: Option<String>,
    /// When it was last pushed to, in UTC without an offset.
    pub(crate) pushed_at: Option<&'static str>,
}

/// The time of the last push, unless a repository has one of its own.
const PUSHED_AT: &str = "2026-02-03T04:05:06";

impl FakeRepository {
    /// One that is nothing special.
    pub(crate) fn new(full_name: &str) -> Self {
        Self { full_name: full_name.to_owned(), ..Self::default() }
    }
}

/// A request that the host received.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// Path and query.
    pub(crate) target: String,
    pub(crate) authorization: Option<String>,
    pub(crate) if_none_match: Option<String>,
    /// The status that was answered; 0 until then.
    pub(crate) status: u16,
}

impl From<&Request> for Recorded {
    fn from(request: &Request) -> Self {
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        Self {
            target: request.uri().to_string(),
            authorization: header("authorization"),
            if_none_match: header("if-none-match"),
            status: 0,
        }
    }
}

impl Recorded {
    /// The number of the page.
    pub(crate) fn page(&self) -> usize {
        self.query("page").and_then(|page| page.parse().ok()).unwrap_or(1)
    }

    fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns the kind of the requested owner and its name.
    fn owner(&self) -> Option<(bool, String)> {
        let path = self.target.split('?').next().unwrap();
        let path =
            ["/api/v3/", "/api/v4/", "/api/v1/", "/2.0/"].iter().find_map(|root| path.strip_prefix(root))?;
        let (kind, rest) = path.split_once('/')?;
        let owner = rest.trim_end_matches("/repos").trim_end_matches("/projects");
        Some((kind == "users", owner.replace("%2F", "/")))
    }
}

/// A fault of the host.
pub(crate) enum Trouble {
    /// Answers with this status, these headers and this body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Sends a body that never ends.
    Endless,
    /// Never answers.
    Silent,
    /// Answers with the first page, and says that the next one is here.
    Next(String),
    /// Answers with the first page, and says that there are so many repositories.
    Total(usize),
    /// Answers with an empty page that is the last one, although there are more repositories.
    Empty,
}

type MakeTrouble = Box<dyn Fn(&Recorded) -> Option<Trouble> + Send + Sync>;

/// State of the host and its recorded requests.
struct Shared {
    kind: SourceKind,
    url: String,
    /// By whether it is a user, and by name.
    owners: Mutex<HashMap<(bool, String), Vec<FakeRepository>>>,
    page_entries: Mutex<usize>,
    trouble: Mutex<Option<MakeTrouble>>,
    requests: Mutex<Vec<Recorded>>,
}

/// The host, on a port of its own; it stops when it is dropped.
pub(crate) struct FakeHost {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl FakeHost {
    /// A host without owners, whose pages have two entries.
    pub(crate) async fn start(kind: SourceKind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            kind,
            url: url.clone(),
            owners: Mutex::default(),
            page_entries: Mutex::new(2),
            trouble: Mutex::default(),
            requests: Mutex::default(),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    /// A host whose organisation `acme` has `count` repositories: `acme/r0`, `acme/r1` …
    pub(crate) async fn with_acme(kind: SourceKind, count: usize) -> Self {
        let host = Self::start(kind).await;
        let repositories = (0..count).map(|number| FakeRepository::new(&format!("acme/r{number}")));
        host.set_organisation("acme", repositories.collect());
        host
    }

    pub(crate) fn kind(&self) -> SourceKind {
        self.shared.kind
    }

    pub(crate) fn set_organisation(&self, name: &str, repositories: Vec<FakeRepository>) {
        self.shared.owners.lock().unwrap().insert((false, name.to_owned()), repositories);
    }

    pub(crate) fn set_user(&self, name: &str, repositories: Vec<FakeRepository>) {
        self.shared.owners.lock().unwrap().insert((true, name.to_owned()), repositories);
    }

    pub(crate) fn set_page_entries(&self, entries: usize) {
        *self.shared.page_entries.lock().unwrap() = entries;
    }

    /// Makes trouble with the requests for which `make` says so.
    pub(crate) fn make_trouble(&self, make: impl Fn(&Recorded) -> Option<Trouble> + Send + Sync + 'static) {
        *self.shared.trouble.lock().unwrap() = Some(Box::new(make));
    }

    /// Behaves from now on.
    pub(crate) fn end_trouble(&self) {
        *self.shared.trouble.lock().unwrap() = None;
    }

    /// The requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.shared.requests.lock().unwrap())
    }
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A response; its status is recorded.
fn response(status: u16, headers: &[(&'static str, String)], body: Body) -> Response {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, value);
    }
    builder.body(body).unwrap()
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let mut recorded = Recorded::from(&request);
    let trouble = shared.trouble.lock().unwrap().as_ref().and_then(|make| make(&recorded));
    let response = match trouble {
        Some(Trouble::Silent) => std::future::pending::<Response>().await,
        Some(Trouble::Endless) => {
            let spaces = futures::stream::repeat_with(|| Ok::<_, Infallible>(vec![b' '; 8192]));
            response(200, &[], Body::from_stream(spaces))
        }
        Some(Trouble::Answer(status, headers, body)) => response(status, &headers, Body::from(body)),
        other => page(&shared, &recorded, other),
    };
    recorded.status = response.status().as_u16();
    shared.requests.lock().unwrap().push(recorded);
    response
}

/// The page that was asked for; with a false next page or a false total, the first page.
fn page(shared: &Shared, request: &Recorded, trouble: Option<Trouble>) -> Response {
    let (false_next, false_total, ends_early) = match trouble {
        Some(Trouble::Next(next)) => (Some(next), None, false),
        Some(Trouble::Total(total)) => (None, Some(total), false),
        Some(Trouble::Empty) => (None, None, true),
        _ => (None, None, false),
    };
    let found = request.owner().and_then(|owner| shared.owners.lock().unwrap().get(&owner).cloned());
    let Some(mut repositories) = found else {
        return response(404, &[], Body::from(json!({ "message": "Not Found" }).to_string()));
    };
    // As GitLab does.
    if request.query("archived") == Some("false") {
        repositories.retain(|repository| !repository.archived);
    }
    let is_false = false_next.is_some() || false_total.is_some();
    let (number, size) = (if is_false { 1 } else { request.page() }, *shared.page_entries.lock().unwrap());
    let entries: Vec<Value> = repositories
        .iter()
        .skip((number - 1) * size)
        .take(if ends_early { 0 } else { size })
        .map(|repository| entry(shared, repository))
        .collect();
    let own_next = (number * size < repositories.len()).then(|| with_page(shared, request, number + 1));
    let next = false_next.or(own_next.filter(|_| !is_false && !ends_early));
    let total = false_total.unwrap_or(repositories.len());
    let mut headers = vec![("content-type", "application/json".to_owned())];
    let body = match shared.kind {
        SourceKind::Bitbucket => json!({ "values": entries, "pagelen": size, "size": total, "next": next }),
        SourceKind::Gitea => {
            headers.push(("x-total-count", total.to_string()));
            // Gitea's links name its public address, which need not be reachable.
            headers.push(("link", "<https://public.example/>; rel=\"next\"".to_owned()));
            Value::from(entries)
        }
        kind => {
            if kind == SourceKind::Gitlab {
                headers.push(("x-total", total.to_string()));
            }
            headers
                .extend(next.map(|next| ("link", format!("<{next}>; rel=\"next\", <{next}>; rel=\"last\""))));
            Value::from(entries)
        }
    };
    let body = body.to_string();
    let etag = format!("W/\"{}\"", blake3::hash(body.as_bytes()).to_hex());
    if request.if_none_match.as_ref() == Some(&etag) {
        return response(304, &[("etag", etag)], Body::empty());
    }
    headers.push(("etag", etag));
    response(200, &headers, Body::from(body))
}

/// The address of another page of the same list.
fn with_page(shared: &Shared, request: &Recorded, number: usize) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((request.target.as_str(), ""));
    let others: String =
        query.split('&').filter(|pair| !pair.starts_with("page=")).map(|pair| format!("{pair}&")).collect();
    format!("{}{path}?{others}page={number}", shared.url)
}

/// A repository as this kind of host describes it.
fn entry(shared: &Shared, repository: &FakeRepository) -> Value {
    let FakeRepository { full_name, fork, archived, topics, clone_url, pushed_at } = repository;
    let clone_url = clone_url.clone().unwrap_or_else(|| format!("{}/{full_name}.git", shared.url));
    let pushed_at = pushed_at.unwrap_or(PUSHED_AT);
    match shared.kind {
        SourceKind::Github => json!({
            "full_name": full_name, "clone_url": clone_url, "default_branch": "main", "fork": fork, "archived": archived,
            "topics": topics, "size": 12, "pushed_at": format!("{pushed_at}Z"), "private": true, "license": null,
        }),
        SourceKind::Gitlab => json!({
            "path_with_namespace": full_name, "http_url_to_repo": clone_url, "default_branch": "main",
            "forked_from_project": fork.then(|| json!({ "id": 1 })), "archived": archived, "topics": topics,
            "last_activity_at": format!("{pushed_at}.000Z"),
        }),
        SourceKind::Gitea => json!({
            "full_name": full_name, "clone_url": clone_url, "default_branch": "main", "fork": fork, "archived": archived,
            "topics": topics, "size": 12, "updated_at": format!("{pushed_at}+00:00"),
        }),
        SourceKind::Bitbucket => json!({
            "full_name": full_name, "mainbranch": { "name": "main" }, "size": 12_288,
            "parent": fork.then(|| json!({ "full_name": "other/x" })), "updated_on": format!("{pushed_at}.000000+00:00"),
            "links": { "clone": [
                { "name": "https", "href": clone_url.replace("http://", "http://robot@") },
                { "name": "ssh", "href": format!("git@127.0.0.1:{full_name}.git") },
            ] },
        }),
        SourceKind::List => panic!("a list has no host"),
    }
}
