//! The dashboard: what the page shows, what it refuses, and the flags that serve it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use contract::config::Required;
use gate::app::App;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use surfaces::http::{Dashboard, DashboardAddress};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{entry, import, writable_app};
use crate::harness::{PROGRAM, app_with, http, modules, project, result};
use crate::modules::MODULES;
use crate::upkeep::{execute_sql, schema};

/// A dashboard in this process, on a free port.
struct TestDashboard {
    app: Arc<App>,
    url: String,
    serving: JoinHandle<()>,
}

impl TestDashboard {
    async fn start(app: Arc<App>) -> Self {
        let address = DashboardAddress { host: "127.0.0.1".to_owned(), port: 0, tries: 0 };
        let dashboard = Dashboard::bind(&address).await.unwrap();
        let (url, served) = (dashboard.url(), Arc::clone(&app));
        let serving = tokio::spawn(async move { dashboard.serve(&served, &MODULES).await });
        Self { app, url, serving }
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.url.trim_end_matches('/'))
    }

    async fn page(&self, query: &str) -> (StatusCode, String) {
        let response = http().get(self.url_of(&format!("/{query}"))).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8", "{query}");
        (response.status(), response.text().await.unwrap())
    }

    async fn stop(self) {
        self.app.shutdown.cancel();
        self.serving.await.unwrap();
    }
}

const SCRIPT: &str = "<script>alert(\"1\")</script>";

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_the_catalog_as_text() {
    let (dashboard, project) = (TestDashboard::start(writable_app()).await, project("dashboard-page"));
    let app = &dashboard.app;
    let mut evil = entry("evil", SCRIPT);
    (evil["title"], evil["categories"]) = (SCRIPT.into(), json!(["<b>security</b>", "other"]));
    let gates = json!({ "gates": [
        { "id": "enough", "type": "count", "op": ">=", "value": 1, "severity": "error" },
        { "id": "critical", "description": SCRIPT, "type": "count", "where": { "requirement": "critical" },
          "op": ">=", "value": 1, "severity": "error" }
    ] });
    import(app, &project, &[evil, entry("plain", "Plain text.")], json!({ "gates": gates })).await;
    result(app, "usage_track", json!({ "id": "plain", "project_id": project })).await;

    let response = http().get(dashboard.url_of(&format!("/?project={project}"))).send().await.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'nonce-"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(
        (header("x-content-type-options"), header("cache-control")),
        ("nosniff".into(), "no-store".into())
    );
    assert!(response.headers().get("set-cookie").is_none());
    let nonce = policy.split('\'').find_map(|part| part.strip_prefix("nonce-")).unwrap().to_owned();
    let page = response.text().await.unwrap();
    assert!(page.contains(&format!("<style nonce=\"{nonce}\">")));
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("://"), "{page}");
    assert_eq!(
        page.matches("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;").count(),
        3,
        "title, body and gate: {page}"
    );
    for shown in [
        "2 entries",
        "&lt;b&gt;security&lt;/b&gt;",
        "Title of plain",
        "<pre>Plain text.</pre>",
        "<span class=\"good\">passed</span> <code>enough</code>",
        "<span class=\"bad\">failed</span> <code>critical</code>",
        "<span class=\"good\">intact</span>",
        "<a href=\"#entry-plain\">plain</a>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let (_, again) = dashboard.page(&format!("?project={project}")).await;
    assert!(!again.contains(&nonce), "each answer has its own nonce");

    let (_, filtered) = dashboard.page(&format!("?project={project}&category=test")).await;
    assert!(filtered.contains("1 entry in test") && filtered.contains("id=\"entry-plain\""), "{filtered}");
    assert!(!filtered.contains("id=\"entry-evil\""));
    let (_, rest) = dashboard.page(&format!("?project={project}&after=evil")).await;
    assert!(!rest.contains("id=\"entry-evil\"") && rest.contains("From the beginning"), "{rest}");
    let table = format!("{}.instructions", schema(&project));
    execute_sql(&format!("UPDATE {table} SET body = 'Changed.' WHERE id = 'plain'")).await;
    let (_, tampered) = dashboard.page(&format!("?project={project}")).await;
    assert!(
        tampered.contains("Changed behind the server") && tampered.contains("<li><code>plain</code>"),
        "{tampered}"
    );
    dashboard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_catalog_is_shown_in_pages() {
    let (dashboard, project) = (TestDashboard::start(writable_app()).await, project("dashboard-large"));
    let all: Vec<Value> = (0..450).map(|at| entry(&format!("n-{at:03}"), &"long ".repeat(200))).collect();
    import(&dashboard.app, &project, &all, json!({})).await;
    let (mut query, mut shown, mut pages) = (format!("?project={project}"), 0, 0);
    loop {
        let (status, page) = dashboard.page(&query).await;
        assert_eq!(status, 200);
        assert!(page.contains("450 entries") && page.len() < 1 << 20, "{} bytes", page.len());
        (shown, pages) = (shown + page.matches("<details id=\"entry-").count(), pages + 1);
        let Some((before, _)) = page.split_once("\">Further entries</a>") else { break };
        let target = before.rsplit("href=\"/").next().unwrap();
        query = target.replace("&amp;", "&");
    }
    assert_eq!(shown, 450);
    assert!(pages >= 3, "{pages}");
    dashboard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_cannot_be_shown_is_named_with_the_reason() {
    let dashboard = TestDashboard::start(writable_app()).await;
    let absent = project("dashboard-absent");
    let (status, page) = dashboard.page(&format!("?project={absent}")).await;
    assert_eq!(status, 409);
    assert!(
        page.contains("The catalog cannot be shown") && page.contains(&format!("value=\"{absent}\"")),
        "{page}"
    );
    for (query, status) in [("?project=A%3Cb%3E", 400), ("?nonsense=1", 400), ("?project=a&project=b", 400)] {
        let (got, page) = dashboard.page(query).await;
        assert_eq!(got, status, "{query}");
        assert!(page.contains("The catalog cannot be shown") && !page.contains("<b>"), "{page}");
    }
    dashboard.stop().await;
    let disabled = TestDashboard::start(app_with(|config| config.instructions.enabled = false)).await;
    let (status, page) = disabled.page("").await;
    assert_eq!(status, 403);
    assert!(page.contains("has not enabled"), "{page}");
    disabled.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_readers_on_this_machine_are_answered() {
    // Neither keys nor names of the server apply.
    let app = app_with(|config| {
        config.access.required = Required::Always;
        config.server.hosts = vec!["code.example.com".to_owned()];
        config.server.cors_origins = vec!["https://tools.example.com".to_owned()];
    });
    let dashboard = TestDashboard::start(app).await;
    let methods: Vec<&str> = modules().list_of_tools().iter().filter_map(|tool| tool.method).collect();
    let answer = http().get(dashboard.url_of("/tools.json")).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap(), json!({ "tools": methods }));
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS] {
        for path in ["/", "/tools.json", "/nope"] {
            let refused = http().request(method.clone(), dashboard.url_of(path)).send().await.unwrap();
            assert_eq!(refused.status(), 405, "{method} {path}");
            assert_eq!(refused.headers()["allow"], "GET");
        }
    }
    for path in ["/nope", "/tools", "/index.html", "/health", "/instructions"] {
        assert_eq!(http().get(dashboard.url_of(path)).send().await.unwrap().status(), 404, "{path}");
    }
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("host", "code.example.com", 403),
        ("host", "127.0.0.1.evil.example", 403),
        ("host", "a b", 400),
        ("origin", "https://tools.example.com", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "none", 200),
        ("host", "localhost:1", 200),
        ("host", "[::1]", 200),
    ] {
        let response = http().get(dashboard.url_of("/tools.json")).header(name, value).send().await.unwrap();
        assert_eq!(response.status(), status, "{name}: {value}");
    }
    dashboard.stop().await;
}

