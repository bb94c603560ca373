//! The official SDKs of both languages, current and previous major, over every transport.
//!
//! The scripts say what they saw; what it should be stands here, once.

use std::process::Command;

use contract::{SCHEMA_VERSION, TOOLING_VERSION};
use serde_json::{Value, json};

use super::setup::{Python, node_script};
use super::{Served, key, run, said, stdio_server};
use crate::harness::{Repository, home, new_home, project};

/// A repository that is indexed while the client watches, and one whose run is given up half-way.
struct Repositories {
    small: Repository,
    large: Repository,
}

impl Repositories {
    fn new() -> Self {
        let small = Repository::new(&[(
            "shop/session.py",
            "def renew_session(token):\n    \"\"\"Refreshes the session of a customer.\"\"\"\n    return token + 1\n",
        )]);
        let large = Repository::new(&[]);
        for file in 0..200 {
            let task = |n| {
                format!(
                    "def task_{file}_{n}(value):\n    partial = value * {n} + {file}\n    return [partial] * {n}\n\n"
                )
            };
            large.write(&format!("pkg/module_{file}.py"), &(0..12).map(task).collect::<String>());
        }
        Self { small, large }
    }

    /// What a script does with them, in a project of its own.
    fn describe(&self, task: &mut Value, project: &str) {
        let name = self.small.path().file_name().unwrap().to_string_lossy();
        task["project"] = project.into();
        task["repository"] = self.small.root().into();
        task["large"] = self.large.root().into();
        task["query"] = "where is the session refreshed".into();
        task["promptArguments"] = json!({ "question": "where are sessions kept", "project": project });
        task["uri"] = format!("repo://{name}/shop/session.py?project={project}").into();
        task["completion"] = json!({
            "ref": { "type": "ref/resource", "uri": "repo://{repository}/{+path}{?project}" },
            "argument": { "name": "path", "value": "sess" },
            "context": { "arguments": { "repository": name, "project": project } }
        });
    }
}

