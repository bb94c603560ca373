//! A forge on loopback that speaks the APIs of GitHub and GitLab over a real bare repository, in which git itself makes every tree and
//! commit. It records what it is asked, and makes trouble on demand.

mod github;
mod gitlab;

use std::convert::Infallible;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::config::{ForgeKind, LaunchForge};
use futures::StreamExt as _;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::harness::{git, git_output};

/// The repository of the forge.
pub(crate) const REPO: &str = "acme/site";
/// The commit id of a branch that does not exist yet.
const NOTHING: &str = "0000000000000000000000000000000000000000";

/// A request that the forge received.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Recorded {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns `true` if it is a POST whose path ends so.
    pub(crate) fn posts(&self, path: &str) -> bool {
        self.method == "POST" && self.target.ends_with(path)
    }

    /// The decoded segments of the path below the API.
    fn segments(&self) -> Vec<String> {
        let path =
            self.target.split('?').next().unwrap().trim_start_matches("/api/v4").trim_start_matches('/');
        path.split('/').map(|part| percent_decode_str(part).decode_utf8().unwrap().into_owned()).collect()
    }

    fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(percent_decode_str(value).decode_utf8().unwrap().into_owned())
    }

    fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }
}

/// A fault of the forge.
pub(crate) enum Trouble {
    /// Answers with this status, these headers and this body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Does what it is asked, and answers that it failed.
    Lost,
    /// Never answers.
    Silent,
    /// Sends a byte a second.
    Trickle,
    /// Sends 100 MB.
    Flood,
}

type MakeTrouble = Box<dyn Fn(&Recorded) -> Option<Trouble> + Send + Sync>;

