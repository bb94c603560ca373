//! The catalog's routes: versions of answers, entries that do not exist, and the stream of differences.

use std::time::{Duration, Instant};

use contract::clock::{Clock, SystemClock, iso_millis};
use contract::config::Required;
use gate::app::App;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tenancy::{NewKey, Projects, Scope};

use super::{entry, import, sha256sum};
use crate::harness::{Repository, call, http, project, result};
use crate::serving::{TestServer, send_json, with_key};

async fn send(request: RequestBuilder) -> Response {
    request.send().await.unwrap()
}

fn etag(response: &Response) -> String {
    response.headers()[ETAG].to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_a_version_that_changes_with_what_it_says() {
    let (server, project) = (TestServer::start(|_| ()).await, project("http-list"));
    let imported = import(&server.app, &project, &[entry("a", "A"), entry("b", "B")], json!({})).await;
    let url = |query: &str| server.url_of(&format!("/instructions?project_id={project}{query}"));
    let known = |tag: &str| http().get(url("")).header(IF_NONE_MATCH, tag);

    let first = send(http().get(url(""))).await;
    let tag = etag(&first);
    assert!(tag.starts_with(&format!("W/\"{}.", imported["hash"].as_str().unwrap())), "{tag}");
    assert_eq!(first.headers()["cache-control"], "private, no-cache");
    let body: Value = first.json().await.unwrap();
    let (_, called) = server.call(None, "instructions_list", json!({ "project_id": project })).await;
    assert_eq!(body["result"], called["result"], "the answer of the tool");
    let unchanged = send(known(&tag)).await;
    assert_eq!((unchanged.status().as_u16(), etag(&unchanged)), (304, tag.clone()));
    assert_eq!(unchanged.text().await.unwrap(), "");

    result(&server.app, "usage_track", json!({ "id": "a", "project_id": project })).await;
    assert_eq!(send(known(&tag)).await.status(), 304, "use changes no instruction");
    let mut retitled = entry("a", "A");
    retitled["title"] = "Another title".into();
    let again = import(&server.app, &project, &[retitled], json!({ "mode": "overwrite" })).await;
    assert_eq!(again["hash"], imported["hash"], "a title is metadata");
    let changed = send(known(&tag)).await;
    assert_eq!(changed.status(), 200);
    let second_tag = etag(&changed);
    assert_ne!(second_tag, tag);
    assert_eq!(changed.json::<Value>().await.unwrap()["result"]["items"][0]["title"], "Another title");
    assert_eq!(send(known(&format!("\"x\", {second_tag}"))).await.status(), 304);

    let (_, filtered) = send_json(http().get(url("&category=Test&limit=1&fields=summary"))).await;
    let result = &filtered["result"];
    assert_eq!((&result["count"], &result["nextCursor"]), (&json!(2), &json!("a")), "{filtered:#}");
    assert!(result["items"][0].get("body").is_none());
    let (_, rest) = send_json(http().get(url("&category=test&cursor=a"))).await;
    assert_eq!(super::ids(&rest["result"]["items"]), ["b"]);
    let (_, none) = send_json(http().get(url("&category=other"))).await;
    assert_eq!(none["result"]["count"], 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instruction_has_a_route_and_without_one_it_is_not_found() {
    let (server, project) = (TestServer::start(|_| ()).await, project("http-get"));
    import(&server.app, &project, &[entry("a", "A")], json!({})).await;
    let get = |path: &str| http().get(server.url_of(&format!("/instructions/{path}project_id={project}")));
    let found = send(get("a?")).await;
    let tag = etag(&found);
    assert_eq!(found.json::<Value>().await.unwrap()["result"]["item"]["body"], "A");
    assert_eq!(send(get("a?").header(IF_NONE_MATCH, &tag)).await.status(), 304);
    for (path, status, code) in [
        ("b?", 404, "NOT_FOUND"),
        ("%3Cscript%3E?", 404, "NOT_FOUND"),
        ("%FF?", 404, "NOT_FOUND"),
        ("a?nonsense=1&", 400, "INVALID_REQUEST"),
        ("a?id=b&", 400, "INVALID_REQUEST"),
        ("a?project_id=x&", 400, "INVALID_REQUEST"),
    ] {
        let response = send(get(path)).await;
        assert!(response.headers().get(ETAG).is_none(), "{path}: a failure has no version");
        let (got, body) = (response.status().as_u16(), response.json::<Value>().await.unwrap());
        assert_eq!((got, body["error"]["code"].as_str()), (status, Some(code)), "{path}: {body:#}");
    }
    let list = |query: &str| send_json(http().get(server.url_of(&format!("/instructions?{query}"))));
    for (query, status) in [
        ("nonsense=1".to_owned(), 400),
        ("limit=many".to_owned(), 400),
        ("limit=0".to_owned(), 400),
        ("fields=some".to_owned(), 400),
        ("project_id=A".to_owned(), 400),
        (format!("project_id={}", crate::harness::project("absent")), 409),
    ] {
        let (got, body) = list(&query).await;
        assert_eq!((got.as_u16(), &body["ok"]), (status, &json!(false)), "{query}: {body:#}");
    }
    server.stop().await;
}

async fn key_with(app: &App, scope: Scope) -> String {
    let new = NewKey {
        name: "test".into(),
        projects: Projects::All,
        scopes: [scope].into_iter().collect(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let now_ms = app.clock.now().as_millisecond();
    tenancy::issue_key(app.store().await.unwrap(), new, now_ms).await.unwrap().secret
}

#[tokio::test(flavor = "multi_thread")]
async fn the_routes_need_the_scope_of_the_catalog() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let project = project("http-scope");
    import(&server.app, &project, &[entry("a", "A")], json!({})).await;
    let (reader, searcher) =
        (key_with(&server.app, Scope::Instructions).await, key_with(&server.app, Scope::Search).await);
    for path in ["/instructions", "/instructions/a"] {
        let get = |key: Option<&str>| {
            send(with_key(http().get(server.url_of(&format!("{path}?project_id={project}"))), key))
        };
        assert_eq!(get(None).await.status(), 401, "{path}");
        assert_eq!(get(Some(&searcher)).await.status(), 403, "{path}");
        assert_eq!(get(Some(&reader)).await.status(), 200, "{path}");
    }
    let stream = async |key: &str| {
        let request = http().post(server.url_of("/instructions/diff/stream"));
        events(with_key(request, Some(key)).json(&json!({ "known": [], "project_id": project }))).await
    };
    assert_eq!(names(&stream(&reader).await), ["start", "added", "done"]);
    let refused = stream(&searcher).await;
    assert_eq!(names(&refused), ["error", "done"]);
    assert_eq!(refused[0].1["error"]["code"], "FORBIDDEN");
    server.stop().await;
}

/// Names and envelopes of all events of a stream.
async fn events(request: RequestBuilder) -> Vec<(String, Value)> {
    let response = send(request).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    parsed(&response.text().await.unwrap())
}

fn parsed(text: &str) -> Vec<(String, Value)> {
    let blocks = text.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':'));
    let field = |block: &str, name: &str| {
        block
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_else(|| panic!("{block}"))
            .trim()
            .to_owned()
    };
    blocks
        .map(|block| (field(block, "event:"), serde_json::from_str(&field(block, "data:")).unwrap()))
        .collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_says_what_a_difference_says() {
    let (server, project) = (TestServer::start(|_| ()).await, project("http-stream"));
    let some: Vec<Value> = (0..40).map(|at| entry(&format!("n-{at:02}"), &format!("Body {at}"))).collect();
    let first = import(&server.app, &project, &some, json!({})).await;
    let mut invisible = entry("z", "A zero\u{200b}width space.");
    invisible["categories"] = json!([]);
    import(&server.app, &project, &[invisible, entry("n-03", "New")], json!({ "mode": "overwrite" })).await;
    result(&server.app, "instructions_remove", json!({ "ids": ["n-05"], "project_id": project })).await;
    result(&server.app, "usage_track", json!({ "id": "n-03", "project_id": project })).await;
    let current = result(&server.app, "instructions_checksums", json!({ "project_id": project })).await;
    let known = |id: &str, body: &str| json!({ "id": id, "sourceHash": sha256sum(body) });
    let client =
        [known("n-00", "Body 0"), known("n-03", "Body 3"), known("gone", "x"), known("n-05", "Body 5")];
    let bucket = &sha256sum("n-03")[..1];
    for arguments in [
        json!({ "known": client }),
        json!({ "known": client, "buckets": [bucket] }),
        json!({ "known": client, "cursor": "n-10" }),
        json!({ "known": [] }),
        json!({ "sinceRevision": first["revision"] }),
        json!({ "clientHash": current["hash"] }),
        json!({ "clientHash": first["hash"] }),
        json!({}),
    ] {
        let mut arguments = arguments;
        arguments["project_id"] = project.clone().into();
        let expected = result(&server.app, "instructions_diff", arguments.clone()).await;
        let events = events(http().post(server.url_of("/instructions/diff/stream")).json(&arguments)).await;
        let of = |wanted: &str| -> Vec<Value> {
            let mut found = Vec::new();
            for (name, envelope) in &events {
                assert_eq!(envelope["ok"], true, "{name}: {envelope:#}");
                if name == wanted {
                    found.push(envelope["result"].clone());
                }
            }
            found
        };
        let start = json!({ "hash": expected["hash"], "metaHash": expected["metaHash"], "revision": expected["revision"] });
        assert_eq!((of("start"), of("done")), (vec![start], vec![json!({ "hash": expected["hash"] })]));
        let mut order = vec!["start"];
        for name in ["added", "updated", "removed", "changed"] {
            let wanted = expected[name].as_array().cloned().unwrap_or_default();
            let wanted: Vec<Value> = match name {
                "removed" => wanted.into_iter().map(|id| json!({ "id": id })).collect(),
                _ => wanted,
            };
            order.extend(vec![name; wanted.len()]);
            assert_eq!(of(name), wanted, "{arguments}: {name}");
        }
        order.push("done");
        assert_eq!(names(&events), order, "{arguments}");
        let warnings = &events.last().unwrap().1["_meta"]["warnings"];
        let is_escaped = events.iter().any(|(_, envelope)| envelope["result"]["id"] == "z");
        assert_eq!(warnings[0]["code"] == "invisible_characters", is_escaped, "{arguments}: {warnings}");
    }
    for (arguments, code) in [
        (json!({ "sinceRevision": 99, "project_id": project }), "ILLEGAL_STATE"),
        (json!({ "nonsense": 1, "project_id": project }), "INVALID_REQUEST"),
        (json!({ "project_id": crate::harness::project("absent") }), "NO_INDEX"),
    ] {
        let failed = events(http().post(server.url_of("/instructions/diff/stream")).json(&arguments)).await;
        assert_eq!(names(&failed), ["error", "done"], "{arguments}");
        assert_eq!(failed[0].1["error"]["code"], code);
        assert_eq!(failed[1].1["result"], json!({}), "no hash, because the client lacks something");
    }
    let broken =
        http().post(server.url_of("/instructions/diff/stream")).header("content-type", "application/json");
    assert_eq!(send(broken.body("{")).await.status(), 400);
    server.stop().await;
}

/// Entries that the server may have read, but the client not: those in the buffers of both sockets, which the system grows to a
/// few megabytes.
const AHEAD_MAX: usize = 1500;
/// Less than `server.write_ms`.
const PAUSE_MAX: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_slows_the_stream_down_and_one_that_goes_ends_it() {
    let (server, project) = (TestServer::start(|_| ()).await, project("http-slow"));
    let text = "x".repeat(10_000);
    let all: Vec<Value> = (0..3000).map(|at| entry(&format!("n-{at:04}"), &format!("{at} {text}"))).collect();
    for part in all.chunks(1000) {
        import(&server.app, &project, part, json!({})).await;
    }
    let request = || {
        http()
            .post(server.url_of("/instructions/diff/stream"))
            .json(&json!({ "known": [], "project_id": project }))
    };
    let started = Instant::now();
    let expected = events(request()).await;
    // In this time a server that did not wait for the client would make all events. On a machine that is so busy that it takes
    // longer, the server would give the connection up.
    let pause = started.elapsed().min(PAUSE_MAX);

    let mut response = send(request()).await;
    let mut received = response.chunk().await.unwrap().unwrap().to_vec();
    tokio::time::sleep(pause).await;
    let resumed_at = iso_millis(SystemClock.now());
    while let Some(chunk) = response.chunk().await.unwrap() {
        received.extend(chunk);
    }
    let events = parsed(&String::from_utf8(received).unwrap());
    assert_eq!(events.len(), 3002);
    let results = |events: &[(String, Value)]| -> Vec<Value> {
        events.iter().map(|(_, event)| event["result"].clone()).collect()
    };
    assert!(results(&events) == results(&expected), "a slow client receives the same");
    assert!(events[1..3001].is_sorted_by_key(|(_, event)| event["result"]["id"].as_str().unwrap()));
    let is_ahead = |event: &&(String, Value)| event.1["_meta"]["ts"].as_str().unwrap() < resumed_at.as_str();
    let ahead = events.iter().filter(is_ahead).count();
    assert!((1..AHEAD_MAX).contains(&ahead), "{ahead} events were made while the client did not read");

    let mut response = send(request()).await;
    response.chunk().await.unwrap().unwrap();
    drop(response);
    let ended = "pairofcleats_tool_calls_total{tool=\"instructions/diff/stream\",surface=\"http\",outcome=\"CANCELLED\"} 1";
    for _ in 0..1200 {
        if server.app.metrics_text().lines().any(|line| line == ended) {
            return server.stop().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the stream does not end: {}", server.app.metrics_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_says_when_the_catalog_was_changed_under_it() {
    let (server, project) = (TestServer::start(|_| ()).await, project("http-moved"));
    let text = "x".repeat(10_000);
    let all: Vec<Value> = (0..3000).map(|at| entry(&format!("n-{at:04}"), &format!("{at} {text}"))).collect();
    for part in all.chunks(1000) {
        import(&server.app, &project, part, json!({})).await;
    }
    let request = http().post(server.url_of("/instructions/diff/stream"));
    let mut response = send(request.json(&json!({ "known": [], "project_id": project }))).await;
    let mut received = response.chunk().await.unwrap().unwrap().to_vec();
    import(&server.app, &project, &[entry("later", "Later.")], json!({})).await;
    while let Some(chunk) = response.chunk().await.unwrap() {
        received.extend(chunk);
    }
    let events = parsed(&String::from_utf8(received).unwrap());
    let (name, last) = &events[events.len() - 2];
    assert_eq!((name.as_str(), &last["error"]["code"]), ("error", &json!("ILLEGAL_STATE")), "{last:#}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_search_shows_rules_to_those_who_may_not_read_the_catalog() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let project = project("http-records");
    let repository = Repository::new(&[("canary.py", "def canary():\n    return 'code'\n")]);
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    import(&server.app, &project, &[entry("hidden", "The canary sings at nine.")], json!({})).await;
    let search = json!({ "query": "canary", "mode": "all", "project_id": project });
    let files = |body: &Value| -> Vec<String> {
        let hits = body["result"]["hits"].as_array().unwrap_or_else(|| panic!("{body:#}"));
        hits.iter().map(|hit| hit["file"].as_str().unwrap().to_owned()).collect()
    };
    for _ in 0..200 {
        if files(&call(&server.app, "search", search.clone()).await)
            .contains(&"instructions/hidden.md".to_owned())
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let seen = call(&server.app, "search", search.clone()).await;
    assert!(files(&seen).contains(&"instructions/hidden.md".to_owned()), "the operator sees it: {seen:#}");
    let hidden = seen["result"]["hits"].as_array().unwrap().iter().find(|hit| hit["file"] != "canary.py");
    let id = hidden.unwrap()["id"].clone();
    let key = key_with(&server.app, Scope::Search).await;
    let (_, body) = server.call(Some(&key), "search", search).await;
    assert_eq!(files(&body), ["canary.py"], "{body:#}");
    for arguments in [json!({ "file": "instructions/hidden.md" }), json!({ "id": id })] {
        let mut arguments = arguments;
        arguments["project_id"] = project.as_str().into();
        let (status, body) = server.call(Some(&key), "show_file", arguments).await;
        assert_eq!((status.as_u16(), &body["error"]["code"]), (404, &json!("NOT_FOUND")), "{body:#}");
        assert!(!body.to_string().contains("sings"), "{body:#}");
    }
    server.stop().await;
}
