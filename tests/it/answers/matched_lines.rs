//! A hit names and shows the definition and the lines that matched.

use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, index};
use crate::harness::{Repository, app, project, result};

const UTILITIES: &str = "import hashlib\nimport pickle\n\ndef load_blob(data):\n    return pickle.loads(data)\ndef digest(data):\n    return hashlib.md5(data).hexdigest()\n\nclass Shape:\n    def area(self):\n        return 0\n";

const APP: &str = "import hashlib
import os
from flask import request

def convert():
    os.system(\"convert \" + request.args.get(\"name\"))

def lookup(db):
    who = request.args.get(\"who\")
    return db.execute(\"select * from people where name = '\" + who + \"'\")

def fingerprint(data):
    return hashlib.md5(data).hexdigest()

class Base:
    def name(self):
        return \"base\"

    def size(self):
        return 1

class Child(Base):
    def name(self):
        return \"child\"

    def size(self):
        return 2

";

/// A function with a sink far below its first line.
fn long_function() -> String {
    let body: String = (0..60).map(|n| format!("    total = add_number_{n}(total)\n")).collect();
    format!("import os\n\ndef tally(total):\n{body}    os.system(\"report\" + total)\n    return total\n")
}

const SCRIPT: &str = "import os

def helper(path):
    return path

os.system(\"sync \" + os.environ[\"DISK\"])
prepare_disks()

# Balances all zeppelins.
def other(path):
    return path + \"/\"
";

async fn index_fixture(name: &str) -> IndexedProject {
    let long_function = long_function();
    let files =
        [("u.py", UTILITIES), ("app.py", APP), ("far.py", long_function.as_str()), ("script.py", SCRIPT)];
    let (app, repository, project) = (app(), Repository::new(&files), project(name));
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    result(&indexed.app, "build_sqlite_index", json!({ "project_id": indexed.project })).await;
    indexed
}

/// A hit as `file:line kind name`.
fn describe(hit: &Value) -> String {
    let text = |field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    format!("{}:{} {} {}", text("file"), hit["line"], text("kind"), text("name")).trim_end().to_owned()
}

/// The first and last line of a hit's snippet, 1-based.
fn snippet_lines(hit: &Value) -> (u64, u64) {
    let first = hit["snippetLine"].as_u64().unwrap_or_else(|| hit["startLine"].as_u64().unwrap());
    let count = hit["snippet"].as_str().unwrap_or_default().lines().count() as u64;
    (first, first + count.max(1) - 1)
}

fn hit_of<'a>(answer: &'a Value, file: &str) -> &'a Value {
    let hits = answer["hits"].as_array().unwrap();
    hits.iter().find(|hit| hit["file"] == file).unwrap_or_else(|| panic!("{file}: {answer:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_names_and_shows_what_matched() {
    let indexed = index_fixture("what-matched").await;
    // Query, file, the hit as `describe` prints it, and a part of its snippet.
    let table: &[(&str, &str, &str, &str)] = &[
        ("pickle", "u.py", "u.py:4 function load_blob", "return pickle.loads(data)"),
        ("\"pickle.loads\"", "u.py", "u.py:4 function load_blob", "return pickle.loads(data)"),
        ("calls:pickle.loads", "u.py", "u.py:4 function load_blob", "return pickle.loads(data)"),
        (
            "where is data hashed with md5",
            "u.py",
            "u.py:6 function digest",
            "return hashlib.md5(data).hexdigest()",
        ),
        ("digest", "u.py", "u.py:6 function digest", "return hashlib.md5(data).hexdigest()"),
        ("area", "u.py", "u.py:10 method Shape.area", "def area(self):"),
        ("class Shape", "u.py", "u.py:9 class Shape", "class Shape:"),
        ("risk:command-exec", "app.py", "app.py:5 function convert", "os.system(\"convert \""),
        ("riskSink:sql", "app.py", "app.py:8 function lookup", "return db.execute("),
        ("risk:weak-crypto", "app.py", "app.py:12 function fingerprint", "return hashlib.md5(data)"),
        ("risk:weak-crypto", "u.py", "u.py:6 function digest", "return hashlib.md5(data)"),
        ("riskFlow:\"http.input->exec\"", "app.py", "app.py:5 function convert", "os.system(\"convert \""),
        ("child risk:command-exec", "app.py", "app.py:5 function convert", "os.system(\"convert \""),
        ("risk:command-exec", "far.py", "far.py:3 function tally", "os.system(\"report\""),
        ("tally total risk:command-exec", "far.py", "far.py:3 function tally", "os.system(\"report\""),
        ("calls:add_number_55", "far.py", "far.py:3 function tally", "add_number_55(total)"),
        ("add_number_55", "far.py", "far.py:3 function tally", "add_number_55(total)"),
        ("zeppelins", "script.py", "script.py:10 function other", "# Balances all zeppelins."),
        // A match outside of definitions is a block without a name.
        ("risk:command-exec", "script.py", "script.py:6 block", "os.system(\"sync \""),
        ("calls:prepare_disks", "script.py", "script.py:7 block", "prepare_disks()"),
        ("\"prepare_disks\"", "script.py", "script.py:7 block", "prepare_disks()"),
    ];
    let mut failures = Vec::new();
    for (query, file, expected, shown) in table {
        for backend in ["postgres", "sqlite"] {
            let arguments = json!({ "path": file, "backend": backend, "ann": false });
            let answer = indexed.search(query, arguments).await;
            let hit = hit_of(&answer, file);
            let snippet = hit["snippet"].as_str().unwrap_or_default();
            if describe(hit) != *expected || !snippet.contains(shown) {
                failures.push(format!(
                    "{query} by {backend}: {}, not {expected}; shows\n{snippet}",
                    describe(hit)
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hit_of_a_risk_filter_shows_a_line_with_a_matching_sink() {
    let indexed = index_fixture("risky-lines").await;
    for query in ["risk:command-exec", "riskCategory:command", "riskSink:exec", "total risk:command-exec"] {
        for extra in [json!({}), json!({ "maxTokens": 700 })] {
            let answer = indexed.search(query, extra.clone()).await;
            let full = indexed.search(query, json!({ "output": "full" })).await;
            let mut shown = 0;
            for hit in answer["hits"].as_array().unwrap().iter().filter(|hit| hit["snippet"].is_string()) {
                let known = &hit_of(&full, hit["file"].as_str().unwrap())["known"]["risk"]["sinks"];
                let sinks = known.as_array().unwrap().iter().filter(|sink| sink["category"] == "command");
                let (first, last) = snippet_lines(hit);
                let lines: Vec<u64> = sinks.map(|sink| sink["line"].as_u64().unwrap()).collect();
                assert!(lines.iter().any(|line| (first..=last).contains(line)), "{query}: {lines:?} {hit:#}");
                shown += 1;
            }
            assert!(shown > 0, "{query} {extra}: {answer:#}");
        }
    }
}
