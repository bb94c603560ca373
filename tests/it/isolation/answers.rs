//! Every tool, route and MCP method, asked by one tenant with what belongs to another: no answer holds anything of that, and
//! each is the answer to the same question about what does not exist.

use pairofcleats::tools::LIST;
use serde_json::{Map, Value, json};
use tenancy::Scope;

use super::planted::{Two, key};
use crate::harness::{http, project};
use crate::serving::{Session, keyed, message};
use crate::working::Subject;

/// A value of the other tenant's, and one like it that nobody has.
type Pair = (Value, Value);

/// A token that nothing holds.
const NOBODYS: &str = "zq00000000000000000000";

/// What of an answer differs from call to call.
const PASSING: &[&str] = &[
    "ts",
    "durationMs",
    "requestId",
    "jobId",
    "createdAt",
    "finishedAt",
    "indexedAt",
    "startedAt",
    "uptimeMs",
    "elapsedMs",
    "ms",
    "serverMs",
    "jobs",
    "report",
    "memory",
    "writtenAt",
    "builtAt",
    "pool",
    "queues",
    "bytes",
    "disk",
    "freeBytes",
];

/// An answer without what passes, and without what was asked itself.
fn told(answer: &Value, sent: &[&Value]) -> String {
    fn without(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| {
                    !PASSING.contains(&name.as_str()) && !name.ends_with("Ms") && !name.ends_with("_ms")
                });
                fields.values_mut().for_each(without);
            }
            Value::Array(items) => items.iter_mut().for_each(without),
            // The text of a tool's result is an envelope again.
            Value::String(text) if text.starts_with('{') => {
                if let Ok(mut inner) = serde_json::from_str(text) {
                    without(&mut inner);
                    *value = inner;
                }
            }
            _ => {}
        }
    }
    let mut answer = answer.clone();
    without(&mut answer);
    let mut text = answer.to_string();
    let mut sent: Vec<&Value> = sent.to_vec();
    // The longest first: a part of it stands for itself elsewhere.
    sent.sort_by_key(|sent| std::cmp::Reverse(sent.to_string().len()));
    for sent in sent {
        let sent = match sent {
            Value::String(sent) => sent.clone(),
            other => other.to_string(),
        };
        // As it is, and as it stands in a path or a URI.
        let quoted = Value::String(sent.clone()).to_string();
        for form in [sent.as_str(), &quoted[1..quoted.len() - 1], &sent.to_lowercase()] {
            text = text.replace(form, "SENT");
        }
    }
    // Names of records are hashes of what they say, sums of files of when they were built.
    regex::Regex::new("[0-9a-f]{40,64}").unwrap().replace_all(&text, "HASH").into_owned()
}

/// An answer to a question without what the likeness of two texts decides: what is scored and shown, and in which order. One
/// token is likelier than another to what the model makes of one's own files.
fn without_likeness(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !["score", "similarity_score", "confidence", "content", "next"].contains(&name.as_str())
                    && !name.starts_with("snippet")
            });
            fields.values_mut().for_each(without_likeness);
        }
        Value::Array(items) => {
            items.iter_mut().for_each(without_likeness);
            items.sort_by_key(Value::to_string);
        }
        _ => {}
    }
}

impl Two {
    /// Whether a text tells anything of the other tenant; what of it.
    fn tells(&self, text: &str) -> Option<String> {
        let theirs = &self.theirs;
        let root = theirs.root().to_string_lossy().into_owned();
        [&theirs.token, &theirs.id, &root, &theirs.key_id, &theirs.session.id, &theirs.finding, &theirs.job]
            .into_iter()
            .find(|told| text.to_lowercase().contains(&told.to_lowercase()))
            .map(|told| format!("`{told}` stands in {text}"))
    }

