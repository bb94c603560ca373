//! A git host on loopback for tests that fetch repositories by URL: it serves bare repositories by git's smart HTTP protocol,
//! through `git http-backend`, and fails on request. Beside it, a repository that is fetched by the URL of a file.

mod bare;
mod cgi;
mod faults;
mod http;
mod program;
mod repository;
mod tests;
mod trees;

pub(crate) use bare::BareRepository;
pub(crate) use faults::Faults;
pub(crate) use http::SeenRequest;
pub(crate) use repository::HostedRepository;
pub(crate) use trees::TreeEntry;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncWriteExt, BufReader, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use faults::Plan;
use http::{Answer, FixedAnswer, Request};

/// Answer to every request on a network that requires people to sign in.
const PAGE: &str = "<!DOCTYPE html><title>Sign in</title><p>Please sign in to use this network.</p>\n";

/// The host, on a free port; when it is dropped, it stops, with the programs that it started.
pub(crate) struct GitHost {
    state: Arc<State>,
    task: JoinHandle<()>,
}

/// State shared by the host, its connections and its repositories.
struct State {
    url: String,
    folder: TempDir,
    /// The faults of all repositories.
    faults: Faults,
    /// The faults of single repositories, by name.
    faults_by_name: Mutex<BTreeMap<String, Faults>>,
    requests: Mutex<Vec<SeenRequest>>,
}

impl GitHost {
    /// Starts a host without repositories.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = Arc::new(State {
            url: format!("http://{}", listener.local_addr().unwrap()),
            folder: tempfile::tempdir().unwrap(),
            faults: Faults::default(),
            faults_by_name: Mutex::default(),
            requests: Mutex::default(),
        });
        fs::create_dir(state.repositories()).unwrap();
        fs::create_dir(state.home()).unwrap();
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                while connections.try_join_next().is_some() {}
                let state = Arc::clone(&shared);
                connections.spawn(async move {
                    // Some tests disconnect during the answer.
                    let _ = serve(stream, &state).await;
                });
            }
        });
        Self { state, task }
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn url(&self) -> &str {
        &self.state.url
    }

    /// Creates the empty repository `owner/name`, with `main` as its default branch.
    pub(crate) fn repository(&self, name: &str) -> HostedRepository {
        HostedRepository::create(&self.state, name)
    }

    /// The faults of all repositories; those of a single one are [`HostedRepository::faults`].
    pub(crate) fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// The requests so far, in order, also those that were refused or not answered.
    pub(crate) fn requests(&self) -> Vec<SeenRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Forgets the requests so far.
    pub(crate) fn forget_requests(&self) {
        self.state.requests.lock().unwrap().clear();
    }
}

impl Drop for GitHost {
    fn drop(&mut self) {
        // This drops the connections too, and with them the programs that answer.
        self.task.abort();
    }
}

impl State {
    /// The folder that is served.
    fn repositories(&self) -> PathBuf {
        self.folder.path().join("repositories")
    }

    /// The home of the git programs, always empty.
    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The faults of one repository, which need not exist.
    fn faults_of(&self, name: &str) -> Faults {
        self.faults_by_name.lock().unwrap().entry(name.to_owned()).or_default().clone()
    }

    /// Returns the answer that the host gives without asking git, if any.
    fn fixed_answer(&self, request: &Request, own: &Faults, plan: &Plan) -> Option<FixedAnswer> {
        let authorization = request.header("authorization");
        if ![own, &self.faults].iter().all(|faults| faults.admit(authorization)) {
            let challenge = ("WWW-Authenticate", "Basic realm=\"Git host\", charset=\"UTF-8\"".to_owned());
            return Some(FixedAnswer::new(401, challenge, "Sign in.\n"));
        }
        let (_, rest) = request.repository();
        let of_repository = own.plan().redirect.map(|url| format!("{url}{rest}"));
        let of_host = || self.faults.plan().redirect.map(|url| format!("{url}{}", request.target()));
        if let Some(location) = of_repository.or_else(of_host) {
            return Some(FixedAnswer::new(302, ("Location", location), ""));
        }
        if let Some(status) = plan.status {
            let plain = ("Content-Type", "text/plain".to_owned());
            return Some(FixedAnswer::new(status, plain, "The host always answers like this.\n"));
        }
        plan.is_garbage.then(|| FixedAnswer::new(200, ("Content-Type", "text/html".to_owned()), PAGE))
    }
}

/// Answers the one request of a connection.
async fn serve(mut stream: TcpStream, state: &State) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    let request = Request::read(&mut reader).await?;
    state.requests.lock().unwrap().push(request.seen());
    let own = state.faults_of(&request.repository().0);
    let plan = own.plan().or(state.faults.plan());
    if let Some(delay) = plan.delay {
        tokio::time::sleep(delay).await;
    }
    if request.header("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let fixed = state.fixed_answer(&request, &own, &plan);
    let mut answer = Answer::new(writer, &request, &plan);
    match fixed {
        Some(fixed) => {
            // A client reads the answer only when its request was read.
            request.copy_body(&mut reader, &mut sink()).await?;
            answer.send(&fixed).await
        }
        None => cgi::answer(state, &request, &mut reader, &mut answer).await,
    }
}
