//! The cost of the surfaces and their behaviour under load, as ratios within one run.
//!
//! `cargo bench --bench serving` measures a call that does nothing over stdio and over `/mcp` with sessions (with the real
//! transports: pipes to a process, and sockets), then searches over HTTP by one client and by eight at once, then the time
//! of a refusal while the queue is full. `-- --files N` sets the number of files to search.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use gate::app::{App, Bulkhead};
use gate::tools::{Caller, Effects, Surface, ToolSpec, Toolbox, Toolset};
use reqwest::Client;
use serde_json::{Map, Value, json};
use surfaces::http::{listen, router_with};
use surfaces::mcp::serve_stdio;
use tenancy::Scope;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

mod corpus;

use corpus::MODULES;

const FILES: usize = 1_000;
const HEAD_BYTES: usize = 2_500;
const CALLS: usize = 2_000;
const QUERIES: usize = 400;
const CLIENTS: usize = 8;
/// The argument that makes this program the server over stdio.
const SERVER: &str = "--stdio-server";

static DO_NOTHING: ToolSpec = ToolSpec {
    name: "nothing",
    title: "Nothing",
    description: "Answers at once.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: any_object,
    output: any_object,
    run: |_, _| Box::pin(async { Ok(json!({})) }),
    ..ToolSpec::BASE
};

fn any_object() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object"))])
}

fn tools() -> &'static Toolbox {
    static TOOLS: OnceLock<Toolbox> = OnceLock::new();
    TOOLS.get_or_init(|| MODULES.gate().tools_and(&[&DO_NOTHING]))
}

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-serving");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == SERVER) {
        let app = corpus::app(&folder.join("home"), |_| {});
        return runtime.block_on(serve_stdio(app, tools(), Caller::local(Surface::Stdio))).unwrap();
    }
    let files = corpus::files_argument(FILES);
    let _ = std::fs::remove_dir_all(&folder);
    let repository = folder.join("repository");
    let texts = corpus::collect(files, HEAD_BYTES, &repository);
    runtime.block_on(measure(&folder, &repository, &texts));
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn measure(folder: &Path, repository: &Path, texts: &[String]) {
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let app = corpus::app(&folder.join("home"), |config| config.server.port = 0);
    let listening = listen(&app).await.unwrap();
    let url = format!("http://{}", listening.address());
    let (serving, router) = (Arc::clone(&app), router_with(&app, &MODULES, tools()));
    let server = tokio::spawn(async move { listening.serve_router(&serving, router).await });

    let stdio = measure_stdio().await;
    let http = measure_http(&url).await;
    println!("a call that does nothing, {CALLS} times, one after the other:");
    println!("  stdio          {stdio}");
    println!("  /mcp           {http}");
    println!("  /mcp : stdio   {:.1}x at p50", http.p50 / stdio.p50);

    corpus::call(&app, "build_index", json!({ "repoPath": repository })).await;
    let queries = Arc::new(corpus::sample_queries(texts, QUERIES));
    search(&url, &queries, 20).await;
    let one_client = Latencies::new(search(&url, &queries, QUERIES).await);
    let clients = (0..CLIENTS).map(|_| {
        let (url, queries) = (url.clone(), Arc::clone(&queries));
        tokio::spawn(async move { search(&url, &queries, QUERIES / 2).await })
    });
    let started = Instant::now();
    let answered = futures::future::join_all(clients).await;
    let all: Vec<Duration> = answered.into_iter().flat_map(Result::unwrap).collect();
    let rate = all.len() as f64 / started.elapsed().as_secs_f64();
    let many_clients = Latencies::new(all);
    println!("POST /search, {files} files, hybrid, warm:", files = texts.len());
    println!("  1 client       {one_client}");
    println!("  {CLIENTS} clients      {many_clients}, {rate:.0} answers/s, none lost");
    println!("  p95 of {CLIENTS} : p50 of 1   {:.1}x", many_clients.p95 / one_client.p50);

    measure_refusals(&app, &url).await;
    app.shutdown.cancel();
    server.await.unwrap();
    app.store().await.unwrap().database().close().await;
}