    /// What a field of this name may be given of the other tenant's.
    fn pairs(&self, tool: &str, field: &str, schema: &Value) -> Vec<Pair> {
        let theirs = &self.theirs;
        let as_absent = |text: &str| text.replace(&theirs.token, NOBODYS);
        let text = |text: &str| (json!(text), json!(as_absent(text)));
        match field {
            "project_id" => vec![(json!(theirs.id), json!(theirs.id.replace("theirs", "absent")))],
            "repoPath" | "repo_path" | "repo" | "artifactsDir" | "dir" | "out" => {
                let root = theirs.root().to_string_lossy().into_owned();
                vec![text(&root), text(&theirs.name()), text(&format!("{root}/src"))]
            }
            "file" | "path" => vec![text(&theirs.file()), text(&format!("../{}", theirs.file()))],
            // Chunks of one's own may have that number, so only what is told counts.
            "id" => vec![(theirs.hit["id"].clone(), theirs.hit["id"].clone())],
            "hit" => {
                vec![(theirs.hit.clone(), serde_json::from_str(&as_absent(&theirs.hit.to_string())).unwrap())]
            }
            "finding" | "recordId" => {
                let absent = format!("{}{}", &theirs.finding[..theirs.finding.len() - 4], "0000");
                vec![(json!(theirs.finding), json!(absent))]
            }
            "payload" | "wait" | "urls" | "url" => Vec::new(),
            _ => {
                let kinds = schema["type"].to_string();
                let constrained = schema.get("enum").is_some() || schema.get("pattern").is_some();
                match (kinds.contains("string") && !constrained, kinds.contains("array")) {
                    // A download would go out.
                    (true, _) if tool.starts_with("download") => Vec::new(),
                    (true, _) => vec![text(&theirs.token)],
                    (false, true) => vec![(json!([theirs.token]), json!([NOBODYS]))],
                    _ => Vec::new(),
                }
            }
        }
    }

    /// Arguments with which the tool works in one's own project.
    fn base(&self, tool: &str) -> Map<String, Value> {
        let root = self.ours.root().to_string_lossy().into_owned();
        let subject = Subject {
            project: &self.ours.id,
            root: &root,
            file: &self.ours.file(),
            word: "common_name",
            finding: &self.ours.finding,
        };
        subject.arguments(tool).as_object().cloned().unwrap()
    }

