//! Calls every tool, route and MCP method as one tenant with values of another tenant: no answer contains anything of the other
//! tenant, and each equals the answer for a value that does not exist.

use serde_json::{Map, Value, json};
use tenancy::Scope;

use super::tenants::{TwoTenants, issue_key};
use crate::harness::{http, modules, project};
use crate::serving::{Session, last_message, with_key};
use crate::valid_arguments::ToolSubject;

/// A value of the other tenant, and a similar one that does not exist.
type ValuePair = (Value, Value);

/// A token that occurs nowhere, as long as those of the tenants, because some answers reveal the length of what was sent.
const UNUSED_TOKEN: &str = "zq00000000000000000000";

/// Fields of an answer that differ from call to call.
const VARYING_FIELDS: &[&str] = &[
    "ts", "durationMs", "requestId", "jobId", "createdAt", "finishedAt", "indexedAt", "startedAt",
    "uptimeMs", "elapsedMs", "ms", "serverMs", "jobs", "report", "memory", "writtenAt", "builtAt", "pool",
    "queues", "bytes", "disk", "freeBytes",
];

/// An answer without varying fields and with all sent values replaced, so that two answers can be compared.
fn normalized(answer: &Value, sent: &[Value]) -> String {
    fn remove_varying_fields(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| {
                    !VARYING_FIELDS.contains(&name.as_str())
                        && !name.ends_with("Ms")
                        && !name.ends_with("_ms")
                });
                fields.values_mut().for_each(remove_varying_fields);
            }
            Value::Array(items) => items.iter_mut().for_each(remove_varying_fields),
            // The text of a tool's result is an envelope again.
            Value::String(text) if text.starts_with('{') => {
                if let Ok(mut inner) = serde_json::from_str(text) {
                    remove_varying_fields(&mut inner);
                    *value = inner;
                }
            }
            _ => {}
        }
    }
    let mut answer = answer.clone();
    remove_varying_fields(&mut answer);
    let text = without_sent(&answer.to_string(), sent);
    // Record names and checksums depend on the content or the time of the build.
    regex::Regex::new("[0-9a-f]{40,64}").unwrap().replace_all(&text, "HASH").into_owned()
}

/// The text of an answer with all sent texts replaced.
fn without_sent(answer: &str, sent: &[Value]) -> String {
    let mut sent: Vec<&str> = sent.iter().filter_map(Value::as_str).collect();
    // The longest first, because a shorter text may be part of a longer one.
    sent.sort_by_key(|sent| std::cmp::Reverse(sent.len()));
    let mut text = answer.to_owned();
    for sent in sent {
        // As it is, escaped as in JSON, and in lower case.
        let quoted = json!(sent).to_string();
        for form in [sent, &quoted[1..quoted.len() - 1], &sent.to_lowercase()] {
            text = text.replace(form, "SENT");
        }
    }
    text
}

/// Removes from a search answer what depends on the similarity of texts: scores, snippets and the order. Two tokens differ in
/// their similarity to the tenant's own files.
fn remove_similarity(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !["score", "similarity_score", "confidence", "content", "next"].contains(&name.as_str())
                    && !name.starts_with("snippet")
            });
            fields.values_mut().for_each(remove_similarity);
        }
        Value::Array(items) => {
            items.iter_mut().for_each(remove_similarity);
            items.sort_by_key(Value::to_string);
        }
        _ => {}
    }
}

impl TwoTenants {
    /// Finds a secret of the other tenant in a text.
    fn leak_in(&self, text: &str) -> Option<String> {
        let theirs = &self.theirs;
        let root = theirs.root().to_string_lossy().into_owned();
        [&theirs.token, &theirs.id, &root, &theirs.key_id, &theirs.session.id, &theirs.finding, &theirs.job]
            .into_iter()
            .find(|secret| text.to_lowercase().contains(&secret.to_lowercase()))
            .map(|secret| format!("`{secret}` occurs in {text}"))
    }

    /// Finds a secret of the other tenant in an answer, apart from what was sent. Parts of a sent value may be echoed, so the
    /// token is ignored if it was sent; comparing the answer with that for an absent value still finds it in other data.
    fn leak_in_answer(&self, answer: &Value, sent: &[Value]) -> Option<String> {
        let mut text = without_sent(&answer.to_string(), sent);
        if sent.iter().any(|sent| sent.to_string().contains(&self.theirs.token)) {
            text = text.replace(&self.theirs.token, "TOKEN");
        }
        self.leak_in(&text)
    }

