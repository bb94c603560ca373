//! The official TypeScript and Python SDKs, current and previous major version, over every transport.
//!
//! The scripts report what the client received; the expectations are here.

use std::process::Command;

use contract::{SCHEMA_VERSION, TOOLING_VERSION};
use serde_json::{Value, json};

use super::setup::{PythonClient, node_script};
use super::{ServerProcess, create_key, describe_output, run, stdio_server_command};
use crate::harness::{Repository, home, new_home, project};

/// A small repository, indexed with progress notifications, and a large one, whose indexing the client cancels.
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

    /// Adds the repositories and a project to the task of a script.
    fn add_to_task(&self, task: &mut Value, project: &str) {
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

/// Name of an SDK, and the command that runs its script.
type Sdk = (&'static str, fn() -> Command);

const SDKS: [Sdk; 4] = [
    ("TypeScript SDK 1", || node_script("sdk1.mjs")),
    ("TypeScript SDK 2", || node_script("sdk2.mjs")),
    ("Python SDK 1", || PythonClient::Sdk1.script("sdk1.py")),
    ("Python SDK 2", || PythonClient::Sdk2.script("sdk2.py")),
];

/// Runs a script once for each transport.
fn over_every_transport((client, script): Sdk) {
    let (repositories, server) = (Repositories::new(), ServerProcess::start(&[]));
    let transports = [
        ("stdio", json!({ "command": stdio_server_command() })),
        ("http", json!({ "url": server.url_of("/mcp") })),
    ];
    for (transport, mut task) in transports {
        task["transport"] = Value::from(transport);
        repositories.add_to_task(&mut task, &project("sdk"));
        let mut command = script();
        command.arg(task.to_string());
        let label = format!("{client} over {transport}");
        let report = run_script(&label, command);
        assert_hello(&label, &report["hello"]);
        assert_lists(&label, &report);
        assert_calls(&label, &report);
        assert_work(&label, &report);
    }
}

/// Runs a script and parses the one line of JSON that it prints.
fn run_script(label: &str, command: Command) -> Value {
    let output = run(command);
    assert!(output.status.success(), "{label}: {}", describe_output(&output));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{label}: {error}: {}", describe_output(&output)))
}

fn assert_hello(label: &str, hello: &Value) {
    assert_eq!(hello["protocolVersion"], "2025-11-25", "{label}");
    assert_eq!(hello["serverInfo"]["name"], "pairofcleats", "{label}");
    assert_eq!(hello["serverInfo"]["version"], TOOLING_VERSION, "{label}");
    assert_eq!(hello["capabilities"]["tools"]["listChanged"], false, "{label}");
    let block = &hello["capabilities"]["experimental"]["pairofcleats"];
    assert_eq!(block["schemaVersion"], SCHEMA_VERSION, "{label}: {hello:#}");
    let instructions = hello["instructions"].as_str().unwrap_or_default();
    assert!(instructions.contains("search") && instructions.len() < 2048, "{label}: {hello:#}");
}

fn assert_lists(label: &str, report: &Value) {
    assert_eq!(report["moreTools"], Value::Null, "{label}: one page");
    let tools = report["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = crate::serving::listed_by_default();
    assert_eq!(names, expected, "{label}");
    for tool in tools {
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{label}: {hint} of {tool}");
        }
    }
    // A declared capability has a non-empty list. The other lists are empty, and requesting them is not an error.
    let declared = report["hello"]["capabilities"].as_object().unwrap();
    for (capability, list) in [("prompts", "prompts"), ("resources", "resources"), ("resources", "templates")]
    {
        let listed = report[list].as_array().unwrap();
        assert!(declared.contains_key(capability) || listed.is_empty(), "{label}: {list} {listed:?}");
    }
    let prompts = report["prompts"].as_array().unwrap();
    assert_eq!(declared.contains_key("prompts"), !prompts.is_empty(), "{label}: {prompts:?}");
}

fn assert_calls(label: &str, report: &Value) {
    let status = envelope(label, &report["status"]);
    assert_eq!(status["ok"], true, "{label}: {status:#}");
    assert_ne!(report["status"]["isError"], true, "{label}");

    let broken = &report["broken"];
    assert_eq!(broken["code"], -32602, "{label}: {broken:#}");
    assert_eq!(broken["data"]["code"], "INVALID_REQUEST", "{label}: {broken:#}");
    let details = broken["data"]["details"].as_array().unwrap();
    assert_eq!(details[0]["keyword"], "additionalProperties", "{label}: {broken:#}");
    assert!(broken["message"].as_str().unwrap().contains("nonsense"), "{label}: {broken:#}");

    let unknown = &report["unknown"];
    assert_eq!(unknown["data"]["code"], "UNKNOWN_TOOL", "{label}: {unknown:#}");
}

/// Checks a tool error, indexing with progress, a search, a prompt, a resource, a completion and a cancelled call.
fn assert_work(label: &str, report: &Value) {
    let missing = envelope(label, &report["missing"]);
    assert_eq!(report["missing"]["isError"], true, "{label}");
    assert_eq!(
        missing["error"]["code"], "NO_INDEX",
        "{label}: the client must not replace it with an error of its own"
    );

    let progress: Vec<f64> = report["progress"]
        .as_array()
        .unwrap()
        .iter()
        .map(|update| update["progress"].as_f64().unwrap())
        .collect();
    let late = report["lateProgress"].as_u64().unwrap_or(0);
    assert!(!progress.is_empty() || late > 0, "{label}: no progress was reported");
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]), "{label}: {progress:?}");
    assert_eq!(envelope(label, &report["indexed"])["result"]["report"]["files"], 1, "{label}");
    let found = envelope(label, &report["found"]);
    assert_eq!(found["result"]["hits"][0]["file"], "shop/session.py", "{label}: {found:#}");

    let prompt = &report["prompt"]["messages"][0];
    assert_eq!(prompt["role"], "user", "{label}: {prompt:#}");
    assert!(
        prompt["content"]["text"].as_str().unwrap().contains("where are sessions kept"),
        "{label}: {prompt:#}"
    );
    let read = &report["read"]["contents"][0];
    assert!(read["text"].as_str().unwrap().contains("def renew_session"), "{label}: {read:#}");
    assert_eq!(report["completion"]["values"], json!(["shop/session.py"]), "{label}");

    assert_eq!(report["abandoned"]["answered"], Value::Null, "{label}: a cancelled call is not answered");
    assert_eq!(report["jobAfterwards"], "cancelled", "{label}: the job is cancelled, too");
    // A progress notification may still have been on its way, but no answer may.
    let strays = report["strays"].as_array().unwrap();
    let mut answers = strays.iter().filter(|stray| stray.as_str().unwrap().contains("response"));
    assert_eq!(answers.next(), None, "{label}: {strays:?}");
}

