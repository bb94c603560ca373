//! A search that names no repository covers the one in which the caller works, through the real program.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gate::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use tenancy::{Trust, session_file};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::harness::{PROGRAM, app, call, error, home, project, result};
use crate::triage::{SARIF, ingest};

/// A folder with the repositories `shop` and `bank`, a third one inside the first, `shop/plugins/pay`, and the folder
/// `elsewhere`, which is not indexed. The `.pairofcleats.json` of the folder names their project.
struct Checkouts {
    folder: tempfile::TempDir,
    project: String,
}

impl Checkouts {
    async fn new() -> Self {
        let (folder, project) = (tempfile::tempdir().unwrap(), project("standing"));
        let checkouts = Self { folder, project };
        let configuration = json!({ "project_id": checkouts.project }).to_string();
        std::fs::write(checkouts.folder.path().join(".pairofcleats.json"), configuration).unwrap();
        for (path, text) in [
            (
                "shop/src/session.py",
                "def sign_cookie(value):\n    \"\"\"Signs the session cookie.\"\"\"\n    return value\n",
            ),
            (
                "shop/plugins/pay/session.go",
                "package pay\n\n// SignCookie signs the session cookie.\nfunc SignCookie() {}\n",
            ),
            (
                "bank/src/session.py",
                "def check_cookie(value):\n    \"\"\"Checks the session cookie.\"\"\"\n    return value\n",
            ),
            ("elsewhere/readme.txt", "nothing of interest\n"),
        ] {
            let path = checkouts.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for repository in ["shop", "shop/plugins/pay", "bank"] {
            let arguments =
                json!({ "repoPath": checkouts.path(repository), "project_id": checkouts.project });
            result(&app(), "build_index", arguments).await;
        }
        checkouts
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Runs the program in a directory: its standard output and its standard error.
    fn run(&self, directory: &str, arguments: &[&str]) -> (String, String) {
        let output = program().current_dir(self.path(directory)).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    /// The envelope that a command prints in a directory.
    fn json(&self, directory: &str, arguments: &[&str]) -> Value {
        let (stdout, stderr) = self.run(directory, &[arguments, &["--json"]].concat());
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout} {stderr}"))
    }

    /// The envelope of a tool that is called in a directory.
    fn call(&self, directory: &str, tool: &str, arguments: &Value) -> Value {
        self.json(directory, &["call", tool, "--args", &arguments.to_string()])
    }
}

fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    command.env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL").env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

/// The repositories that were searched, the rule that chose them, and the sorted names of the hits.
fn scope_and_names(envelope: &Value) -> (Vec<&str>, &str, Vec<&str>) {
    let scope = &envelope["_meta"]["scope"];
    let names = |list: &'_ Value, field: &str| -> Vec<String> {
        let entries = list.as_array().unwrap_or_else(|| panic!("{envelope:#}")).iter();
        entries.filter_map(|entry| entry[field].as_str().map(str::to_owned)).collect()
    };
    let mut found = names(&envelope["result"]["hits"], "name");
    found.sort();
    let found =
        found.into_iter().map(|name| FUNCTIONS.into_iter().find(|known| *known == name).unwrap_or("?"));
    let repositories = scope["repositories"].as_array().unwrap_or_else(|| panic!("{envelope:#}"));
    (
        repositories.iter().filter_map(Value::as_str).collect(),
        scope["decidedBy"].as_str().unwrap_or_default(),
        found.collect(),
    )
}

const QUERY: &str = "session cookie";
/// The functions of the repositories, sorted.
const FUNCTIONS: [&str; 3] = ["SignCookie", "check_cookie", "sign_cookie"];

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_searches_the_repository_of_its_directory() {
    let checkouts = Checkouts::new().await;
    let search =
        |directory: &str, extra: &[&str]| checkouts.json(directory, &[&["search", QUERY], extra].concat());
    for (directory, repository, found) in [
        ("shop", "shop", vec!["SignCookie", "sign_cookie"]),
        ("shop/src", "shop", vec!["SignCookie", "sign_cookie"]),
        ("shop/plugins/pay", "pay", vec!["SignCookie"]),
        ("bank/src", "bank", vec!["check_cookie"]),
    ] {
        assert_eq!(
            scope_and_names(&search(directory, &[])),
            (vec![repository], "directory", found),
            "{directory}"
        );
    }
    let (everything, all_names) =
        (vec!["*"], vec!["SignCookie", "SignCookie", "check_cookie", "sign_cookie"]);
    for directory in ["elsewhere", "."] {
        let answer = search(directory, &[]);
        assert_eq!(
            scope_and_names(&answer),
            (everything.clone(), "default", all_names.clone()),
            "{directory}"
        );
    }
    for extra in [&["--all"][..], &["--project", &checkouts.project]] {
        assert_eq!(
            scope_and_names(&search("shop", extra)),
            (everything.clone(), "argument", all_names.clone()),
            "{extra:?}"
        );
    }
    let named = search("shop", &["--repo", "bank"]);
    assert_eq!(scope_and_names(&named), (vec!["bank"], "argument", vec!["check_cookie"]));

    let note = "--all searches all repositories";
    let line = format!("searched bank; {note}");
    let (stdout, stderr) = checkouts.run("bank", &["search", QUERY]);
    assert!(stderr.lines().any(|printed| printed == line) && !stdout.contains(note), "{stderr} {stdout}");
    for flags in [&["--quiet"][..], &["--all"], &["--repo", "bank"], &["--json"]] {
        let (_, stderr) = checkouts.run("bank", &[&["search", QUERY], flags].concat());
        assert!(!stderr.contains(note), "{flags:?}: {stderr}");
    }
    let (_, stderr) = checkouts.run("elsewhere", &["search", QUERY]);
    assert!(!stderr.contains(note), "{stderr}");

    // A directory that may not be indexed does not restrict the search.
    let allowed = format!("indexing.roots=[{:?}]", checkouts.path("elsewhere").to_str().unwrap());
    assert_eq!(scope_and_names(&search("shop", &["--set", &allowed])).1, "default");
}

/// In a git repository that the project does not contain, the hits are from other repositories, and a warning says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_in_an_unindexed_repository_suggests_to_index_it() {
    let checkouts = Checkouts::new().await;
    for repository in ["cafe", "bakery", "shop"] {
        std::fs::create_dir_all(checkouts.path(&format!("{repository}/.git"))).unwrap();
        std::fs::create_dir_all(checkouts.path(&format!("{repository}/src"))).unwrap();
        std::fs::write(checkouts.path(&format!("{repository}/src/oven.py")), "def bake():\n    pass\n")
            .unwrap();
    }
    let warning = |answer: &Value| answer["_meta"]["warnings"][0].clone();
    let next = |answer: &Value| answer["_meta"]["next"].clone();
    let cafe = checkouts.path("cafe");
    for (tool, directory) in [("search", "cafe/src"), ("search_code", "cafe")] {
        let answer = checkouts.call(directory, tool, &json!({ "query": QUERY }));
        assert_eq!(answer["ok"], true, "there are hits nevertheless: {answer:#}");
        let warned = warning(&answer);
        assert_eq!(warned["code"], "directory_not_indexed", "{answer:#}");
        let message = warned["message"].as_str().unwrap();
        assert!(message.starts_with("This directory, cafe, is not indexed; the hits are from "), "{message}");
        assert!(message.contains("bank"), "{message}");
        assert_eq!(next(&answer)["tool"], "build_index", "{answer:#}");
        assert_eq!(next(&answer)["arguments"]["repoPath"], cafe.to_str().unwrap(), "{answer:#}");
    }
    let mut client = Client::start(&checkouts.path("cafe"), None);
    assert_eq!(warning(&client.search())["code"], "directory_not_indexed");