/// A status, headers and a body.
type Reply = (u16, Vec<(&'static str, String)>, Value);

/// A pull request of the forge.
#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) branch: String,
    pub(crate) base: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// The commit of the branch when it was opened.
    commit: String,
    /// `true` if the branch is in a fork.
    is_of_fork: bool,
}

impl Pull {
    /// One that a request asks for, with the names that its fields have on a host.
    fn asked_for(request: &Recorded, [branch, base, text]: [&str; 3]) -> Self {
        Self {
            branch: request.text(branch).to_owned(),
            base: request.text(base).to_owned(),
            title: request.text("title").to_owned(),
            text: request.text(text).to_owned(),
            commit: String::new(),
            is_of_fork: false,
        }
    }
}

struct Shared {
    kind: ForgeKind,
    url: String,
    folder: TempDir,
    token: String,
    pulls: Mutex<Vec<Pull>>,
    indexes: AtomicUsize,
    trouble: Mutex<Option<MakeTrouble>>,
    requests: Mutex<Vec<Recorded>>,
}

/// The forge, on a port of its own; it stops when it is dropped.
pub(crate) struct FakeForge {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl FakeForge {
    /// A forge whose repository is empty.
    pub(crate) async fn start(kind: ForgeKind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let beginning = match kind {
            ForgeKind::Github => "ghp_",
            ForgeKind::Gitlab => "glpat-",
        };
        // Made here, so that scanners do not take it for a real one.
        let token = format!("{beginning}{}", "t0k3n".repeat(7));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), format!("{token}\n")).unwrap();
        git(folder.path(), &["init", "--quiet", "--bare", "--initial-branch=main", "site.git"]);
        let shared = Arc::new(Shared {
            kind,
            url,
            folder,
            token,
            pulls: Mutex::default(),
            indexes: AtomicUsize::new(0),
            trouble: Mutex::default(),
            requests: Mutex::default(),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, task }
    }

    /// The settings that name it.
    pub(crate) fn settings(&self) -> LaunchForge {
        let root = match self.shared.kind {
            ForgeKind::Github => "",
            ForgeKind::Gitlab => "/api/v4",
        };
        LaunchForge {
            name: "hub".to_owned(),
            kind: self.shared.kind,
            api: format!("{}{root}", self.shared.url),
            token_file: self.token_file(),
            owners: vec!["acme".to_owned()],
            redirect_hosts: Vec::new(),
            read_only: false,
        }
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn url(&self) -> &str {
        &self.shared.url
    }

    pub(crate) fn token(&self) -> &str {
        &self.shared.token
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.shared.folder.path().join("token")
    }

    /// Its bare repository.
    pub(crate) fn repository(&self) -> PathBuf {
        self.shared.repository()
    }

    /// Takes the main branch of another repository.
    pub(crate) fn receive(&self, site: &Path) {
        git(
            &self.repository(),
            &["fetch", "--quiet", site.to_str().unwrap(), "+refs/heads/main:refs/heads/main"],
        );
    }

    /// Runs git in its repository and returns the output.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_output(&self.repository(), arguments)
    }

    /// The branches beside `main`.
    pub(crate) fn branches(&self) -> Vec<String> {
        let all = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        all.lines().filter(|name| *name != "main").map(str::to_owned).collect()
    }

    pub(crate) fn pulls(&self) -> Vec<Pull> {
        self.shared.pulls.lock().unwrap().clone()
    }

    /// Opens a pull request for a branch of this name in a fork.
    pub(crate) fn open_pull_of_fork(&self, branch: &str) {
        self.shared.pulls.lock().unwrap().push(Pull {
            branch: branch.to_owned(),
            base: "main".to_owned(),
            title: "Other pages".to_owned(),
            text: String::new(),
            commit: self.git(&["rev-parse", "main"]).trim().to_owned(),
            is_of_fork: true,
        });
    }

    /// Returns the address of a pull request's page.
    pub(crate) fn page(&self, number: usize) -> String {
        self.shared.page(number)
    }

    /// Makes trouble with the requests for which `make` says so.
    pub(crate) fn make_trouble(&self, make: impl Fn(&Recorded) -> Option<Trouble> + Send + Sync + 'static) {
        *self.shared.trouble.lock().unwrap() = Some(Box::new(make));
    }

    /// Makes trouble with the first requests that match.
    pub(crate) fn make_trouble_with_first(
        &self,
        count: usize,
        matches: impl Fn(&Recorded) -> bool + Send + Sync + 'static,
        trouble: impl Fn() -> Trouble + Send + Sync + 'static,
    ) {
        let left = Mutex::new(count);
        self.make_trouble(move |request| {
            let mut left = left.lock().unwrap();
            if *left == 0 || !matches(request) {
                return None;
            }
            *left -= 1;
            Some(trouble())
        });
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

impl Drop for FakeForge {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, 64 << 20).await.unwrap_or_default();
    let headers = parts.headers.iter();
    let recorded = Recorded {
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        headers: headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
            .collect(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    shared.requests.lock().unwrap().push(recorded.clone());
    let trouble = shared.trouble.lock().unwrap().as_ref().and_then(|make| make(&recorded));
    let is_lost = matches!(trouble, Some(Trouble::Lost));
    match trouble {
        Some(Trouble::Silent) => std::future::pending::<Response>().await,
        Some(Trouble::Flood) => {
            let spaces = futures::stream::repeat_with(|| Ok::<_, Infallible>(vec![b' '; 8192]));
            response(200, &[], Body::from_stream(spaces.take(12_800)))
        }
        Some(Trouble::Trickle) => {
            let bytes = futures::stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Some((Ok::<_, Infallible>(vec![b' ']), ()))
            });
            response(200, &[], Body::from_stream(bytes))
        }
        Some(Trouble::Answer(status, headers, body)) => response(status, &headers, Body::from(body)),
        Some(Trouble::Lost) | None => {
            let done = tokio::task::spawn_blocking(move || shared.reply(&recorded)).await.unwrap();
            let (status, headers, body) = done;
            let status = if is_lost { 502 } else { status };
            response(status, &headers, Body::from(body.to_string()))
        }
    }
}

fn response(status: u16, headers: &[(&'static str, String)], body: Body) -> Response {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, value);
    }
    builder.body(body).unwrap()
}

fn plain(status: u16, body: Value) -> Reply {
    (status, Vec::new(), body)
}

fn refused(status: u16, message: impl AsRef<str>) -> Reply {
    plain(status, json!({ "message": message.as_ref() }))
}

impl Shared {
    fn repository(&self) -> PathBuf {
        self.folder.path().join("site.git")
    }

    fn page(&self, number: usize) -> String {
        match self.kind {
            ForgeKind::Github => format!("{}/{REPO}/pull/{number}", self.url),
            ForgeKind::Gitlab => format!("{}/{REPO}/-/merge_requests/{number}", self.url),
        }
    }

    fn reply(&self, request: &Recorded) -> Reply {
        let expected = match self.kind {
            ForgeKind::Github => ("authorization", format!("Bearer {}", self.token)),
            ForgeKind::Gitlab => ("private-token", self.token.clone()),
        };
        if request.header(expected.0) != Some(expected.1.as_str()) {
            return refused(401, "Bad credentials");
        }
        match self.kind {
            ForgeKind::Github => self.github(request),
            ForgeKind::Gitlab => self.gitlab(request),
        }
    }

    /// Runs git in the repository; what it prints, or why it failed.
    fn run(&self, arguments: &[&str], input: &[u8], variables: &[(&str, &str)]) -> Result<String, String> {
        let mut command = Command::new("git");
        command.current_dir(self.repository()).args(["-c", "commit.gpgSign=false"]).args(arguments);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Forge")
                .env(format!("GIT_{role}_EMAIL"), "forge@example.org");
        }
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that wants no input may have ended.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    fn branch(&self, name: &str) -> Option<String> {
        self.run(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{name}")], b"", &[]).ok()
    }

    fn create_branch(&self, name: &str, commit: &str) -> Result<String, String> {
        self.run(&["update-ref", &format!("refs/heads/{name}"), commit, NOTHING], b"", &[])
    }

    fn blob(&self, content: &str) -> Result<String, String> {
        let bytes = STANDARD.decode(content).map_err(|error| error.to_string())?;
        self.run(&["hash-object", "-w", "--stdin"], &bytes, &[])
    }

    /// The tree that `base` becomes by these lines of an index.
    fn tree(&self, base: &str, lines: &str) -> Result<String, String> {
        let number = self.indexes.fetch_add(1, Ordering::Relaxed);
        let index = self.folder.path().join(format!("index-{number}"));
        let variables = [("GIT_INDEX_FILE", index.to_str().unwrap())];
        self.run(&["read-tree", base], b"", &variables)?;
        self.run(&["update-index", "--index-info"], lines.as_bytes(), &variables)?;
        self.run(&["write-tree"], b"", &variables)
    }

    fn tree_and_parents(&self, commit: &str) -> Option<(String, Vec<String>)> {
        let shown = self.run(&["show", "--no-patch", "--format=%T %P", commit], b"", &[]).ok()?;
        let mut ids = shown.split_whitespace().map(str::to_owned);
        Some((ids.next()?, ids.collect()))
    }

    /// Opens a pull request, unless there is one; with its number.
    fn open_pull(&self, pull: Pull) -> Option<(usize, Pull)> {
        let mut pulls = self.pulls.lock().unwrap();
        let commit = self.branch(&pull.branch)?;
        if pulls.iter().any(|known| known.branch == pull.branch && !known.is_of_fork) {
            return None;
        }
        let opened = Pull { commit, ..pull };
        pulls.push(opened.clone());
        Some((pulls.len(), opened))
    }

    /// The pull requests of a branch, with their numbers.
    fn pulls_of(&self, branch: &str) -> Vec<(usize, Pull)> {
        let pulls = self.pulls.lock().unwrap().clone();
        (1..).zip(pulls).filter(|(_, pull)| pull.branch == branch).collect()
    }
}