/// The envelope of a result. Asserts that text and structured content are the same.
fn envelope<'a>(label: &str, result: &'a Value) -> &'a Value {
    let envelope = &result["structuredContent"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{label}: {result:#}"));
    // JavaScript prints 66.0 as 66.
    let from_text = serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(with_float_numbers(&from_text), with_float_numbers(envelope), "{label}");
    envelope
}

fn with_float_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.iter().map(with_float_numbers).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_float_numbers(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn typescript_sdk_1_works_over_every_transport() {
    over_every_transport(SDKS[0]);
}

#[test]
fn typescript_sdk_2_works_over_every_transport() {
    over_every_transport(SDKS[1]);
}

#[test]
fn python_sdk_1_works_over_every_transport() {
    over_every_transport(SDKS[2]);
}

#[test]
fn python_sdk_2_works_over_every_transport() {
    over_every_transport(SDKS[3]);
}

/// A client that knows only the protocol of 2024 is answered in it, over HTTP with SSE and on stdio.
#[test]
fn a_typescript_sdk_of_2024_works_over_sse_and_stdio() {
    let server = ServerProcess::start(&[]);
    let sse = json!({ "package": "sdk-of-2024", "transport": "sse", "url": server.url_of("/sse") });
    let stdio = json!({ "package": "sdk-of-2024", "transport": "stdio", "command": stdio_server_command() });
    for task in [sse, stdio] {
        let label = format!("a client of 2024 over {}", task["transport"]);
        let mut command = node_script("sdk1.mjs");
        command.arg(task.to_string());
        let report = run_script(&label, command);
        assert_lists(&label, &report);
        assert_calls(&label, &report);
    }
}

/// The newest protocol revision of this release is 2025-06-18; it disconnects when it is answered in another one.
#[test]
fn a_python_sdk_of_june_2025_works_over_every_transport() {
    let (repositories, server) = (Repositories::new(), ServerProcess::start(&[]));
    let transports = [
        ("stdio", json!({ "command": stdio_server_command() })),
        ("http", json!({ "url": server.url_of("/mcp") })),
    ];
    for (transport, mut task) in transports {
        task["transport"] = Value::from(transport);
        repositories.add_to_task(&mut task, &project("sdk-of-june"));
        let mut command = PythonClient::SdkOfJune2025.script("sdk1.py");
        command.arg(task.to_string());
        let label = format!("a Python client of June 2025 over {transport}");
        let report = run_script(&label, command);
        assert_eq!(report["hello"]["protocolVersion"], "2025-06-18", "{label}");
        assert_lists(&label, &report);
        assert_calls(&label, &report);
        assert_work(&label, &report);
    }
}

/// The SDKs validate every answer against the tool's output schema and raise an error of their own where it does not match.
/// In the default workspace `project_id` is null.
#[test]
fn every_sdk_accepts_the_answers_of_the_default_workspace() {
    let (home, repositories) = (new_home("default-workspace"), Repositories::new());
    let server = ServerProcess::start_in(&home, &[]);
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
        let label = format!("{client} in the default workspace");
        let mut command = script();
        command.arg(json!({ "transport": "http", "url": server.url_of("/mcp"), "calls": calls }).to_string());
        for (called, answer) in
            calls.as_array().unwrap().iter().zip(run_script(&label, command)["calls"].as_array().unwrap())
        {
            assert_eq!(envelope(&label, answer)["ok"], true, "{label}: {called} {answer:#}");
        }
    }
}

#[test]
fn every_sdk_works_with_a_key_and_is_refused_without_one() {
    let server = ServerProcess::start(&["--set", "access.required=\"always\""]);
    let key = create_key(home());
    for (client, script) in SDKS {
        for (transport, path) in [("http", "/mcp"), ("sse", "/sse")] {
            let label = format!("{client} with a key over {transport}");
            let mut task = json!({ "transport": transport, "url": server.url_of(path) });
            let mut without = script();
            without.arg(task.to_string());
            let refused = describe_output(&run(without)).to_lowercase();
            // One of the SDKs does not print the status.
            let reasons = ["401", "unauthorized", "server returned an error response"];
            assert!(reasons.iter().any(|reason| refused.contains(reason)), "{label}: {refused}");
            task["headers"] = json!({ "Authorization": format!("Bearer {key}") });
            let mut with = script();
            with.arg(task.to_string());
            let report = run_script(&label, with);
            // The key may search but not index.
            let tools = report["tools"].as_array().unwrap();
            assert!(tools.iter().any(|tool| tool["name"] == "search"), "{label}: {tools:?}");
            assert!(tools.iter().all(|tool| tool["name"] != "build_index"), "{label}: {tools:?}");
            assert_calls(&label, &report);
        }
    }
}