    // No warning is due if the directory is indexed, if it is not a repository, or if the call names a repository.
    for (directory, extra) in
        [("shop", json!({})), ("elsewhere", json!({})), ("cafe", json!({ "repoPath": "*" }))]
    {
        let mut arguments = extra;
        arguments["query"] = QUERY.into();
        let answer = checkouts.call(directory, "search", &arguments);
        assert_eq!(warning(&answer), Value::Null, "{directory}: {answer:#}");
    }
    // A directory that may not be indexed is not suggested.
    let allowed = format!("indexing.roots=[{:?}]", checkouts.path("shop").to_str().unwrap());
    let answer = checkouts.json("cafe", &["search", QUERY, "--set", &allowed]);
    assert_eq!(warning(&answer), Value::Null, "{answer:#}");

    // After the suggested call, the directory is searched.
    let suggested = next(&checkouts.call("cafe", "search", &json!({ "query": QUERY })));
    let mut arguments = suggested["arguments"].clone();
    // The file that names the project is not confirmed, so a call that writes must name the project itself.
    arguments["project_id"] = checkouts.project.as_str().into();
    result(&app(), "build_index", arguments).await;
    let answer = checkouts.call("cafe", "search", &json!({ "query": "bake" }));
    assert_eq!(answer["_meta"]["scope"]["repositories"], json!(["cafe"]), "{answer:#}");
    assert_eq!(warning(&answer)["code"], Value::Null, "{answer:#}");

