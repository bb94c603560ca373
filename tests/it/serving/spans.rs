//! The spans of a server that sends them to a collector: a call is followed through its job to its statements.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row as _};

use super::send_json;
use crate::harness::{PROGRAM, Repository, home, http, project, server};
use crate::upkeep::schema;

/// A collector, with the spans that it got.
struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    async fn start() -> Self {
        let spans = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&spans);
        let take = move |headers: HeaderMap, body: Bytes| async move {
            assert_eq!(headers[AUTHORIZATION], "Basic dXNlcjpzZWNyZXQ=", "from the URL");
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            sink.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
            ([(CONTENT_TYPE, "application/x-protobuf")], Vec::new())
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://user:secret@{}/v1/traces", listener.local_addr().unwrap());
        let routes = axum::Router::new().route("/v1/traces", axum::routing::post(take));
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, spans }
    }
}

/// The spans of a process, by trace and id.
struct Spans(Vec<Span>);

impl Spans {
    fn find(&self, name: &str, key: &str, value: &str) -> &Span {
        let is_wanted = |span: &&Span| span.name == name && text(span, key).as_deref() == Some(value);
        self.0
            .iter()
            .find(is_wanted)
            .unwrap_or_else(|| panic!("no `{name}` with {key}={value}: {:#?}", self.0))
    }

    /// The names of a span and those around it, innermost first.
    fn path(&self, span: &Span) -> Vec<&str> {
        let by_id: HashMap<&[u8], &Span> =
            self.0.iter().map(|span| (span.span_id.as_slice(), span)).collect();
        let mut path = Vec::new();
        let mut next = by_id.get(span.span_id.as_slice());
        while let Some(span) = next {
            path.push(span.name.as_str());
            next = by_id.get(span.parent_span_id.as_slice());
        }
        path
    }
}

