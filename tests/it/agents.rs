//! Parts of answers made for agents besides hits: callers, the repository, the matching lines, and messages about invalid calls.

use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, hit_files, index};
use crate::harness::{Repository, app, app_with_model, call, error, project, result, try_call};

const STACK: &str = "class AppContext:\n    def push(self):\n        return self.items\n\n\ndef enter(context):\n    context.push()\n";
const FINDER: &str = "pub fn collect(list: &mut List) {\n    list.push(1);\n}\n";

/// Indexes two repositories in one project.
async fn shop_with_two_repositories(
    name: &str,
    first: &[(&str, &str)],
    second: &[(&str, &str)],
) -> (IndexedProject, Repository) {
    let (app, project) = (app(), project(name));
    let (first, second) = (Repository::new(first), Repository::new(second));
    index(&app, &first, &project).await;
    index(&app, &second, &project).await;
    (IndexedProject::new(app, project, first), second)
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_taken_from_the_hits_own_repository() {
    let handler =
        "/a/very/long/path/that/goes/on/and/on/and/on/until/nobody/reads/it/any/more/and/further/still";
    let route =
        format!("import {{ answer }} from './answer'\n\napp.get('{handler}', (c) => {{\n  answer(c)\n}})\n");
    let files = [
        ("src/push.py", "def push(item):\n    return item\n"),
        ("src/enter.py", "from .push import push\n\n\ndef enter(context):\n    push(context)\n"),
        ("src/answer.ts", "export function answer(c) {\n  return c\n}\n"),
        ("src/routes.ts", route.as_str()),
    ];
    let (shop, _second) = shop_with_two_repositories("callers", &files, &[("src/finder.rs", FINDER)]).await;
    let found = shop.search("push", json!({ "path": "push.py" })).await;
    assert_eq!(found["hits"][0]["calledBy"], json!(["enter"]), "{found:#}");
    let other = shop.search("collect", json!({ "path": "finder.rs" })).await;
    assert_eq!(other["hits"][0]["name"], "collect", "{other:#}");
    let answer = shop.search("answer", json!({ "path": "answer.ts" })).await;
    let hit = &answer["hits"][0];
    let labels = hit["calledBy"].as_array().or(hit["mayBeCalledBy"].as_array()).unwrap();
    assert!(
        !labels.is_empty() && labels.iter().all(|label| label.as_str().unwrap().len() <= 80),
        "{labels:?}"
    );
    result(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project })).await;
    let file = shop.search("push", json!({ "backend": "sqlite", "path": "push.py" })).await;
    assert_eq!(file["hits"][0]["calledBy"], found["hits"][0]["calledBy"], "{file:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_names_its_repository_unless_the_search_was_limited_to_it() {
    let files = [("src/stack.py", STACK)];
    let (shop, _second) = shop_with_two_repositories(
        "named-repo",
        &files,
        &[("src/stack.py", STACK), ("src/finder.rs", FINDER)],
    )
    .await;
    let unlimited = shop.search("collect", json!({ "repoPath": "*", "path": "finder.rs" })).await;
    let hit = &unlimited["hits"][0];
    assert!(hit["repo"].is_string(), "{unlimited:#}");
    let location = json!({ "file": hit["file"], "repo": hit["repo"], "project_id": shop.project });
    assert_eq!(result(&shop.app, "show_file", location).await["repo"], hit["repo"]);
    let limited = shop.search("push", json!({ "repoPath": shop.repository.root() })).await;
    assert!(limited["hits"][0].get("repo").is_none(), "{limited:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_requested_line_is_shown() {
    let body: String =
        (0..120).map(|n| format!("    total += count_of_things_on_shelf_{n}(total)\n")).collect();
    let text = format!("def tally(total):\n{body}    return total\n");
    let (app, project) = (app(), project("anchored"));
    let repository = Repository::new(&[("src/tally.py", &text)]);
    index(&app, &repository, &project).await;
    for line in [1, 2, 30, 61, 90, 121, 122] {
        for max_tokens in [300, 400, 900] {
            let location = json!({ "file": "src/tally.py", "line": line, "maxTokens": max_tokens, "project_id": project });
            let file = result(&app, "show_file", location).await;
            let (start, end) = (file["startLine"].as_u64().unwrap(), file["endLine"].as_u64().unwrap());
            assert!(start <= line && line <= end, "line {line}, {max_tokens} tokens: {start}-{end}");
            let expected: Vec<&str> = text
                .lines()
                .skip(usize::try_from(start).unwrap() - 1)
                .take(usize::try_from(end - start).unwrap() + 1)
                .collect();
            assert_eq!(file["text"], expected.join("\n"), "line {line}, {max_tokens} tokens");
        }
    }
    // A hit names the line that matched; shortening keeps this line, too.
    let hit = json!({ "file": "src/tally.py", "startLine": 1, "endLine": 122, "line": 100 });
    let file =
        result(&app, "show_file", json!({ "hit": hit, "maxTokens": 400, "project_id": project })).await;
    assert!(
        file["startLine"].as_u64().unwrap() <= 100 && file["endLine"].as_u64().unwrap() >= 100,
        "{file:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_with_nul_are_refused_and_the_field_is_named() {
    let shop = IndexedProject::shop(app(), "nul").await;
    let in_project = |mut arguments: Value| {
        arguments["project_id"] = json!(shop.project);
        arguments
    };
    let mut table: Vec<(&str, String, Value)> = Vec::new();
    for field in [
        "path", "file", "ext", "lang", "type", "import", "calls", "uses", "signature", "param", "decorator",
        "inferredType", "returnType", "throws", "reads", "writes", "mutates", "alias", "awaits",
        "visibility", "extends", "risk", "riskTag", "riskSource", "author", "chunkAuthor", "modifiedAfter",
        "branch", "meta", "metaJson", "repoPath", "backend",
    ] {
        table.push(("search", field.to_owned(), json!({ "query": "order", field: "a\0b" })));
    }
    table.push(("search", "query".to_owned(), json!({ "query": "\"a\0b\"" })));
    table.push(("search", "path".to_owned(), json!({ "query": "order", "path": ["a", "b\0"] })));
    table.push(("search", "meta".to_owned(), json!({ "query": "order", "meta": { "a": "b\0" } })));
    table.push(("search_code", "query".to_owned(), json!({ "query": "-\"a\0b\"" })));
    table.push(("search_code", "repo_path".to_owned(), json!({ "query": "a", "repo_path": "a\0b" })));
    table.push(("show_file", "file".to_owned(), json!({ "file": "a\0b" })));
    table.push(("show_file", "repoPath".to_owned(), json!({ "file": "a", "repoPath": "a\0b" })));
    table.push(("show_file", "hit".to_owned(), json!({ "hit": { "file": "a", "repo": "a\0b" } })));
    table.push(("index_status", "repoPath".to_owned(), json!({ "repoPath": "a\0b" })));
    table.push(("build_index", "repoPath".to_owned(), json!({ "repoPath": "/a\0b" })));
    for (tool, field, arguments) in table {
        let refused = match try_call(&shop.app, tool, in_project(arguments)).await {
            Ok(envelope) => envelope["error"].clone(),
            Err(refusal) => {
                let fault = refusal.to_fault();
                json!({ "code": fault.code, "message": fault.message, "details": fault.details })
            }
        };
        assert_eq!(refused["code"], "INVALID_REQUEST", "{tool} {field}: {refused:#}");
        assert!(refused.to_string().contains(&field), "{tool} {field}: {refused:#}");
    }
}

/// Texts of findings come from scanners, so NUL is removed from them; in an id it is refused.
#[tokio::test(flavor = "multi_thread")]
async fn nul_is_removed_from_findings_and_decisions() {
    let (app, project) = (app(), project("nul-triage"));
    let report = json!([{ "stableKey": "nul", "title": "over\0flow" }]);
    let arguments = json!({ "source": "manual", "payload": report, "project_id": project });
    let finding = result(&app, "triage_ingest", arguments).await["recordIds"][0].take();
    let decision =
        json!({ "finding": finding, "status": "fix", "justification": "patch\0ed", "project_id": project });
    result(&app, "triage_decision", decision).await;
    let arguments = json!({ "recordId": finding, "project_id": project });
    let pack = result(&app, "triage_context_pack", arguments).await["pack"].take();
    assert_eq!(pack["finding"]["vuln"]["title"], "overflow", "{pack:#}");
    assert_eq!(pack["history"][0]["decision"]["justification"], "patched", "{pack:#}");
    for (tool, mut arguments) in [
        ("triage_context_pack", json!({ "recordId": "a\0b" })),
        ("triage_decision", json!({ "finding": "a\0b", "status": "fix" })),
    ] {
        arguments["project_id"] = json!(project);
        assert_eq!(error(&app, tool, arguments).await["code"], "INVALID_REQUEST", "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_out_of_range_are_refused_with_the_bound() {
    let shop = IndexedProject::shop(app(), "numbers").await;
    for (tool, arguments) in [
        ("show_file", json!({ "id": 9_223_372_036_854_775_808_u64 })),
        ("show_file", json!({ "id": 1e30 })),
        ("show_file", json!({ "file": "a", "line": u64::MAX })),
        ("show_file", json!({ "hit": { "id": u64::MAX } })),
        ("show_file", json!({ "hit": { "file": "a", "startLine": -1 } })),
        ("search", json!({ "query": "a", "top": 9_223_372_036_854_775_808_u64 })),
        ("search", json!({ "query": "a", "top": -1e30 })),
    ] {
        let refused = match try_call(&shop.app, tool, arguments.clone()).await {
            Ok(envelope) => envelope["error"].to_string(),
            Err(refusal) => {
                let fault = refusal.to_fault();
                json!({ "code": fault.code, "message": fault.message, "details": fault.details }).to_string()
            }
        };
        assert!(refused.contains("INVALID_REQUEST"), "{arguments}: {refused}");
        assert!(
            !refused.contains("arguments are invalid") && !refused.contains("Neither"),
            "{arguments}: {refused}"
        );
        let bound = ["9223372036854775807", "100", "-9223372036854775808"];
        assert!(bound.iter().any(|bound| refused.contains(bound)), "{arguments}: {refused}");
    }
    let large = json!({ "id": 9_100_000_000_000_000_000_i64, "project_id": shop.project });
    assert_eq!(error(&shop.app, "show_file", large).await["code"], "NOT_FOUND");
    let float = json!({ "id": 9.1e18, "project_id": shop.project });
    assert_eq!(error(&shop.app, "show_file", float).await["code"], "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_visibilities_are_refused_and_decorators_with_their_marker_match_exactly() {
    let source = "#[test]\nfn checks() {\n    run();\n}\n";
    let gated = "#[cfg(test)]\nmod tests {\n    fn helps() {\n        run();\n    }\n}\n";
    let cached = "class Cached:\n    @cached_property\n    def total(self):\n        return 1\n";
    let plain = "class Plain:\n    @property\n    def total(self):\n        return 1\n";
    let routes = "@app.route(\"/a\")\ndef a():\n    return 1\n";
    let files = [
        ("checks.rs", source),
        ("gated.rs", gated),
        ("cached.py", cached),
        ("plain.py", plain),
        ("routes.py", routes),
    ];
    let (app, project) = (app(), project("marks"));
    let repository = Repository::new(&files);
    index(&app, &repository, &project).await;
    let shop = IndexedProject::new(app, project, repository);
    result(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project })).await;
    for (value, expected) in [
        ("#[test]", vec!["checks.rs"]),
        ("test", vec!["checks.rs", "gated.rs"]),
        ("#[cfg(test)]", vec!["gated.rs"]),
        ("#[cfg]", vec!["gated.rs"]),
        ("@property", vec!["plain.py"]),
        ("@Property", vec!["plain.py"]),
        ("property", vec!["cached.py", "plain.py"]),
        ("@app.route", vec!["routes.py"]),
        ("@route", vec!["routes.py"]),
        ("@app.route('/a')", vec!["routes.py"]),
        ("@rout", vec![]),
    ] {
        for backend in ["postgres", "sqlite"] {
            let mut found = hit_files(
                &shop
                    .search("lang:rust OR lang:python", json!({ "decorator": value, "backend": backend }))
                    .await,
            );
            found.sort();
            found.dedup();
            assert_eq!(found, expected, "{value} by {backend}");
        }
    }
    let wrong = json!({ "query": "total", "visibility": "publik", "project_id": shop.project });
    let refused = error(&shop.app, "search", wrong).await;
    assert_eq!(refused["code"], "INVALID_REQUEST", "{refused:#}");
    for word in ["public", "protected", "package", "private"] {
        assert!(refused.to_string().contains(word), "{refused:#}");
    }
    let kind = json!({ "query": "total", "type": "functoin", "project_id": shop.project });
    let refused = error(&shop.app, "search", kind).await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("impl") && message.contains("block"), "{refused:#}");
    assert_eq!(refused["hint"], "Did you mean `function`?", "{refused:#}");
}

const COOKIES: &[(&str, &str)] = &[
    (
        "src/sessions.py",
        "def open_session(request):\n    \"\"\"Loads the session from the cookie.\"\"\"\n    return request.cookie\n",
    ),
    (
        "src/sign.py",
        "def sign(value):\n    \"\"\"Signs what the cookie holds.\"\"\"\n    return value + cookie(value)\n",
    ),
    (
        "src/answer.py",
        "def answer(response):\n    \"\"\"Sends the cookie back.\"\"\"\n    response.cookie = 1\n",
    ),
    ("src/expire.py", "def expire(when):\n    \"\"\"Lets a cookie expire.\"\"\"\n    return when\n"),
    ("src/domain.py", "def domain(host):\n    \"\"\"The domain of a cookie.\"\"\"\n    return host\n"),
    (
        "src/blueprints.py",
        "class Blueprint:\n    def register_blueprint(self, app, prefix):\n        return app.add(prefix)\n",
    ),
    (
        "src/templating.py",
        "def render_template(name, context):\n    return get_template(name).render(context)\n",
    ),
    (
        "src/config.py",
        "def from_object(config, source):\n    for key in dir(source):\n        config[key] = source\n",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_the_index_contains_gives_confidence() {
    let (app, project) = (app_with_model(), project("words"));
    let repository = Repository::new(COOKIES);
    index(&app, &repository, &project).await;
    for ann in [true, false] {
        for (query, is_confident) in [("cookie", true), ("blorft", false), ("Spanner", false)] {
            let arguments = json!({ "query": query, "ann": ann, "project_id": project });
            let answer = result(&app, "search", arguments).await;
            let confidence = answer["confidence"].as_str().unwrap();
            assert_eq!(
                ["high", "medium"].contains(&confidence),
                is_confident,
                "{query}, ann {ann}: {answer:#}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_without_hits_proposes_a_next_call() {
    let (app, project) = (app_with_model(), project("next-of-none"));
    let repository = Repository::new(COOKIES);
    index(&app, &repository, &project).await;
    let other = Repository::new(&[(
        "src/lib.rs",
        "pub fn register_blueprnts(list: &[u32]) -> usize {\n    list.len()\n}\n",
    )]);
    index(&app, &other, &project).await;
    let arguments =
        json!({ "query": "regster_bluepirnt", "project_id": project, "repoPath": repository.root() });
    let envelope = call(&app, "search", arguments).await;
    let proposed = &envelope["result"]["didYouMean"];
    assert_eq!(
        proposed,
        &json!(["register_blueprint"]),
        "proposals come from the named repository only: {envelope:#}"
    );
    let next = &envelope["_meta"]["next"];
    assert_eq!(
        (&next["tool"], &next["arguments"]["query"], &next["arguments"]["repoPath"]),
        (&json!("search"), &proposed[0], &json!(repository.root())),
        "{envelope:#}"
    );
    // The named repository is indexed, so the state of others does not lead to `index_status`.
    let nonsense = json!({ "query": "zzzz qqqq", "project_id": project, "repoPath": repository.root() });
    let envelope = call(&app, "search", nonsense).await;
    assert_eq!(envelope["result"]["confidence"], "none", "{envelope:#}");
    assert_ne!(envelope["_meta"]["next"]["tool"], "index_status", "{envelope:#}");
}