    // If another project contains the directory, a caller that may use that project learns its id.
    let other = project("standing-other");
    result(&app(), "build_index", json!({ "repoPath": checkouts.path("bakery"), "project_id": other })).await;
    let answer = checkouts.call("bakery/src", "search", &json!({ "query": "bake" }));
    assert_eq!(warning(&answer)["code"], "directory_in_other_project", "{answer:#}");
    assert!(warning(&answer)["message"].as_str().unwrap().contains(&other), "{answer:#}");
    assert_eq!(next(&answer)["arguments"], json!({ "query": "bake", "project_id": other }), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tools_prefer_the_repository_of_the_caller() {
    let checkouts = Checkouts::new().await;
    let lines = |answer: &Value| {
        let found = answer["result"]["results"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
        found.iter().map(|found| found["content"].as_str().unwrap().to_owned()).collect::<String>()
    };
    let here = checkouts.call("bank", "search_code", &json!({ "query": QUERY }));
    assert!(lines(&here).contains("check_cookie") && !lines(&here).contains("sign_cookie"), "{here:#}");
    assert_eq!(here["_meta"]["scope"], json!({ "repositories": ["bank"], "decidedBy": "directory" }));
    for extra in [json!({ "repo_path": "*" }), json!({ "project_id": checkouts.project })] {
        let mut arguments = extra;
        arguments["query"] = QUERY.into();
        let answer = checkouts.call("bank", "search_code", &arguments);
        assert!(lines(&answer).contains("sign_cookie"), "{answer:#}");
    }
    let other = checkouts.call("bank", "search_code", &json!({ "query": QUERY, "repo_path": "shop" }));
    assert!(!lines(&other).contains("check_cookie"), "{other:#}");
    let all = checkouts.call("bank", "search", &json!({ "query": QUERY, "repoPath": "*" }));
    assert_eq!(scope_and_names(&all).0, ["*"]);

    // A path in several repositories means the one in the caller's repository; a path in a single other one is found.
    let show = |directory: &str, arguments: Value| checkouts.call(directory, "show_file", &arguments);
    let path = "src/session.py";
    for repository in ["shop", "bank"] {
        assert_eq!(show(repository, json!({ "path": path }))["result"]["repo"], repository);
    }
    assert_eq!(show("bank", json!({ "path": "session.go" }))["result"]["repo"], "pay");
    let ambiguous = "Several repositories contain this path.";
    for (directory, extra) in [
        ("elsewhere", json!({})),
        ("bank", json!({ "repoPath": "*" })),
        ("bank", json!({ "project_id": checkouts.project })),
    ] {
        let mut arguments = extra;
        arguments["path"] = path.into();
        assert_eq!(show(directory, arguments.clone())["error"]["message"], ambiguous, "{arguments}");
    }

    // `index_status` always covers the whole project.
    for arguments in [json!({}), json!({ "repoPath": "*" })] {
        let status = checkouts.call("bank", "index_status", &arguments);
        assert_eq!(status["result"]["repositories"].as_array().unwrap().len(), 3, "{status:#}");
    }
    // Findings belong to no directory and are found from every directory.
    ingest(&app(), &checkouts.project, "sarif", SARIF, json!({})).await;
    let records = checkouts.json("bank", &["search", "NOT lang:rust", "--mode", "records"]);
    assert!(records["result"]["hits"].as_array().is_some_and(|hits| !hits.is_empty()), "{records:#}");
    assert_eq!(records["_meta"]["scope"]["decidedBy"], "directory");
    // A caller without a directory, as over HTTP, searches everything.
    let nowhere = call(&app(), "search", json!({ "query": QUERY, "project_id": checkouts.project })).await;
    assert_eq!(scope_and_names(&nowhere).0, ["*"]);
    let unknown = json!({ "query": QUERY, "repo_path": "bakery", "project_id": checkouts.project });
    assert_eq!(error(&app(), "search_code", unknown).await["code"], "NO_INDEX");
}

/// An MCP client over stdin that has folders open.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Its answer to `roots/list`; it does not answer if this is `None`.
    roots: Option<Vec<String>>,
    /// The number of times that the server has asked for the roots.
    roots_requests: usize,
    /// The id of the last `roots/list` request.
    roots_request_id: Value,
}

impl Client {
    fn start(directory: &Path, roots: Option<Vec<String>>) -> Self {
        let mut child = program()
            .current_dir(directory)
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client =
            Self { child, input, output, roots, roots_requests: 0, roots_request_id: Value::Null };
        let initialize = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "roots": { "listChanged": true } },
            "clientInfo": { "name": "t", "version": "1" }
        });
        client.request(json!({ "id": 0, "method": "initialize", "params": initialize }));
        client.send(json!({ "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request and reads until its answer; answers requests for its roots in between.
    fn request(&mut self, request: Value) -> Value {
        let id = request["id"].clone();
        self.send(request);
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "roots/list" {
                self.roots_requests += 1;
                self.roots_request_id = message["id"].clone();
                self.send_roots();
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// Answers the last request for its roots, if it has an answer.
    fn send_roots(&mut self) {
        if let Some(roots) = &self.roots {
            let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
            self.send(json!({ "id": self.roots_request_id, "result": { "roots": roots } }));
        }
    }

    fn search(&mut self) -> Value {
        let call = json!({ "name": "search", "arguments": { "query": QUERY } });
        let answer = self.request(json!({ "id": 1, "method": "tools/call", "params": call }));
        answer["result"]["structuredContent"].clone()
    }

    fn change_roots(&mut self, roots: Vec<String>) {
        self.roots = Some(roots);
        self.send(json!({ "method": "notifications/roots/list_changed" }));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_roots_of_a_client_choose_the_repositories_it_searches() {
    let checkouts = Checkouts::new().await;
    let uri = |path: &str| format!("file://{}", checkouts.path(path).display());
    let link = checkouts.path("elsewhere/a link to the bank");
    std::os::unix::fs::symlink(checkouts.path("bank/src"), &link).unwrap();

    let mut client = Client::start(&checkouts.path("shop"), Some(vec![uri("bank")]));
    assert_eq!(scope_and_names(&client.search()), (vec!["bank"], "roots", vec!["check_cookie"]));
    client.search();
    assert_eq!(client.roots_requests, 1, "the roots are requested once");

    client.change_roots(vec![
        uri("shop/plugins/pay"),
        uri("bank"),
        uri("elsewhere"),
        "https://example.com/x".into(),
    ]);
    let answer = client.search();
    let (mut repositories, rule, found) = scope_and_names(&answer);
    repositories.sort_unstable();
    assert_eq!(
        (repositories, rule, found),
        (vec!["bank", "pay"], "roots", vec!["SignCookie", "check_cookie"])
    );
    assert_eq!(client.roots_requests, 2);

    client.change_roots(vec![uri("elsewhere/a%20link%20to%20the%20bank")]);
    assert_eq!(scope_and_names(&client.search()).0, ["bank"], "links are resolved");
    for nothing in [uri("elsewhere"), uri("no/such"), "file:///".into()] {
        client.change_roots(vec![nothing.clone()]);
        assert_eq!(scope_and_names(&client.search()).1, "default", "{nothing}");
    }
    client.change_roots(Vec::new());
    assert_eq!(scope_and_names(&client.search()).1, "directory", "no folder is open");

    let mut silent = Client::start(&checkouts.path("bank"), None);
    assert_eq!(
        scope_and_names(&silent.search()).0,
        ["bank"],
        "a client that does not answer searches its directory"
    );
    silent.search();
    assert_eq!(silent.roots_requests, 1, "the roots are not requested again");
    silent.roots = Some(vec![uri("shop/plugins/pay")]);
    silent.send_roots();
    // The answer and the next call may arrive together.
    let late = (0..100).map(|_| silent.search()).find(|answer| scope_and_names(answer).1 == "roots");
    let late = late.expect("a late answer counts from then on");
    assert_eq!((scope_and_names(&late).0, silent.roots_requests), (vec!["pay"], 1));
}

/// Counts how often a call resolves its project, by the log events that say so.
#[derive(Clone, Default)]
struct Resolutions(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Resolutions {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "pairofcleats_gate::tools::context" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// On one thread, because the subscriber is set for this thread only.
#[tokio::test]
async fn a_call_resolves_its_project_once() {
    let (checkouts, app, resolutions) = (Checkouts::new().await, app(), Resolutions::default());
    let file = session_file(&checkouts.path("shop")).unwrap().unwrap();
    Trust::new(&app.layout).confirm(&file).unwrap();
    let _counting =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(resolutions.clone()));
    let mut counts = Vec::new();
    for (tool, arguments) in [
        ("build_index", json!({ "repoPath": checkouts.path("shop") })),
        ("build_index", json!({ "wait": false, "useArtifacts": true })),
        ("search", json!({ "query": "sign cookie" })),
        ("search_code", json!({ "query": "sign cookie" })),
        ("show_file", json!({ "file": "src/session.py" })),
    ] {
        let caller = Caller { directory: Some(checkouts.path("shop")), ..Caller::local(Surface::Stdio) };
        let envelope = tools::call(&app, Request::new(tool, arguments, caller)).await.unwrap();
        assert!(envelope.ok, "{tool}: {envelope:?}");
        assert_eq!(envelope.meta.project_id, Some(json!(checkouts.project)), "{tool}");
        counts.push((tool, resolutions.0.swap(0, Ordering::Relaxed)));
    }
    assert!(counts.iter().all(|(_, count)| *count == 1), "{counts:?}");
}
