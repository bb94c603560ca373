//! Two tenants of one server. Everything stored of a tenant contains that tenant's token.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use contract::ProjectId;
use gate::app::App;
use serde_json::{Value, json};
use tenancy::{self, NewKey, Projects, Scope};

use crate::harness::project;
use crate::serving::{Session, TestServer};

/// A server with two tenants.
pub(super) struct TwoTenants {
    pub(super) server: TestServer,
    pub(super) theirs: Tenant,
    pub(super) ours: Tenant,
}

/// A tenant; everything stored of it contains its token.
pub(super) struct Tenant {
    pub(super) id: String,
    /// Occurs in every stored text, name and value of the tenant, and nowhere else.
    pub(super) token: String,
    folder: tempfile::TempDir,
    pub(super) key: String,
    pub(super) key_id: String,
    /// A hit of a search for the token.
    pub(super) hit: Value,
    pub(super) finding: String,
    pub(super) job: String,
    pub(super) cursor: String,
    pub(super) session: Session,
}

impl Tenant {
    fn new(name: &str) -> Self {
        let id = project(name);
        let token = format!(
            "zq{:020}",
            crate::faults::tree_gen::rand(u64::from(std::process::id()) ^ name.len() as u64)
        );
        let folder = tempfile::tempdir().unwrap();
        let tenant = Self {
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
        tenant.write_repository();
        tenant
    }

    /// Root of the repository; its name contains the token.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(self.repository_name())
    }

    pub(super) fn repository_name(&self) -> String {
        format!("{}repository", self.token)
    }

    /// Path of a file whose name and text contain the token.
    pub(super) fn file(&self) -> String {
        format!("src/{}file.py", self.token)
    }

    /// Number of the chunk of the hit.
    pub(super) fn chunk(&self) -> i64 {
        self.hit["id"].as_i64().expect("a hit has the id of its chunk")
    }

    fn write_repository(&self) {
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

/// Issues a key. Returns its id and its secret.
pub(super) async fn issue_key(
    app: &App,
    name: &str,
    projects: &[&str],
    scopes: &[Scope],
    change: impl FnOnce(&mut NewKey),
) -> (String, String) {
    let mut new = NewKey {
        name: name.to_owned(),
        projects: Projects::Only(
            projects.iter().map(|id| ProjectId::parse(id).unwrap()).collect::<BTreeSet<_>>(),
        ),
        scopes: scopes.iter().copied().collect(),
        calls_per_minute: Some(10_000_000),
        roots: None,
        expires_ms: None,
    };
    change(&mut new);
    let issued =
        tenancy::issue_key(app.store().await.unwrap(), new, app.clock.now().as_millisecond()).await.unwrap();
    (issued.id, issued.secret)
}

impl TwoTenants {
    pub(super) async fn new() -> Self {
        let (mut theirs, mut ours) = (Tenant::new("theirs"), Tenant::new("ours"));
        let roots = [&theirs, &ours].map(|tenant| (tenant.id.clone(), vec![tenant.root()]));
        let server = TestServer::start(|config| {
            config.access.required = contract::config::Required::Always;
            config.access.key_cache_ms = 0;
            config.indexing.project_roots = roots.into();
            config.audit.queries = true;
            config.mcp.resources_page = 2;
            config.triage.store_raw_payload = true;
        })
        .await;
        server.app.start_background();
        for tenant in [&mut theirs, &mut ours] {
            fill_tenant(&server, tenant).await;
        }
        Self { server, theirs, ours }
    }
}

/// Stores something of every kind that a tenant can store.
async fn fill_tenant(server: &TestServer, tenant: &mut Tenant) {
    let app = &server.app;
    (tenant.key_id, tenant.key) =
        issue_key(app, &format!("{} key", tenant.token), &[&tenant.id], &Scope::ALL, |_| {}).await;
    let call = async |tool: &str, mut arguments: Value| {
        arguments["project_id"] = json!(tenant.id);
        let (_, mut body) = server.call(Some(&tenant.key), tool, arguments).await;
        assert_eq!(body["ok"], true, "{tool}: {body:#}");
        body["result"].take()
    };
    let built = call("build_index", json!({ "repoPath": tenant.root() })).await;
    let report = json!([{ "stableKey": tenant.token, "vulnId": "CVE-2024-0001", "severity": "high",
        "title": format!("{} finding", tenant.token), "package": { "name": tenant.token } }]);
    let ingested = call(
        "triage_ingest",
        json!({ "source": "manual", "payload": report, "meta": { "service": tenant.token, "team": tenant.token } }),
    )
    .await;
    let finding = ingested["recordIds"][0].as_str().unwrap().to_owned();
    call(
        "triage_decision",
        json!({ "finding": finding, "status": "fix", "justification": tenant.token, "reviewer": tenant.token }),
    )
    .await;
    call("triage_context_pack", json!({ "recordId": finding })).await;
    call("build_sqlite_index", json!({})).await;
    let found = call("search", json!({ "query": format!("{} common_name", tenant.token) })).await;
    // A failed run, whose error names a file.
    std::fs::create_dir_all(tenant.root().join("empty")).unwrap();
    let (_, failed) = server
        .call(
            Some(&tenant.key),
            "build_index",
            json!({ "repoPath": tenant.root().join("empty"), "project_id": tenant.id }),
        )
        .await;
    assert_eq!(failed["ok"], false, "{failed:#}");
    let session = server.open(&format!("/mcp?client={}", tenant.token), Some(&tenant.key)).await;
    let request = crate::serving::with_key(crate::harness::http().post(&session.url), Some(&tenant.key))
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", &session.id)
        .header("x-pairofcleats-project", &tenant.id)
        .json(&json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/list", "params": {} }));
    let listed = crate::serving::last_message(request.send().await.unwrap()).await;
    tenant.cursor =
        listed["result"]["nextCursor"].as_str().unwrap_or_else(|| panic!("{listed:#}")).to_owned();
    (tenant.hit, tenant.finding, tenant.session) = (found["hits"][0].clone(), finding, session);
    built["jobId"].as_str().unwrap().clone_into(&mut tenant.job);
}
