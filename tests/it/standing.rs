//! A question that names no repository is about the one in which the caller works: through the real program.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{PROGRAM, app, call, error, home, project, result};
use crate::triage::{SARIF, ingest};

/// Two repositories, a third one inside the first, and a folder that is none; a session configuration above them all names
/// their project.
struct Place {
    folder: tempfile::TempDir,
    project: String,
}

impl Place {
    async fn new() -> Self {
        let (folder, project) = (tempfile::tempdir().unwrap(), project("standing"));
        let place = Self { folder, project };
        let configuration = json!({ "project_id": place.project }).to_string();
        std::fs::write(place.folder.path().join(".pairofcleats.json"), configuration).unwrap();
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
            let path = place.at(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for repository in ["shop", "shop/plugins/pay", "bank"] {
            let arguments = json!({ "repoPath": place.at(repository), "project_id": place.project });
            result(&app(), "build_index", arguments).await;
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Runs the program in a directory: its standard output and its standard error.
    fn run(&self, directory: &str, arguments: &[&str]) -> (String, String) {
        let output = program().current_dir(self.at(directory)).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    /// The envelope of a command's answer in a directory.
    fn json(&self, directory: &str, arguments: &[&str]) -> Value {
        let (answer, said) = self.run(directory, &[arguments, &["--json"]].concat());
        serde_json::from_str(&answer).unwrap_or_else(|problem| panic!("{problem}: {answer} {said}"))
    }

    /// The envelope of a tool's answer in a directory.
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

/// What was searched, by which rule, and the names of the hits.
fn searched(envelope: &Value) -> (Vec<&str>, &str, Vec<&str>) {
    let scope = &envelope["_meta"]["scope"];
    let names = |list: &'_ Value, field: &str| -> Vec<String> {
        let entries = list.as_array().unwrap_or_else(|| panic!("{envelope:#}")).iter();
        entries.filter_map(|entry| entry[field].as_str().map(str::to_owned)).collect()
    };
    let mut found = names(&envelope["result"]["hits"], "name");
    found.sort();
    let found = found.into_iter().map(|name| KNOWN.into_iter().find(|known| *known == name).unwrap_or("?"));
    let repositories = scope["repositories"].as_array().unwrap_or_else(|| panic!("{envelope:#}"));
    (
        repositories.iter().filter_map(Value::as_str).collect(),
        scope["decidedBy"].as_str().unwrap_or_default(),
        found.collect(),
    )
}

const QUESTION: &str = "session cookie";
/// The functions of the repositories, sorted.
const KNOWN: [&str; 3] = ["SignCookie", "check_cookie", "sign_cookie"];

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_searches_the_repository_it_is_in() {
    let place = Place::new().await;
    let ask = |directory: &str, more: &[&str]| place.json(directory, &[&["search", QUESTION], more].concat());
    for (directory, repository, found) in [
        ("shop", "shop", vec!["SignCookie", "sign_cookie"]),
        ("shop/src", "shop", vec!["SignCookie", "sign_cookie"]),
        ("shop/plugins/pay", "pay", vec!["SignCookie"]),
        ("bank/src", "bank", vec!["check_cookie"]),
    ] {
        assert_eq!(searched(&ask(directory, &[])), (vec![repository], "directory", found), "{directory}");
    }
    let (everything, in_all) = (vec!["*"], vec!["SignCookie", "SignCookie", "check_cookie", "sign_cookie"]);
    for directory in ["elsewhere", "."] {
        let answer = ask(directory, &[]);
        assert_eq!(searched(&answer), (everything.clone(), "default", in_all.clone()), "{directory}");
    }
    for more in [&["--all"][..], &["--project", &place.project]] {
        assert_eq!(
            searched(&ask("shop", more)),
            (everything.clone(), "argument", in_all.clone()),
            "{more:?}"
        );
    }
    let named = ask("shop", &["--repo", "bank"]);
    assert_eq!(searched(&named), (vec!["bank"], "argument", vec!["check_cookie"]));

    let line = "searching bank; --all for all repositories";
    let (answer, said) = place.run("bank", &["search", QUESTION]);
    assert!(said.lines().any(|said| said == line) && !answer.contains(line), "{said} {answer}");
    for silent in [&["--quiet"][..], &["--all"], &["--repo", "bank"], &["--json"]] {
        let (_, said) = place.run("bank", &[&["search", QUESTION], silent].concat());
        assert!(!said.contains("searching"), "{silent:?}: {said}");
    }
    let (_, said) = place.run("elsewhere", &["search", QUESTION]);
    assert!(!said.contains("searching"), "{said}");

    // Where the directory may not be indexed any more, it changes nothing.
    let allowed = format!("indexing.roots=[{:?}]", place.at("elsewhere").to_str().unwrap());
    assert_eq!(searched(&ask("shop", &["--set", &allowed])).1, "default");
}

/// Whoever works in a git repository that the project does not hold gets hits of others, and is told so.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_not_indexed_is_told_with_the_call_that_indexes_it() {
    let place = Place::new().await;
    for repository in ["cafe", "bakery", "shop"] {
        std::fs::create_dir_all(place.at(&format!("{repository}/.git"))).unwrap();
        std::fs::create_dir_all(place.at(&format!("{repository}/src"))).unwrap();
        std::fs::write(place.at(&format!("{repository}/src/oven.py")), "def bake():\n    pass\n").unwrap();
    }
    let warning = |answer: &Value| answer["_meta"]["warnings"][0].clone();
    let next = |answer: &Value| answer["_meta"]["next"].clone();
    let cafe = place.at("cafe");
    for (tool, directory) in [("search", "cafe/src"), ("search_code", "cafe")] {
        let answer = place.call(directory, tool, &json!({ "query": QUESTION }));
        assert_eq!(answer["ok"], true, "the hits stay: {answer:#}");
        let told = warning(&answer);
        assert_eq!(told["code"], "directory_not_indexed", "{answer:#}");
        let message = told["message"].as_str().unwrap();
        assert!(
            message.starts_with("This directory, cafe, is not indexed; what follows is from "),
            "{message}"
        );
        assert!(message.contains("bank"), "{message}");
        assert_eq!(next(&answer)["tool"], "build_index", "{answer:#}");
        assert_eq!(next(&answer)["arguments"]["repoPath"], cafe.to_str().unwrap(), "{answer:#}");
    }
    let mut client = Client::start(&place.at("cafe"), None);
    assert_eq!(warning(&client.search())["code"], "directory_not_indexed");

    // Neither where it is indexed, nor where there is nothing to index, nor where a repository is named.
    for (directory, more) in
        [("shop", json!({})), ("elsewhere", json!({})), ("cafe", json!({ "repoPath": "*" }))]
    {
        let mut arguments = more;
        arguments["query"] = QUESTION.into();
        let answer = place.call(directory, "search", &arguments);
        assert_eq!(warning(&answer), Value::Null, "{directory}: {answer:#}");
    }
    // What may not be indexed is not proposed.
    let allowed = format!("indexing.roots=[{:?}]", place.at("shop").to_str().unwrap());
    let answer = place.json("cafe", &["search", QUESTION, "--set", &allowed]);
    assert_eq!(warning(&answer), Value::Null, "{answer:#}");

    // The call that is proposed gives answers from there.
    let proposed = next(&place.call("cafe", "search", &json!({ "query": QUESTION })));
    let mut arguments = proposed["arguments"].clone();
    // Nobody has confirmed the file that names the project, so the call that writes names it.
    arguments["project_id"] = place.project.as_str().into();
    result(&app(), "build_index", arguments).await;
    let answer = place.call("cafe", "search", &json!({ "query": "bake" }));
    assert_eq!(answer["_meta"]["scope"]["repositories"], json!(["cafe"]), "{answer:#}");
    assert_eq!(warning(&answer)["code"], Value::Null, "{answer:#}");

    // Where another project holds it, that one is named to those who may use it.
    let other = project("standing-other");
    result(&app(), "build_index", json!({ "repoPath": place.at("bakery"), "project_id": other })).await;
    let answer = place.call("bakery/src", "search", &json!({ "query": "bake" }));
    assert_eq!(warning(&answer)["code"], "directory_in_other_project", "{answer:#}");
    assert!(warning(&answer)["message"].as_str().unwrap().contains(&other), "{answer:#}");
    assert_eq!(next(&answer)["arguments"], json!({ "query": "bake", "project_id": other }), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tools_look_where_the_caller_works() {
    let place = Place::new().await;
    let lines = |answer: &Value| {
        let found = answer["result"]["results"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
        found.iter().map(|found| found["content"].as_str().unwrap().to_owned()).collect::<String>()
    };
    let here = place.call("bank", "search_code", &json!({ "query": QUESTION }));
    assert!(lines(&here).contains("check_cookie") && !lines(&here).contains("sign_cookie"), "{here:#}");
    assert_eq!(here["_meta"]["scope"], json!({ "repositories": ["bank"], "decidedBy": "directory" }));
    for more in [json!({ "repo_path": "*" }), json!({ "project_id": place.project })] {
        let mut arguments = more;
        arguments["query"] = QUESTION.into();
        let answer = place.call("bank", "search_code", &arguments);
        assert!(lines(&answer).contains("sign_cookie"), "{answer:#}");
    }
    let other = place.call("bank", "search_code", &json!({ "query": QUESTION, "repo_path": "shop" }));
    assert!(!lines(&other).contains("check_cookie"), "{other:#}");
    let all = place.call("bank", "search", &json!({ "query": QUESTION, "repoPath": "*" }));
    assert_eq!(searched(&all).0, ["*"]);

    // A path that several hold is the one of the repository that the caller is in; one that a single other holds is found.
    let show = |directory: &str, arguments: Value| place.call(directory, "show_file", &arguments);
    let path = "src/session.py";
    for repository in ["shop", "bank"] {
        assert_eq!(show(repository, json!({ "path": path }))["result"]["repo"], repository);
    }
    assert_eq!(show("bank", json!({ "path": "session.go" }))["result"]["repo"], "pay");
    let ambiguous = "Several repositories hold this path.";
    for (directory, more) in [
        ("elsewhere", json!({})),
        ("bank", json!({ "repoPath": "*" })),
        ("bank", json!({ "project_id": place.project })),
    ] {
        let mut arguments = more;
        arguments["path"] = path.into();
        assert_eq!(show(directory, arguments.clone())["error"]["message"], ambiguous, "{arguments}");
    }

    // What a project holds is asked of all of it.
    for arguments in [json!({}), json!({ "repoPath": "*" })] {
        let status = place.call("bank", "index_status", &arguments);
        assert_eq!(status["result"]["repositories"].as_array().unwrap().len(), 3, "{status:#}");
    }
    // Findings lie in no directory, and are found from every one.
    ingest(&app(), &place.project, "sarif", SARIF, json!({})).await;
    let records = place.json("bank", &["search", "NOT lang:rust", "--mode", "records"]);
    assert!(records["result"]["hits"].as_array().is_some_and(|hits| !hits.is_empty()), "{records:#}");
    assert_eq!(records["_meta"]["scope"]["decidedBy"], "directory");
    // A caller without a directory, as over HTTP, stands nowhere.
    let nowhere = call(&app(), "search", json!({ "query": QUESTION, "project_id": place.project })).await;
    assert_eq!(searched(&nowhere).0, ["*"]);
    let unknown = json!({ "query": QUESTION, "repo_path": "bakery", "project_id": place.project });
    assert_eq!(error(&app(), "search_code", unknown).await["code"], "NO_INDEX");
}

/// A client on stdin that has folders open.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it answers to `roots/list`; nothing at all where there is none.
    roots: Option<Vec<String>>,
    asked: usize,
    /// The id of the last question for its roots.
    question: Value,
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
        let mut client = Self { child, input, output, roots, asked: 0, question: Value::Null };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "roots": { "listChanged": true } },
            "clientInfo": { "name": "t", "version": "1" }
        });
        client.ask(json!({ "id": 0, "method": "initialize", "params": hello }));
        client.send(json!({ "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request and reads until its answer; tells its roots when it is asked for them.
    fn ask(&mut self, request: Value) -> Value {
        let id = request["id"].clone();
        self.send(request);
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "roots/list" {
                self.asked += 1;
                self.question = message["id"].clone();
                self.tell();
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// Answers what it was asked, if it has an answer.
    fn tell(&mut self) {
        if let Some(roots) = &self.roots {
            let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
            self.send(json!({ "id": self.question, "result": { "roots": roots } }));
        }
    }

    fn search(&mut self) -> Value {
        let call = json!({ "name": "search", "arguments": { "query": QUESTION } });
        let answer = self.ask(json!({ "id": 1, "method": "tools/call", "params": call }));
        answer["result"]["structuredContent"].clone()
    }

    fn change(&mut self, roots: Vec<String>) {
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
async fn a_clients_roots_decide_what_it_searches() {
    let place = Place::new().await;
    let uri = |path: &str| format!("file://{}", place.at(path).display());
    let link = place.at("elsewhere/a link to the bank");
    std::os::unix::fs::symlink(place.at("bank/src"), &link).unwrap();

    let mut client = Client::start(&place.at("shop"), Some(vec![uri("bank")]));
    assert_eq!(searched(&client.search()), (vec!["bank"], "roots", vec!["check_cookie"]));
    client.search();
    assert_eq!(client.asked, 1, "roots are asked for once");

    client.change(vec![
        uri("shop/plugins/pay"),
        uri("bank"),
        uri("elsewhere"),
        "https://example.com/x".into(),
    ]);
    let answer = client.search();
    let (mut repositories, rule, found) = searched(&answer);
    repositories.sort_unstable();
    assert_eq!(
        (repositories, rule, found),
        (vec!["bank", "pay"], "roots", vec!["SignCookie", "check_cookie"])
    );
    assert_eq!(client.asked, 2);

    client.change(vec![uri("elsewhere/a%20link%20to%20the%20bank")]);
    assert_eq!(searched(&client.search()).0, ["bank"], "links are resolved");
    for nothing in [uri("elsewhere"), uri("no/such"), "file:///".into()] {
        client.change(vec![nothing.clone()]);
        assert_eq!(searched(&client.search()).1, "default", "{nothing}");
    }
    client.change(Vec::new());
    assert_eq!(searched(&client.search()).1, "directory", "no folder is open");

    let mut silent = Client::start(&place.at("bank"), None);
    assert_eq!(
        searched(&silent.search()).0,
        ["bank"],
        "a client that does not answer works in its directory"
    );
    silent.search();
    assert_eq!(silent.asked, 1, "and is not asked again");
    silent.roots = Some(vec![uri("shop/plugins/pay")]);
    silent.tell();
    // The answer and the next call may arrive together.
    let late = (0..100).map(|_| silent.search()).find(|answer| searched(answer).1 == "roots");
    let late = late.expect("an answer that comes late counts from then on");
    assert_eq!((searched(&late).0, silent.asked), (vec!["pay"], 1));
}