    /// Calls a tool with a value of the other's and with one that nobody has: what is wrong with the answers.
    async fn compare(&self, key: &str, tool: &str, field: &str, (value, absent): Pair) -> Option<String> {
        let answer = async |value: &Value| {
            let mut arguments = self.base(tool);
            arguments.insert(field.to_owned(), value.clone());
            if field == "file" {
                arguments.remove("path");
            }
            if matches!(field, "id" | "hit") {
                arguments.retain(|name, _| name == field || name == "project_id");
            }
            let (status, mut body) = self.served.call(Some(key), tool, Value::Object(arguments)).await;
            // What was sent may come back in part, so its token is taken out; what else is told of, the comparison shows.
            let sent = echoes(value);
            let text = |body: &Value| {
                let text = told(body, &sent.iter().chain([value]).collect::<Vec<_>>());
                text.replace(&self.theirs.token, "TOKEN").replace(NOBODYS, "TOKEN")
            };
            let whole = text(&body);
            if field == "query" {
                without_likeness(&mut body);
            }
            (whole, (status, text(&body)))
        };
        let ((whole, one), (_, other)) = (answer(&value).await, answer(&absent).await);
        if let Some(told) = self.tells(&whole) {
            return Some(format!("{tool} {{{field}: {value}}}: {told}"));
        }
        (one != other).then(|| {
            format!("{tool} {{{field}: {value}}} differs from what does not exist:\n  {one:?}\n  {other:?}")
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_argument_of_any_tool_reaches_another_tenant() {
    let two = Two::new().await;
    let app = &two.served.app;
    let none = key(app, "none", &[], &Scope::ALL, |_| {}).await.1;
    let part = vec![two.ours.root().join("src")];
    let narrowed = key(app, "narrow", &[&two.ours.id], &Scope::ALL, |new| new.roots = Some(part)).await.1;
    let mut wrong = Vec::new();
    let mut asked = 0;
    for tool in LIST {
        let schema = Value::Object((tool.input)());
        for (field, rule) in schema["properties"].as_object().unwrap() {
            for pair in two.pairs(tool.name, field, rule) {
                asked += 1;
                let names =
                    ["project_id", "repoPath", "repo_path", "repo", "file", "path", "finding", "recordId"];
                let others = if names.contains(&field.as_str()) { &[&none, &narrowed][..] } else { &[] };
                for key in [&two.ours.key].iter().chain(others) {
                    wrong.extend(two.compare(key, tool.name, field, pair.clone()).await);
                }
            }
        }
    }
    assert!(asked > 100, "{asked}");
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
    // What would be found of oneself is found, so that nothing found means something.
    let own = json!({ "query": two.ours.token, "project_id": two.ours.id });
    let (_, found) = two.served.call(Some(&two.ours.key), "search", own).await;
    assert!(found["result"]["hits"].to_string().contains(&two.ours.token), "{found:#}");
    two.served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_tells_of_another_tenant() {
    let two = Two::new().await;
    let (served, theirs) = (&two.served, &two.theirs);
    let app = &served.app;
    let past = app.clock.now().as_millisecond() - 1000;
    let expired = key(app, "old", &[&theirs.id], &Scope::ALL, |new| new.expires_ms = Some(past)).await.1;
    let (revoked_id, revoked) = key(app, "gone", &[&theirs.id], &Scope::ALL, |_| {}).await;
    tenancy::revoke(app.store().await.unwrap(), &revoked_id, past).await.unwrap();
    let document: Value = http().get(served.at("/openapi.json")).send().await.unwrap().json().await.unwrap();
    let mut paths: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    paths.extend(["/sse", "/messages", "/mcp/readonly", "/mcp/x/search", "/nowhere"].map(str::to_owned));
    let (root, absent) = (theirs.root().to_string_lossy().into_owned(), project("absent"));
    let asks = async |key: Option<&str>, method: reqwest::Method, path: &str, id: &str, root: &str| {
        let url = served.at(&format!(
            "{path}?project_id={id}&repoPath={root}&repo={root}&sessionId={}",
            theirs.session.id
        ));
        let mut request = keyed(http().request(method.clone(), url), key)
            .header("x-pairofcleats-project", id)
            .header("mcp-session-id", &theirs.session.id)
            .header("last-event-id", "0/0")
            .header("accept", "application/json, text/event-stream");
        if method == reqwest::Method::POST {
            request =
                request.json(&json!({ "query": "coin", "project_id": id, "repoPath": root, "repo": root }));
        }
        let response = request.timeout(std::time::Duration::from_secs(30)).send().await.unwrap();
        let status = response.status().as_u16();
        // A stream that stays open was opened; it has begun with its head.
        let endless = path == "/sse" && status == 200;
        let text = if endless { String::new() } else { response.text().await.unwrap() };
        (status, text)
    };
    for path in &paths {
        for method in [reqwest::Method::GET, reqwest::Method::POST, reqwest::Method::DELETE] {
            let path = path.replace("{name}", "search").replace("{toolsets}", "search");
            let what = format!("{method} {path}");
            let (status, text) = asks(Some(&two.ours.key), method.clone(), &path, &theirs.id, &root).await;
            let echoless = text.replace(&theirs.id, "ID").replace(&root, "ROOT");
            assert_eq!(two.tells(&echoless), None, "{what}");
            let (status_of_absent, _) =
                asks(Some(&two.ours.key), method.clone(), &path, &absent, "/no/such/place").await;
            assert_eq!(status, status_of_absent, "{what}: {text}");
            for key in [Some(expired.as_str()), Some(&revoked), None] {
                let (status, text) = asks(key, method.clone(), &path, &theirs.id, &root).await;
                let open = ["/health", "/openapi.json", "/docs", "/.well-known"]
                    .iter()
                    .any(|open| path.starts_with(open));
                assert!(open || status == 401, "{what} {key:?}: {status} {text}");
                let echoless = text.replace(&theirs.id, "ID").replace(&root, "ROOT");
                assert_eq!(two.tells(&echoless), None, "{what} {key:?}");
            }
        }
    }
    two.served.stop().await;
}

/// What an MCP client can ask, with what is another tenant's in it.
fn questions(two: &Two, id: &str, name: &str, file: &str, cursor: &str) -> Vec<(&'static str, Value)> {
    let uri = |query: &str| format!("repo://{name}/{file}{query}");
    let template = json!({ "type": "ref/resource", "uri": "repo://{repository}/{+path}{?project}" });
    let complete = |argument: &str, value: &str, context: Value| json!({ "ref": template, "argument": { "name": argument, "value": value }, "context": { "arguments": context } });
    let mut asked = vec![
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/list", json!({ "cursor": cursor })),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": uri("") })),
        ("resources/read", json!({ "uri": uri(&format!("?project={id}")) })),
        ("resources/subscribe", json!({ "uri": uri("") })),
        ("resources/unsubscribe", json!({ "uri": uri("") })),
        ("completion/complete", complete("project", &id[..3], json!({}))),
        ("completion/complete", complete("repository", &name[..4], json!({}))),
        ("completion/complete", complete("repository", "", json!({ "project": id }))),
        ("completion/complete", complete("path", &file[..6], json!({ "repository": name }))),
        ("completion/complete", complete("path", "", json!({ "repository": name, "project": id }))),
        ("logging/setLevel", json!({ "level": "debug" })),
        (
            "tools/call",
            json!({ "name": "search", "arguments": { "query": two.theirs.token, "project_id": id } }),
        ),
        ("tools/call", json!({ "name": "workspace_status", "arguments": {} })),
        ("tools/call", json!({ "name": "check_status", "arguments": { "project_id": id } })),
    ];
    for prompt in ["find_code", "explain_code", "onboard"] {
        let arguments = json!({ "name": prompt, "arguments": { "question": "coin", "query": "coin", "what": "coin",
            "path": file, "file": file, "repository": name, "repo": name, "project": id, "project_id": id } });
        asked.push(("prompts/get", arguments));
        for argument in ["project", "repository", "repo", "path", "file"] {
            asked.push((
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": prompt }, "argument": { "name": argument, "value": "" } }),
            ));
        }
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mcp_method_tells_of_another_tenant() {
    let two = Two::new().await;
    let (served, theirs) = (&two.served, &two.theirs);
    let session = served.open("/mcp", Some(&two.ours.key)).await;
    let absent = theirs.id.replace("theirs", "absent");
    let nothing = |text: String| text.replace(&theirs.token, NOBODYS);
    let about = |id: &str, name: &str, file: &str| questions(&two, id, name, file, &theirs.cursor);
    let real = about(&theirs.id, &theirs.name(), &theirs.file());
    let unreal = about(&absent, &nothing(theirs.name()), &nothing(theirs.file()));
    for as_project in [None, Some(theirs.id.as_str())] {
        let ask = async |(method, params): &(&'static str, Value), id: &str| {
            let asked = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
            let mut request = keyed(http().post(&session.url), session.key.as_deref())
                .header("accept", "application/json, text/event-stream")
                .header("mcp-session-id", &session.id)
                .json(&asked);
            if as_project.is_some() {
                request = request.header("x-pairofcleats-project", id);
            }
            message(request.send().await.unwrap()).await
        };
        for (real, unreal) in real.iter().zip(&unreal) {
            let (one, other) = (ask(real, &theirs.id).await, ask(unreal, &absent).await);
            let (sent, sent_other) = (echoes(&real.1), echoes(&unreal.1));
            let mut own = vec![json!(theirs.id)];
            own.extend(sent);
            let mut own_other = vec![json!(absent)];
            own_other.extend(sent_other);
            let one = told(&one, &own.iter().collect::<Vec<_>>()).replace(&theirs.token, "TOKEN");
            let other = told(&other, &own_other.iter().collect::<Vec<_>>()).replace(NOBODYS, "TOKEN");
            assert_eq!(two.tells(&one), None, "{real:?}");
            assert_eq!(one, other, "{real:?}");
        }
    }
    // A session of theirs is nobody's: neither to speak in, nor to listen to from where it stood, nor to end.
    let stolen = Session { key: Some(two.ours.key.clone()), ..theirs.session.clone() };
    let unknown = Session { id: "0".repeat(32), ..stolen.clone() };
    for from in [None, Some("0/0"), Some("1"), Some("0")] {
        for method in [reqwest::Method::GET, reqwest::Method::POST, reqwest::Method::DELETE] {
            let ask = async |session: &Session| {
                let mut request = keyed(http().request(method.clone(), &session.url), session.key.as_deref())
                    .header("accept", "application/json, text/event-stream")
                    .header("mcp-session-id", &session.id);
                if let Some(from) = from {
                    request = request.header("last-event-id", from);
                }
                if method == reqwest::Method::POST {
                    request = request.json(&json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" }));
                }
                let response = request.send().await.unwrap();
                let status = response.status().as_u16();
                let body: Value = response.json().await.unwrap_or_default();
                (status, told(&body, &[]))
            };
            let (one, other) = (ask(&stolen).await, ask(&unknown).await);
            assert_eq!((one.0, &one), (404, &other), "{method} {from:?}");
        }
    }
    let alive = theirs.session.post(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })).await;
    assert_eq!(alive.status(), 200, "their session lives on");
    two.served.stop().await;
}

/// Every text that was sent, the longest first, so that what echoes it can be taken out.
fn echoes(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.len() > 3 => found.push(value.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    found.sort_by_key(|text| std::cmp::Reverse(text.to_string().len()));
    found
}