/// Percentiles of durations, in milliseconds.
struct Latencies {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl Latencies {
    fn new(mut all: Vec<Duration>) -> Self {
        all.sort();
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        Self { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1.0) }
    }
}

impl std::fmt::Display for Latencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { p50, p95, p99, max } = self;
        write!(f, "p50 {p50:7.2} ms   p95 {p95:7.2} ms   p99 {p99:7.2} ms   max {max:7.2} ms")
    }
}

fn initialize_message() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } } })
}

fn call_message(id: usize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "nothing", "arguments": {} } })
}

/// The latency of calls over pipes to a process of this program.
async fn measure_stdio() -> Latencies {
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .arg(SERVER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = async |message: Value, answers: bool| {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        if answers {
            let line = lines.next_line().await.unwrap().unwrap();
            assert!(line.contains("\"result\""), "{line}");
        }
    };
    send(initialize_message(), true).await;
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), false).await;
    let mut durations = Vec::with_capacity(CALLS);
    for id in 1..=CALLS {
        let started = Instant::now();
        send(call_message(id), true).await;
        durations.push(started.elapsed());
    }
    drop(input);
    child.wait().await.unwrap();
    Latencies::new(durations)
}

/// The latency of calls over HTTP in one MCP session.
async fn measure_http(url: &str) -> Latencies {
    let client = Client::new();
    let post = |message: Value, session: Option<String>| {
        let request =
            client.post(format!("{url}/mcp")).header("accept", "application/json, text/event-stream");
        let request = match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        };
        request.json(&message).send()
    };
    let opened = post(initialize_message(), None).await.unwrap();
    let session = Some(opened.headers()["mcp-session-id"].to_str().unwrap().to_owned());
    opened.text().await.unwrap();
    post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), session.clone()).await.unwrap();
    let mut durations = Vec::with_capacity(CALLS);
    for id in 1..=CALLS {
        let started = Instant::now();
        let answer = post(call_message(id), session.clone()).await.unwrap().text().await.unwrap();
        durations.push(started.elapsed());
        assert!(answer.contains("\"result\""), "{answer}");
    }
    Latencies::new(durations)
}

/// Sends `count` searches one after the other; their durations.
async fn search(url: &str, queries: &[String], count: usize) -> Vec<Duration> {
    let client = Client::new();
    let mut durations = Vec::with_capacity(count);
    for query in queries.iter().cycle().take(count) {
        let started = Instant::now();
        let request = client.post(format!("{url}/search")).json(&json!({ "query": query }));
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        durations.push(started.elapsed());
        assert_eq!(answer["ok"], true, "{answer:#}");
    }
    durations
}

/// The latency of a refusal while all search slots and all waiting slots are taken.
async fn measure_refusals(app: &Arc<App>, url: &str) {
    let taken: Vec<_> = futures::future::join_all((0..4 * CLIENTS).map(|_| async {
        // A free slot is taken at once; the timeout ends the attempts that would have to wait.
        tokio::time::timeout(
            Duration::from_millis(1),
            app.queues.admit(Bulkhead::Search, &tenancy::Principal::local()),
        )
        .await
    }))
    .await
    .into_iter()
    .flatten()
    .flatten()
    .collect();
    let waiting: Vec<_> = (0..app.config.queue.search_waiting_max)
        .map(|_| {
            let app = Arc::clone(app);
            tokio::spawn(async move {
                drop(app.queues.admit(Bulkhead::Search, &tenancy::Principal::local()).await)
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let client = Client::new();
    let mut durations = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        let answer =
            client.post(format!("{url}/search")).json(&json!({ "query": "x" })).send().await.unwrap();
        if answer.status() == 503 {
            durations.push(started.elapsed());
        }
    }
    println!(
        "refusal while {} run and {} wait, {} of 200 refused:",
        taken.len(),
        waiting.len(),
        durations.len()
    );
    println!("  503            {}", Latencies::new(durations));
    drop(taken);
    futures::future::join_all(waiting).await;
}