    /// Values of the other tenant for a field of this name, each with an absent one.
    fn value_pairs(&self, tool: &str, field: &str, schema: &Value) -> Vec<ValuePair> {
        let theirs = &self.theirs;
        let as_absent = |text: &str| text.replace(&theirs.token, UNUSED_TOKEN);
        let text = |text: &str| (json!(text), json!(as_absent(text)));
        match field {
            "project_id" => vec![(json!(theirs.id), json!(theirs.id.replace("theirs", "absent")))],
            "repoPath" | "repo_path" | "repo" | "artifactsDir" | "dir" | "out" => {
                let root = theirs.root().to_string_lossy().into_owned();
                vec![text(&root), text(&theirs.repository_name()), text(&format!("{root}/src"))]
            }
            "file" | "path" => vec![text(&theirs.file()), text(&format!("../{}", theirs.file()))],
            // Our own project may have a chunk with this number, so both are the same and only leaks are checked.
            "id" => vec![(json!(theirs.chunk()), json!(theirs.chunk()))],
            "hit" => {
                let absent = serde_json::from_str(&as_absent(&theirs.hit.to_string())).unwrap();
                let id_only = json!({ "id": theirs.chunk() });
                vec![(theirs.hit.clone(), absent), (id_only.clone(), id_only)]
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
                    // A download would access the network.
                    (true, _) if tool.starts_with("download") => Vec::new(),
                    (true, _) => vec![text(&theirs.token)],
                    (false, true) => vec![(json!([theirs.token]), json!([UNUSED_TOKEN]))],
                    _ => Vec::new(),
                }
            }
        }
    }

    /// Arguments with which the tool succeeds in our own project.
    fn own_arguments(&self, tool: &str) -> Map<String, Value> {
        let root = self.ours.root().to_string_lossy().into_owned();
        let subject = ToolSubject {
            project: &self.ours.id,
            root: &root,
            file: &self.ours.file(),
            word: "common_name",
            finding: &self.ours.finding,
        };
        subject.arguments(tool).as_object().cloned().unwrap()
    }

    /// Calls a tool with a value of the other tenant and with an absent one. Returns what is wrong with the answers.
    async fn compare(
        &self,
        key: &str,
        tool: &str,
        field: &str,
        (value, absent): ValuePair,
    ) -> Option<String> {
        let answer = async |value: &Value| {
            let mut arguments = self.own_arguments(tool);
            arguments.insert(field.to_owned(), value.clone());
            if field == "file" {
                arguments.remove("path");
            }
            if matches!(field, "id" | "hit") {
                arguments.retain(|name, _| name == field || name == "project_id");
            }
            let (status, mut body) = self.server.call(Some(key), tool, Value::Object(arguments)).await;
            let sent = texts_in(value);
            let leak = self.leak_in_answer(&body, &sent);
            if field == "query" {
                remove_similarity(&mut body);
            }
            let text = normalized(&body, &sent);
            (leak, (status, text.replace(&self.theirs.token, "TOKEN").replace(UNUSED_TOKEN, "TOKEN")))
        };
        let ((leak, one), (_, other)) = (answer(&value).await, answer(&absent).await);
        if let Some(leak) = leak {
            return Some(format!("{tool} {{{field}: {value}}}: {leak}"));
        }
        (one != other).then(|| {
            format!("{tool} {{{field}: {value}}} differs from the answer for an absent value:\n  {one:?}\n  {other:?}")
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_argument_reaches_another_tenant() {
    let tenants = TwoTenants::new().await;
    let app = &tenants.server.app;
    let no_projects_key = issue_key(app, "none", &[], &Scope::ALL, |_| {}).await.1;
    let roots = vec![tenants.ours.root().join("src")];
    let narrow_roots_key =
        issue_key(app, "narrow", &[&tenants.ours.id], &Scope::ALL, |new| new.roots = Some(roots)).await.1;
    let mut failures = Vec::new();
    let mut checked = 0;
    for tool in modules().list_of_tools() {
        let schema = Value::Object((tool.input)());
        for (field, rule) in schema["properties"].as_object().unwrap() {
            for pair in tenants.value_pairs(tool.name, field, rule) {
                checked += 1;
                let names =
                    ["project_id", "repoPath", "repo_path", "repo", "file", "path", "finding", "recordId"];
                let more_keys = if names.contains(&field.as_str()) {
                    &[&no_projects_key, &narrow_roots_key][..]
                } else {
                    &[]
                };
                for key in [&tenants.ours.key].iter().chain(more_keys) {
                    failures.extend(tenants.compare(key, tool.name, field, pair.clone()).await);
                }
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(failures.is_empty(), "{} of {checked}:\n{}", failures.len(), failures.join("\n"));
    // The same search finds the tenant's own token, so empty answers above are meaningful.
    let own = json!({ "query": tenants.ours.token, "project_id": tenants.ours.id });
    let (_, found) = tenants.server.call(Some(&tenants.ours.key), "search", own).await;
    assert!(found["result"]["hits"].to_string().contains(&tenants.ours.token), "{found:#}");
    tenants.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_reveals_another_tenant() {
    let tenants = TwoTenants::new().await;
    let (server, theirs) = (&tenants.server, &tenants.theirs);
    let app = &server.app;
    let past = app.clock.now().as_millisecond() - 1000;
    let expired =
        issue_key(app, "old", &[&theirs.id], &Scope::ALL, |new| new.expires_ms = Some(past)).await.1;
    let (revoked_id, revoked) = issue_key(app, "gone", &[&theirs.id], &Scope::ALL, |_| {}).await;
    tenancy::revoke_key(app.store().await.unwrap(), &revoked_id, past).await.unwrap();
    let document: Value =
        http().get(server.url_of("/openapi.json")).send().await.unwrap().json().await.unwrap();
    let mut paths: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    paths.extend(
        ["/webhooks/git", "/sse", "/messages", "/mcp/readonly", "/mcp/x/search", "/nowhere"]
            .map(str::to_owned),
    );
    let (root, absent) = (theirs.root().to_string_lossy().into_owned(), project("absent"));
    let send = async |key: Option<&str>, method: reqwest::Method, path: &str, id: &str, root: &str| {
        let url = server.url_of(&format!(
            "{path}?project_id={id}&repoPath={root}&repo={root}&sessionId={}",
            theirs.session.id
        ));
        let mut request = with_key(http().request(method.clone(), url), key)
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
        // An accepted SSE stream never ends, so only its status is read.
        let is_stream = path == "/sse" && status == 200;
        let text = if is_stream { String::new() } else { response.text().await.unwrap() };
        (status, text)
    };
    for path in &paths {
        for method in [reqwest::Method::GET, reqwest::Method::POST, reqwest::Method::DELETE] {
            let path = path.replace("{name}", "search").replace("{toolsets}", "search");
            let label = format!("{method} {path}");
            let (status, text) =
                send(Some(&tenants.ours.key), method.clone(), &path, &theirs.id, &root).await;
            let without_sent_values = text.replace(&theirs.id, "ID").replace(&root, "ROOT");
            assert_eq!(tenants.leak_in(&without_sent_values), None, "{label}");
            let (absent_status, _) =
                send(Some(&tenants.ours.key), method.clone(), &path, &absent, "/no/such/place").await;
            assert_eq!(status, absent_status, "{label}: {text}");
            for key in [Some(expired.as_str()), Some(&revoked), None] {
                let (status, text) = send(key, method.clone(), &path, &theirs.id, &root).await;
                // Webhooks have a secret of their own.
                let open = ["/health", "/openapi.json", "/docs", "/.well-known", "/webhooks/git"]
                    .iter()
                    .any(|open| path.starts_with(open));
                assert!(open || status == 401, "{label} {key:?}: {status} {text}");
                let without_sent_values = text.replace(&theirs.id, "ID").replace(&root, "ROOT");
                assert_eq!(tenants.leak_in(&without_sent_values), None, "{label} {key:?}");
            }
        }
    }
    tenants.server.stop().await;
}

/// MCP requests with values of another tenant.
fn mcp_requests(
    tenants: &TwoTenants,
    id: &str,
    name: &str,
    file: &str,
    cursor: &str,
) -> Vec<(&'static str, Value)> {
    let uri = |query: &str| format!("repo://{name}/{file}{query}");
    let template = json!({ "type": "ref/resource", "uri": "repo://{repository}/{+path}{?project}" });
    let complete = |argument: &str, value: &str, context: Value| json!({ "ref": template, "argument": { "name": argument, "value": value }, "context": { "arguments": context } });
    let mut requests = vec![
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
            json!({ "name": "search", "arguments": { "query": tenants.theirs.token, "project_id": id } }),
        ),
        ("tools/call", json!({ "name": "workspace_status", "arguments": {} })),
        ("tools/call", json!({ "name": "check_status", "arguments": { "project_id": id } })),
    ];
    for prompt in ["find_code", "explain_code", "onboard"] {
        let arguments = json!({ "name": prompt, "arguments": { "question": "coin", "query": "coin", "what": "coin",
            "path": file, "file": file, "repository": name, "repo": name, "project": id, "project_id": id } });
        requests.push(("prompts/get", arguments));
        for argument in ["project", "repository", "repo", "path", "file"] {
            requests.push((
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": prompt }, "argument": { "name": argument, "value": "" } }),
            ));
        }
    }
    requests
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mcp_method_reveals_another_tenant() {
    let tenants = TwoTenants::new().await;
    let (server, theirs) = (&tenants.server, &tenants.theirs);
    let session = server.open("/mcp", Some(&tenants.ours.key)).await;
    let absent = theirs.id.replace("theirs", "absent");
    let with_unused_token = |text: String| text.replace(&theirs.token, UNUSED_TOKEN);
    let requests_about =
        |id: &str, name: &str, file: &str| mcp_requests(&tenants, id, name, file, &theirs.cursor);
    let existing = requests_about(&theirs.id, &theirs.repository_name(), &theirs.file());
    let absent_requests = requests_about(
        &absent,
        &with_unused_token(theirs.repository_name()),
        &with_unused_token(theirs.file()),
    );
    for project_header in [None, Some(theirs.id.as_str())] {
        let send = async |(method, params): &(&'static str, Value), id: &str| {
            let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
            let mut request = with_key(http().post(&session.url), session.key.as_deref())
                .header("accept", "application/json, text/event-stream")
                .header("mcp-session-id", &session.id)
                .json(&message);
            if project_header.is_some() {
                request = request.header("x-pairofcleats-project", id);
            }
            last_message(request.send().await.unwrap()).await
        };
        for (existing, absent_requests) in existing.iter().zip(&absent_requests) {
            let (one, other) = (send(existing, &theirs.id).await, send(absent_requests, &absent).await);
            let (sent, sent_other) = (texts_in(&existing.1), texts_in(&absent_requests.1));
            let mut sent_to_existing = vec![json!(theirs.id)];
            sent_to_existing.extend(sent);
            let mut sent_to_absent = vec![json!(absent)];
            sent_to_absent.extend(sent_other);
            assert_eq!(tenants.leak_in_answer(&one, &sent_to_existing), None, "{existing:?}");
            let one = normalized(&one, &sent_to_existing).replace(&theirs.token, "TOKEN");
            let other = normalized(&other, &sent_to_absent).replace(UNUSED_TOKEN, "TOKEN");
            assert_eq!(one, other, "{existing:?}");
        }
    }
    // A session of the other tenant is not found: neither to post to, nor to resume, nor to end.
    let stolen = Session { key: Some(tenants.ours.key.clone()), ..theirs.session.clone() };
    let unknown = Session { id: "0".repeat(32), ..stolen.clone() };
    for from in [None, Some("0/0"), Some("1"), Some("0")] {
        for method in [reqwest::Method::GET, reqwest::Method::POST, reqwest::Method::DELETE] {
            let send = async |session: &Session| {
                let mut request =
                    with_key(http().request(method.clone(), &session.url), session.key.as_deref())
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
                (status, normalized(&body, &[]))
            };
            let (one, other) = (send(&stolen).await, send(&unknown).await);
            assert_eq!((one.0, &one), (404, &other), "{method} {from:?}");
        }
    }
    let alive = theirs.session.post(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })).await;
    assert_eq!(alive.status(), 200, "their session still works");
    tenants.server.stop().await;
}

/// Every text inside a value, so that echoes of it can be replaced.
fn texts_in(value: &Value) -> Vec<Value> {
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
    found
}
