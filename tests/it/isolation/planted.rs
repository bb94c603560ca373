//! Two tenants of one server, and a token of its own in everything that is stored of the one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use contract::ProjectId;
use pairofcleats::app::App;
use serde_json::{Value, json};
use tenancy::{self, NewKey, Projects, Scope};

use crate::harness::project;
use crate::serving::{Served, Session};

/// A server with two tenants.
pub(super) struct Two {
    pub(super) served: Served,
    pub(super) theirs: Planted,
    pub(super) ours: Planted,
}

/// A tenant: everything of it holds its token.
pub(super) struct Planted {
    pub(super) id: String,
    /// Stands in every text, name and value that is stored, and nowhere else.
    pub(super) token: String,
    folder: tempfile::TempDir,
    pub(super) key: String,
    pub(super) key_id: String,
    /// A hit of a search.
    pub(super) hit: Value,
    pub(super) finding: String,
    pub(super) job: String,
    pub(super) cursor: String,
    pub(super) session: Session,
}

impl Planted {
    fn new(name: &str) -> Self {
        let id = project(name);
        let token =
            format!("zq{}", crate::faults::tree_gen::rand(u64::from(std::process::id()) ^ name.len() as u64));
        let folder = tempfile::tempdir().unwrap();
        let planted = Self {
            key: String::new(),
            key_id: String::new(),
            hit: Value::Null,
            finding: String::new(),
            job: String::new(),
            cursor: String::new(),
            session: Session { url: String::new(), key: None, id: String::new() },
            id,
            token,
            folder,
        };
        planted.write();
        planted
    }

    /// The repository; its name holds the token.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(self.name())
    }

    pub(super) fn name(&self) -> String {
        format!("{}repository", self.token)
    }

    /// The path of a file whose name and text hold the token.
    pub(super) fn file(&self) -> String {
        format!("src/{}file.py", self.token)
    }

    fn write(&self) {
        let (token, root) = (&self.token, self.root());
        let write = |path: &str, text: String| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            &self.file(),
            format!(
                "import os\n\nclass {token}Class:\n    def {token}_method(self, request):\n        # {token} comment\n        \
                 command = request.args['{token}']\n        return os.system(command + '{token}')\n\n\
                 def common_name(coin):\n    return {token}_call(coin)\n"
            ),
        );
        write("README.md", format!("# {token} heading\n\nWhat {token} prose says of coins.\n"));
        write(
            "docs/page.md",
            format!("---\ntitle: {token}\ntags: [{token}]\n---\n\n# Page\n\nText of {token}.\n"),
        );
        write(".pairofcleats.json", json!({ "project_id": self.id, "note": token }).to_string());
        write(".gitignore", format!("{token}ignored/\n"));
        write(&format!("node_modules/{token}/index.js"), token.clone());
        write(&format!("{token}.min.js"), "var a=1;".to_owned());
        write(".mailmap", format!("{token} Mapped <{token}@example.com>\n"));
        for arguments in [
            &["init", "-q", "-b", &format!("{token}branch")][..],
            &["add", "-A"],
            &["commit", "-q", "-m", &format!("{token} message")],
        ] {
            let mut git = Command::new("git");
            git.args([
                "-c",
                &format!("user.name={token} Author"),
                "-c",
                &format!("user.email={token}@example.com"),
            ]);
            assert!(git.args(arguments).current_dir(&root).status().unwrap().success(), "{arguments:?}");
        }
    }
}

/// A key of one's own.
pub(super) async fn key(
    app: &App,
    name: &str,
    projects: &[&str],
    scopes: &[Scope],
    change: impl FnOnce(&mut NewKey),
) -> (String, String) {
    let mut new = NewKey {
        name: name.to_owned(),
        projects: Projects::These(
            projects.iter().map(|id| ProjectId::parse(id).unwrap()).collect::<BTreeSet<_>>(),
        ),
        scopes: scopes.iter().copied().collect(),
        calls_per_minute: Some(10_000_000),
        roots: None,
        expires_ms: None,
    };
    change(&mut new);
    let issued =
        tenancy::issue(app.store().await.unwrap(), new, app.clock.now().as_millisecond()).await.unwrap();
    (issued.id, issued.secret)
}

impl Two {
    pub(super) async fn new() -> Self {
        let (mut theirs, mut ours) = (Planted::new("theirs"), Planted::new("ours"));
        let roots = [&theirs, &ours].map(|one| (one.id.clone(), vec![one.root()]));
        let served = Served::start(|config| {
            config.access.required = contract::config::Required::Always;
            config.access.key_cache_ms = 0;
            config.indexing.project_roots = roots.into();
            config.audit.queries = true;
            config.mcp.resources_page = 2;
            config.triage.store_raw_payload = true;
        })
        .await;
        served.app.start_background();
        for one in [&mut theirs, &mut ours] {
            plant(&served, one).await;
        }
        Self { served, theirs, ours }
    }
}

/// Fills everything that a tenant can fill.
async fn plant(served: &Served, one: &mut Planted) {
    let app = &served.app;
    (one.key_id, one.key) = key(app, &format!("{} key", one.token), &[&one.id], &Scope::ALL, |_| {}).await;
    let call = async |tool: &str, mut arguments: Value| {
        arguments["project_id"] = json!(one.id);
        let (_, mut body) = served.call(Some(&one.key), tool, arguments).await;
        assert_eq!(body["ok"], true, "{tool}: {body:#}");
        body["result"].take()
    };
    let built = call("build_index", json!({ "repoPath": one.root() })).await;
    let report = json!([{ "stableKey": one.token, "vulnId": "CVE-2024-0001", "severity": "high",
        "title": format!("{} finding", one.token), "package": { "name": one.token } }]);
    let ingested = call(
        "triage_ingest",
        json!({ "source": "manual", "payload": report, "meta": { "service": one.token, "team": one.token } }),
    )
    .await;
    let finding = ingested["recordIds"][0].as_str().unwrap().to_owned();
    call(
        "triage_decision",
        json!({ "finding": finding, "status": "fix", "justification": one.token, "reviewer": one.token }),
    )
    .await;
    call("triage_context_pack", json!({ "recordId": finding })).await;
    call("build_sqlite_index", json!({})).await;
    let found = call("search", json!({ "query": format!("{} common_name", one.token) })).await;
    // A run that fails, whose error names a file.
    std::fs::create_dir_all(one.root().join("empty")).unwrap();
    let (_, failed) = served
        .call(
            Some(&one.key),
            "build_index",
            json!({ "repoPath": one.root().join("empty"), "project_id": one.id }),
        )
        .await;
    assert_eq!(failed["ok"], false, "{failed:#}");
    let session = served.open(&format!("/mcp?client={}", one.token), Some(&one.key)).await;
    let asked = crate::serving::keyed(crate::harness::http().post(&session.url), Some(&one.key))
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", &session.id)
        .header("x-pairofcleats-project", &one.id)
        .json(&json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/list", "params": {} }));
    let listed = crate::serving::message(asked.send().await.unwrap()).await;
    one.cursor = listed["result"]["nextCursor"].as_str().unwrap_or_else(|| panic!("{listed:#}")).to_owned();
    (one.hit, one.finding, one.session) = (found["hits"][0].clone(), finding, session);
    built["jobId"].as_str().unwrap().clone_into(&mut one.job);
}