/// An SDK's name and a run of its script.
type Sdk = (&'static str, fn() -> Command);

const SDKS: [Sdk; 4] = [
    ("TypeScript SDK 1", || node_script("sdk1.mjs")),
    ("TypeScript SDK 2", || node_script("sdk2.mjs")),
    ("Python SDK 1", || Python::Sdk1.script("sdk1.py")),
    ("Python SDK 2", || Python::Sdk2.script("sdk2.py")),
];

/// Runs a script once for each transport.
fn over_every_transport((client, script): Sdk) {
    let (repositories, served) = (Repositories::new(), Served::start(&[]));
    let transports =
        [("stdio", json!({ "command": stdio_server() })), ("http", json!({ "url": served.at("/mcp") }))];
    for (transport, mut task) in transports {
        task["transport"] = Value::from(transport);
        repositories.describe(&mut task, &project("sdk"));
        let mut command = script();
        command.arg(task.to_string());
        let what = format!("{client} over {transport}");
        let seen = seen(&what, command);
        greets(&what, &seen["hello"]);
        lists(&what, &seen);
        calls(&what, &seen);
        works(&what, &seen);
    }
}

/// The one line that a script printed.
fn seen(what: &str, command: Command) -> Value {
    let output = run(command);
    assert!(output.status.success(), "{what}: {}", said(&output));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{what}: {error}: {}", said(&output)))
}

fn greets(what: &str, hello: &Value) {
    assert_eq!(hello["protocolVersion"], "2025-11-25", "{what}");
    assert_eq!(hello["serverInfo"]["name"], "pairofcleats", "{what}");
    assert_eq!(hello["serverInfo"]["version"], TOOLING_VERSION, "{what}");
    assert_eq!(hello["capabilities"]["tools"]["listChanged"], false, "{what}");
    let block = &hello["capabilities"]["experimental"]["pairofcleats"];
    assert_eq!(block["schemaVersion"], SCHEMA_VERSION, "{what}: {hello:#}");
    let instructions = hello["instructions"].as_str().unwrap_or_default();
    assert!(instructions.contains("search") && instructions.len() < 2048, "{what}: {hello:#}");
}

fn lists(what: &str, seen: &Value) {
    assert_eq!(seen["moreTools"], Value::Null, "{what}: one page");
    let tools = seen["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected: Vec<&str> = pairofcleats::tools::LIST.iter().map(|tool| tool.name).collect();
    assert_eq!(names, expected, "{what}");
    for tool in tools {
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{what}: {hint} of {tool}");
        }
    }
    // What is declared has something to show; the rest is empty, and asking is no error.
    let declared = seen["hello"]["capabilities"].as_object().unwrap();
    for (capability, list) in [("prompts", "prompts"), ("resources", "resources"), ("resources", "templates")]
    {
        let shown = seen[list].as_array().unwrap();
        assert!(declared.contains_key(capability) || shown.is_empty(), "{what}: {list} {shown:?}");
    }
    let prompts = seen["prompts"].as_array().unwrap();
    assert_eq!(declared.contains_key("prompts"), !prompts.is_empty(), "{what}: {prompts:?}");
}

fn calls(what: &str, seen: &Value) {
    let status = envelope(what, &seen["status"]);
    assert_eq!(status["ok"], true, "{what}: {status:#}");
    assert_ne!(seen["status"]["isError"], true, "{what}");

    let broken = &seen["broken"];
    assert_eq!(broken["code"], -32602, "{what}: {broken:#}");
    assert_eq!(broken["data"]["code"], "INVALID_REQUEST", "{what}: {broken:#}");
    let details = broken["data"]["details"].as_array().unwrap();
    assert_eq!(details[0]["keyword"], "additionalProperties", "{what}: {broken:#}");
    assert!(broken["message"].as_str().unwrap().contains("nonsense"), "{what}: {broken:#}");

    let unknown = &seen["unknown"];
    assert_eq!(unknown["data"]["code"], "UNKNOWN_TOOL", "{what}: {unknown:#}");
}

/// A failure that is a result, a run that is watched, a search, and a run that is given up.
fn works(what: &str, seen: &Value) {
    let missing = envelope(what, &seen["missing"]);
    assert_eq!(seen["missing"]["isError"], true, "{what}");
    assert_eq!(missing["error"]["code"], "NO_INDEX", "{what}: not replaced by the client's own complaint");

    let progress: Vec<f64> = seen["progress"]
        .as_array()
        .unwrap()
        .iter()
        .map(|update| update["progress"].as_f64().unwrap())
        .collect();
    assert!(!progress.is_empty(), "{what}: no progress was shown");
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]), "{what}: {progress:?}");
    assert_eq!(envelope(what, &seen["indexed"])["result"]["report"]["files"], 1, "{what}");
    let found = envelope(what, &seen["found"]);
    assert_eq!(found["result"]["hits"][0]["file"], "shop/session.py", "{what}: {found:#}");

    let prompt = &seen["prompt"]["messages"][0];
    assert_eq!(prompt["role"], "user", "{what}: {prompt:#}");
    assert!(
        prompt["content"]["text"].as_str().unwrap().contains("where are sessions kept"),
        "{what}: {prompt:#}"
    );
    let read = &seen["read"]["contents"][0];
    assert!(read["text"].as_str().unwrap().contains("def renew_session"), "{what}: {read:#}");
    assert_eq!(seen["completion"]["values"], json!(["shop/session.py"]), "{what}");

    assert_eq!(seen["abandoned"]["answered"], Value::Null, "{what}: a cancelled call is not answered");
    assert_eq!(seen["jobAfterwards"], "cancelled", "{what}: its work ends");
    // A progress notification may have been under way; an answer must not be.
    let strays = seen["strays"].as_array().unwrap();
    let mut answers = strays.iter().filter(|stray| stray.as_str().unwrap().contains("response"));
    assert_eq!(answers.next(), None, "{what}: {strays:?}");
}

