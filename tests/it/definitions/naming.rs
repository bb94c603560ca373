//! The names of hits, and that an exact query for a name ranks its definition first.

use serde_json::{Value, json};

use super::corpus::{CONTEXT, FILES};
use super::{describe, first_hit, hits, index_files, line_of};
use crate::harness::result;

/// A name in several spellings, and the hit that must come first.
const NAMES: &[(&[&str], &str)] = &[
    (
        &[
            "Context.json", "Context#json", "Context::json", "Context->json", "context.json",
            "Context.json()", "`Context.json`", "Context json", "json in Context", "method Context.json",
            "where is Context.json defined?",
        ],
        "src/context.ts:24 method Context.json",
    ),
    (
        &["interface Env", "Env interface", "export interface Env", "the Env interface"],
        "src/types.ts:5 interface Env",
    ),
    (
        &["AppContext.push", "AppContext.push()", "AppContext#push", "app_context.push", "appcontext push"],
        "src/app_context.py:12 method AppContext.push",
    ),
    (&["Stack.push", "stack push", "stack.push(context)"], "src/stack.py:5 method Stack.push"),
    (&["def push", "function push"], "src/stack.py:12 function push"),
    (&["function cors", "cors()", "cors", "cors function"], "src/middleware/cors.ts:7 function cors"),
    (&["class Context", "Context class", "Context"], "src/context.ts:9 class Context"),
    (&["Store::open", "Store.open()", "store open"], "src/store.rs:10 method Store::open"),
    (&["fn open", "open(path)", "pub fn open(path: &str) -> Store"], "src/store.rs:21 function open"),
    (&["struct Store"], "src/store.rs:4 struct Store"),
    (&["type Next"], "src/types.ts:10 type Next"),
    (&["env", "function env"], "src/env_helper.ts:4 function env"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_query_for_a_name_ranks_its_definition_first_in_every_spelling() {
    let indexed = index_files("exact-names", FILES).await;
    result(&indexed.app, "build_sqlite_index", json!({ "project_id": indexed.project })).await;
    let mut failures = Vec::new();
    for (spellings, expected) in NAMES {
        for query in *spellings {
            for arguments in [json!({}), json!({ "ann": false }), json!({ "backend": "sqlite" })] {
                let answer = indexed.search(query, arguments.clone()).await;
                let found = hits(&answer).first().map(describe).unwrap_or_default();
                if found != *expected {
                    failures.push(format!("{query} {arguments}: {found}, not {expected}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptive_words_are_not_taken_as_a_name() {
    let indexed = index_files("no-names", FILES).await;
    // No definition is called `decode response`, so both words are searched for.
    let found = first_hit(&indexed, "decode response").await;
    assert_eq!(found["file"], "src/response.ts", "{found:#}");
    let found = first_hit(&indexed, "context:json lang:rust").await;
    assert_eq!(found["file"], "src/store.rs", "filters apply to name queries as well: {found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_has_the_line_of_its_definition_and_its_snippet_begins_there() {
    let indexed = index_files("lines", FILES).await;
    for (query, text) in [
        ("Context.json", "  json(body"),
        ("answers with html of the body", "  html(body"),
        ("class Context", "export class Context"),
    ] {
        let hit = first_hit(&indexed, query).await;
        assert_eq!(
            (&hit["file"], &hit["line"]),
            (&json!("src/context.ts"), &json!(line_of(CONTEXT, text))),
            "{hit:#}"
        );
        let snippet_line = hit.get("snippetLine").unwrap_or(&hit["startLine"]);
        assert_eq!(snippet_line, &hit["line"], "{hit:#}");
        let snippet = hit["snippet"].as_str().unwrap();
        assert!(
            snippet.trim_start().starts_with(text.trim()),
            "the snippet must not show imports or the licence: {snippet}"
        );
        // A compact hit has a headline only if the snippet does not show it.
        if let Some(headline) = hit["headline"].as_str() {
            let text = text.trim();
            assert!(
                headline.starts_with(text.trim_start_matches("export ")) || headline.starts_with(text),
                "{hit:#}"
            );
        }
    }
    // The snippet includes the attributes of a definition.
    let source = "use std::fmt;\n\n/// What a parcel costs.\n#[derive(Debug)]\n#[non_exhaustive]\npub enum Postage {\n    Letter,\n    Parcel,\n}\n";
    let indexed = index_files("attributes", &[("src/postage.rs", source)]).await;
    let hit = first_hit(&indexed, "Postage").await;
    assert_eq!((&hit["line"], &hit["snippetLine"]), (&json!(6), &json!(4)), "{hit:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_of_documentation_is_named_after_what_it_documents() {
    let doc: String =
        (0..90).map(|at| format!("/// Sentence {at} says how parcels are weighed and franked.\n")).collect();
    let body: String = (0..60).map(|at| format!("    scale.weigh_part_number({at});\n")).collect();
    let source = format!(
        "use crate::scale::Scale;\n\n{doc}/// The zeppelin is weighed last.\npub fn weigh_parcels(scale: &mut Scale) {{\n{body}    scale.finish_quietly();\n}}\n"
    );
    let indexed = index_files("long-doc", &[("src/weigh.rs", &source)]).await;
    let line = line_of(&source, "pub fn weigh_parcels");
    for query in ["zeppelin", "how parcels are franked", "finish_quietly", "weigh_part_number"] {
        let hit = first_hit(&indexed, query).await;
        assert_eq!(
            (&hit["name"], &hit["kind"]),
            (&json!("weigh_parcels"), &json!("function")),
            "{query}: {hit:#}"
        );
        assert_eq!(hit["line"], json!(line), "{query}: {hit:#}");
    }
    // The lines of a hit are those of its chunk, which is here a part of the documentation or of the body.
    for word in ["zeppelin", "finish_quietly"] {
        let hit = first_hit(&indexed, word).await;
        let lines = hit["startLine"].as_u64().unwrap()..=hit["endLine"].as_u64().unwrap();
        assert!(lines.contains(&line_of(&source, word)) && !lines.contains(&line), "{word}: {hit:#}");
    }
}

const SERVER: &str = r#"const express = require('express');
const { users } = require('./users');
const app = express();

app.get('/users', async (req, res) => {
  res.send(await users.list());
});

app.get('/users/:id', async (req, res) => {
  res.send(await users.find(req.params.id));
});

app.post('/users', requireAdmin, function (req, res) {
  res.status(201).send(users.create(req.body));
});

app.delete('/users/:id', (req, res) => {
  users.remove(req.params.id);
  res.status(204).end();
});

app.use((req, res, next) => {
  res.set('x-powered-by', 'pigeons');
  next();
});

app.listen(3000);
"#;
const ROUTER: &str = "package web\n\nimport \"net/http\"\n\nfunc Routes(mux *http.ServeMux) {\n\tmux.HandleFunc(\"/parcels\", func(w http.ResponseWriter, r *http.Request) {\n\t\tw.Write(listParcels())\n\t})\n\tmux.HandleFunc(\"/letters\", func(w http.ResponseWriter, r *http.Request) {\n\t\tw.Write(listLetters())\n\t})\n}\n";
const SINATRA: &str = "require 'sinatra'\n\nget '/stamps' do\n  FileStamp.all.to_json\nend\n\npost '/stamps' do\n  FileStamp.create(params).to_json\nend\n";
const LARAVEL: &str = "<?php\nuse App\\Depot;\n\nRoute::get('/depots', function () {\n    return Depot::all();\n});\n\nRoute::post('/depots', function () {\n    return Depot::create(request()->all());\n});\n";

#[tokio::test(flavor = "multi_thread")]
async fn each_handler_has_its_own_name() {
    let files = [("server.js", SERVER), ("web.go", ROUTER), ("stamps.rb", SINATRA), ("routes.php", LARAVEL)];
    let indexed = index_files("handlers", &files).await;
    let handlers = [
        ("app.get('/users')", "server.js:5 function app.get('/users')"),
        ("app.get('/users/:id')", "server.js:9 function app.get('/users/:id')"),
        ("app.post('/users')", "server.js:13 function app.post('/users')"),
        ("app.delete('/users/:id')", "server.js:17 function app.delete('/users/:id')"),
        ("mux.HandleFunc(\"/parcels\")", "web.go:6 function mux.HandleFunc(\"/parcels\")"),
        ("mux.HandleFunc(\"/letters\")", "web.go:9 function mux.HandleFunc(\"/letters\")"),
        ("get('/stamps')", "stamps.rb:3 function get('/stamps')"),
        ("post('/stamps')", "stamps.rb:7 function post('/stamps')"),
        ("Route::get('/depots')", "routes.php:4 function Route::get('/depots')"),
        ("Route::post('/depots')", "routes.php:8 function Route::post('/depots')"),
    ];
    let mut failures = Vec::new();
    for (query, expected) in handlers {
        let found = describe(&first_hit(&indexed, query).await);
        failures.extend((found != expected).then(|| format!("{query}: {found}, not {expected}")));
    }
    for (query, expected) in [
        ("signature:\"app.delete(\"", "server.js:17 function app.delete('/users/:id')"),
        ("signature:\"app.use(\"", "server.js:22 function app.use"),
        ("users calls:users.create type:function", "server.js:13 function app.post('/users')"),
        ("calls:users.list", "server.js:5 function app.get('/users')"),
    ] {
        let found = describe(&first_hit(&indexed, query).await);
        failures.extend((found != expected).then(|| format!("{query}: {found}, not {expected}")));
    }
    assert!(failures.is_empty(), "{failures:#?}");
    // A call names the handler as its caller.
    let answer = indexed.search("calls:users.remove", json!({ "output": "full" })).await;
    let calls = &hits(&answer)[0]["known"]["calls"];
    let remove = calls.as_array().unwrap().iter().find(|call| call["callee"] == "users.remove");
    assert_eq!(
        remove.map(|call| &call["caller"]),
        Some(&Value::from("app.delete('/users/:id')")),
        "{calls:#}"
    );
}