// --- the flags

/// A program over an empty home, which is stopped on drop.
struct Process {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    _home: TempDir,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .env("PAIROFCLEATS_HOME", home.path())
            .env_remove("DATABASE_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, _home: home }
    }

    /// The URL of the dashboard, as soon as it is printed.
    fn dashboard_url(&mut self) -> String {
        let mut text = String::new();
        while self.stderr.read_line(&mut text).unwrap() > 0 {
            if let Some(url) = text.lines().last().and_then(|line| line.strip_prefix("Dashboard: ")) {
                return url.to_owned();
            }
        }
        panic!("no URL is printed: {text}");
    }

    /// Waits for the end after closing stdin. Returns the exit status and what was printed on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn port_of(url: &str) -> u16 {
    url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_dashboard_takes_the_next_port() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let flags = ["--dashboard", "--dashboard-port", &free, "--dashboard-tries", "50"];
    let mut server = Process::start(&[&["serve", "--port", "0"], &flags[..]].concat());
    let first = server.dashboard_url();
    let mut mcp = Process::start(&[&["mcp"], &flags[..]].concat());
    let second = mcp.dashboard_url();
    assert!(port_of(&second) > port_of(&first), "{first} {second}");
    for url in [&first, &second] {
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        let answer: Value =
            http().get(format!("{url}tools.json")).send().await.unwrap().json().await.unwrap();
        assert!(answer["tools"].as_array().unwrap().contains(&json!("instructions/list")), "{answer}");
    }
    assert_eq!(mcp.end().0, Some(0), "it ends with its client");
    assert!(http().get(&second).send().await.is_err());
}

#[test]
fn there_is_no_dashboard_unless_it_is_wanted() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    // A process that tried to serve it would fail.
    let one_port = ["--dashboard-port", &port, "--dashboard-tries", "0"];
    for flags in [&[][..], &["--dashboard", "--no-dashboard"]] {
        let (code, stderr) = Process::start(&[&["mcp"], &one_port[..], flags].concat()).end();
        assert_eq!(code, Some(0), "{flags:?}: {stderr}");
        assert!(!stderr.to_lowercase().contains("dashboard"), "{flags:?}: {stderr}");
    }
    let mut server = Process::start(&[&["serve", "--port", "0", "--json"], &one_port[..]].concat());
    let mut line = String::new();
    BufReader::new(server.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"url\""), "{line}");

    // `mcp` continues without the dashboard; `serve` says why it does not start.
    let (code, stderr) = Process::start(&[&["mcp", "--dashboard"], &one_port[..]].concat()).end();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("there is no dashboard") && stderr.contains(&port), "{stderr}");
    let (code, stderr) =
        Process::start(&[&["serve", "--port", "0", "--dashboard"], &one_port[..]].concat()).end();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("in use") && stderr.contains("ILLEGAL_STATE"), "{stderr}");
}

#[test]
fn a_dashboard_beyond_loopback_is_refused() {
    for command in [&["serve", "--port", "0"][..], &["mcp"]] {
        for host in ["0.0.0.0", "::", "192.168.1.1", "example.com"] {
            let flags = ["--dashboard", "--dashboard-host", host, "--dashboard-port", "0"];
            let (code, stderr) = Process::start(&[command, &flags].concat()).end();
            assert_eq!(code, Some(2), "{command:?} {host}: {stderr}");
            assert!(stderr.contains("INVALID_INPUT") && stderr.contains("has no keys"), "{stderr}");
        }
    }
}