/// The envelope of a result, which is the same in text and in structured content.
fn envelope<'a>(what: &str, result: &'a Value) -> &'a Value {
    let envelope = &result["structuredContent"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{what}: {result:#}"));
    // JavaScript writes 66.0 as 66.
    let written = serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(with_one_kind_of_number(&written), with_one_kind_of_number(envelope), "{what}");
    envelope
}

fn with_one_kind_of_number(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.iter().map(with_one_kind_of_number).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_one_kind_of_number(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn typescript_sdk_1() {
    over_every_transport(SDKS[0]);
}

#[test]
fn typescript_sdk_2() {
    over_every_transport(SDKS[1]);
}

#[test]
fn python_sdk_1() {
    over_every_transport(SDKS[2]);
}

#[test]
fn python_sdk_2() {
    over_every_transport(SDKS[3]);
}

/// Clients that know only the protocol of 2024 are answered in it, over the transport of their time and on stdin.
#[test]
fn a_typescript_sdk_of_2024() {
    let served = Served::start(&[]);
    let sse = json!({ "package": "sdk-of-2024", "transport": "sse", "url": served.at("/sse") });
    let stdio = json!({ "package": "sdk-of-2024", "transport": "stdio", "command": stdio_server() });
    for task in [sse, stdio] {
        let what = format!("a client of 2024 over {}", task["transport"]);
        let mut command = node_script("sdk1.mjs");
        command.arg(task.to_string());
        let seen = seen(&what, command);
        lists(&what, &seen);
        calls(&what, &seen);
    }
}

/// A release whose newest revision is 2025-06-18, and which leaves where it is answered in another one.
#[test]
fn a_python_sdk_of_june_2025() {
    let (repositories, served) = (Repositories::new(), Served::start(&[]));
    let transports =
        [("stdio", json!({ "command": stdio_server() })), ("http", json!({ "url": served.at("/mcp") }))];
    for (transport, mut task) in transports {
        task["transport"] = Value::from(transport);
        repositories.describe(&mut task, &project("sdk-of-june"));
        let mut command = Python::SdkOfJune2025.script("sdk1.py");
        command.arg(task.to_string());
        let what = format!("a Python client of June 2025 over {transport}");
        let seen = seen(&what, command);
        assert_eq!(seen["hello"]["protocolVersion"], "2025-06-18", "{what}");
        lists(&what, &seen);
        calls(&what, &seen);
        works(&what, &seen);
    }
}

/// The SDKs hold every answer against the tool's output schema, and replace it by a complaint of their own if it does not fit.
/// In the default workspace `project_id` is null.
#[test]
fn every_sdk_takes_the_answers_of_the_default_workspace() {
    let (home, repositories) = (new_home("default-workspace"), Repositories::new());
    let served = Served::start_in(&home, &[]);
    let repository = repositories.small.root();
    let calls = json!([
        ["build_index", { "repoPath": repository }],
        ["index_repository", { "repo_path": repository }],
        ["index_status", {}],
        ["workspace_status", {}],
        ["check_status", {}],
        ["search", { "query": "session" }],
        ["search_code", { "query": "session" }],
        ["show_file", { "path": "shop/session.py" }]
    ]);
    for (client, script) in SDKS {
        let what = format!("{client} in the default workspace");
        let mut command = script();
        command.arg(json!({ "transport": "http", "url": served.at("/mcp"), "calls": calls }).to_string());
        for (called, answer) in
            calls.as_array().unwrap().iter().zip(seen(&what, command)["calls"].as_array().unwrap())
        {
            assert_eq!(envelope(&what, answer)["ok"], true, "{what}: {called} {answer:#}");
        }
    }
}

#[test]
fn every_sdk_works_with_a_key_and_none_without() {
    let served = Served::start(&["--set", "access.required=\"always\""]);
    let key = key(home());
    for (client, script) in SDKS {
        for (transport, path) in [("http", "/mcp"), ("sse", "/sse")] {
            let what = format!("{client} with a key over {transport}");
            let mut task = json!({ "transport": transport, "url": served.at(path) });
            let mut without = script();
            without.arg(task.to_string());
            let refused = said(&run(without)).to_lowercase();
            // One of them keeps the reason to itself.
            let words = ["401", "unauthorized", "server returned an error response"];
            assert!(words.iter().any(|word| refused.contains(word)), "{what}: {refused}");
            task["headers"] = json!({ "Authorization": format!("Bearer {key}") });
            let mut with = script();
            with.arg(task.to_string());
            let seen = seen(&what, with);
            // The key may search and not index.
            let tools = seen["tools"].as_array().unwrap();
            assert!(tools.iter().any(|tool| tool["name"] == "search"), "{what}: {tools:?}");
            assert!(tools.iter().all(|tool| tool["name"] != "build_index"), "{what}: {tools:?}");
            calls(&what, &seen);
        }
    }
}