fn text(span: &Span, key: &str) -> Option<String> {
    let attribute = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Attribute::StringValue(text) => Some(text.clone()),
        Attribute::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A server process, its address and what it logs.
struct Server {
    child: Child,
    url: String,
    log: std::thread::JoinHandle<String>,
}

impl Server {
    fn start(settings: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--port", "0", "--json"])
            .args(settings.iter().flat_map(|setting| ["--set", setting]))
            .env("PAIROFCLEATS_HOME", home())
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let ready: Value = serde_json::from_str(&ready).unwrap_or_else(|error| panic!("{error}: {ready}"));
        Self { child, url: ready["result"]["url"].as_str().unwrap().to_owned(), log }
    }

    async fn index(&self, request_id: &str, arguments: Value) -> Value {
        let request = http().post(format!("{}/tools/build_index", self.url)).json(&arguments);
        let request =
            request.header("x-request-id", request_id).header("traceparent", trace_parent(request_id));
        let (status, answer) = send_json(request).await;
        assert!(status.is_success(), "{answer:#}");
        answer["result"].clone()
    }

    /// Ends the server as an operator does; returns what it logged.
    fn end(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.log.join().unwrap()
    }
}

/// The header of a client that follows its calls itself: the ids are made of the letters of the request id. It does
/// not record its trace, which is no reason for the server not to record its part.
fn trace_parent(request_id: &str) -> String {
    format!("00-{:032x}-{:016x}-00", seed(request_id), 7)
}

fn seed(request_id: &str) -> u64 {
    request_id.bytes().fold(1, |seed, byte| seed << 8 | u64::from(byte))
}

/// The files of a project, locked: statements that read them wait.
struct LockedFiles {
    connection: PgConnection,
    table: String,
}

impl LockedFiles {
    async fn of(project: &str) -> Self {
        let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
        let table = format!("\"{}\".files", schema(project));
        let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
        sqlx::raw_sql(sqlx::AssertSqlSafe(lock)).execute(&mut connection).await.unwrap();
        Self { connection, table }
    }

    /// Unlocks them when a statement has waited for some time.
    async fn unlock_after_a_wait(mut self) {
        let waiting = format!(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE NOT granted AND relation = '{}'::regclass)",
            self.table
        );
        for _ in 0..600 {
            let query = sqlx::query(sqlx::AssertSqlSafe(waiting.as_str()));
            if query.fetch_one(&mut self.connection).await.unwrap().get::<bool, _>(0) {
                tokio::time::sleep(Duration::from_millis(250)).await;
                return self.connection.close().await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no statement waits for the files");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_followed_through_its_job_to_its_statements() {
    let (repository, project) = (Repository::new(&[("a.py", "def first(): pass\n")]), project("spans"));
    let collector = Collector::start().await;
    let traces = format!("log.traces_url={:?}", collector.url);
    let process = Server::start(&[&traces, "log.format=\"json\"", "log.filter=\"info,pairofcleats=debug\""]);
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    process.index("the-first", arguments.clone()).await;
    repository.write("a.py", "def second(): pass\n");
    let files = LockedFiles::of(&project).await;
    let (_, ()) = tokio::join!(process.index("the-slow", arguments.clone()), files.unlock_after_a_wait());
    repository.write("a.py", "def third(): pass\n");
    let mut later = arguments.clone();
    later["wait"] = json!(false);
    let queued = process.index("the-queued", later).await["jobId"].as_str().unwrap().to_owned();
    // One job of a project runs at a time, so this one ends after the queued one.
    process.index("the-last", arguments).await;
    let log = process.end();

    let spans = Spans(collector.spans.lock().unwrap().clone());
    let call = spans.find("call", "request", "the-slow");
    assert_eq!(text(call, "tool").as_deref(), Some("build_index"));
    assert_eq!(call.trace_id, u128::from(seed("the-slow")).to_be_bytes(), "the trace of the client");
    assert_eq!(call.parent_span_id, 7u64.to_be_bytes(), "below its span");
    let of_call: Vec<&Span> = spans.0.iter().filter(|span| span.trace_id == call.trace_id).collect();
    // On a busy machine other statements are slow too, outside the job as well.
    let is_of_job = |span: &&&Span| spans.path(span) == ["statement", "job", "call"];
    let slow = of_call.iter().find(is_of_job).expect("the statement that waited");
    assert!(text(slow, "place").unwrap().starts_with("crates/store/src/"), "{slow:?}");
    assert!(text(slow, "ms").unwrap().parse::<u64>().unwrap() >= 100);
    let job = of_call.iter().find(|span| span.name == "job").unwrap();
    assert_eq!(text(job, "project").as_deref(), Some(project.as_str()));
    assert!(spans.0.iter().all(|span| span.events.is_empty()), "log lines stay on this machine");

    let queueing = spans.find("call", "request", "the-queued");
    assert_eq!(text(queueing, "queued").as_deref(), Some(queued.as_str()), "the ids join them");
    assert_eq!(spans.path(spans.find("job", "job", &queued)), ["job"]);

    let is_of_slow = |line: &Value| {
        let spans = line["spans"].as_array().into_iter().flatten();
        let names: Vec<&str> = spans.map(|span| span["name"].as_str().unwrap()).collect();
        names == ["call", "job", "statement"] && line["spans"][0]["request"] == "the-slow"
    };
    let lines = log.lines().filter(|line| line.contains("a slow statement ended"));
    let mut lines = lines.map(|line| serde_json::from_str(line).unwrap());
    assert!(lines.any(|line: Value| is_of_slow(&line)), "the same in the log: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_cannot_be_used_is_reported_once_and_without_its_password() {
    let process = Server::start(&["log.traces_url=\"http://127.0.0.1:9/v1/traces\""]);
    let call = || http().post(format!("{}/tools/config_status", process.url)).json(&json!({})).send();
    for _ in 0..2 {
        call().await.unwrap();
    }
    let log = process.end();
    assert_eq!(log.matches("the collector of log.traces_url takes no spans").count(), 1, "{log}");
    for url in ["nowhere", "http://user:a^b@127.0.0.1:9/v1/traces", "http://user:a b@127.0.0.1:9/v1/traces"] {
        let log = Server::start(&[&format!("log.traces_url={url:?}")]).end();
        assert!(!log.contains("a^b") && !log.contains("a b@"), "{log}");
        assert_eq!(log.contains("spans are not sent to log.traces_url"), url == "nowhere", "{log}");
    }
}
