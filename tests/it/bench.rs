//! `pairofcleats bench` end to end: a corpus with known answers, the real model and the real database.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{PROGRAM, new_home};

const STORE: &str = "class BoltStore:\n    def save(self, bolt):\n        self.bolts.append(bolt)\n\n    def load_all(self):\n        return list(self.bolts)\n";
const PRESS: &str = "def press_steel(sheet, force):\n    \"\"\"Forms a sheet of steel under the hydraulic press.\"\"\"\n    return sheet.bend(force)\n";

fn bench(home: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(PROGRAM)
        .args(["--json", "--quiet", "bench"])
        .args(arguments)
        .env("PAIROFCLEATS_HOME", home)
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer["result"].clone()
}

/// Writes benchmark questions and checkouts; the checkout of the second repository is missing. Returns the two folders.
fn corpus(folder: &Path) -> (String, String) {
    let (questions, checkouts) = (folder.join("questions"), folder.join("checkouts"));
    for (path, text) in [("lib/store.py", STORE), ("lib/press.py", PRESS), ("other/store.py", STORE)] {
        let file = checkouts.join("works").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    fs::create_dir_all(questions.join("annotations")).unwrap();
    let repository = |name: &str| json!({ "name": name, "language": "python", "repository": format!("who/{name}"), "commit": "c1", "root": "lib" });
    let write = |name: &str, value: Value| fs::write(questions.join(name), value.to_string()).unwrap();
    write("repos.json", json!([repository("works"), repository("gone")]));
    write(
        "annotations/works.json",
        json!([
            { "query": "BoltStore", "relevant": ["lib/store.py"], "secondary": [], "category": "symbol" },
            { "query": "where is steel formed", "relevant": [{ "path": "lib/press.py", "start_line": 1, "end_line": 3 }], "category": "semantic" },
            { "query": "press_steel", "relevant": ["lib/nowhere.py"], "category": "symbol" },
        ]),
    );
    write("annotations/gone.json", json!([]));
    let issue = |id: &str, repository: &str| {
        json!({
            "id": id, "repository": repository, "commit": "c1", "relevant": ["lib/press.py"],
            "query": "The press bends too far\n\n```\nFile \"lib/press.py\", line 3, in press_steel\n```\nThe \"force\" -is- ignored (",
        })
    };
    write("instances.json", json!([issue("works-1", "who/works"), issue("gone-1", "who/gone")]));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    (text(&questions), text(&checkouts))
}

#[test]
fn known_answers_are_scored_and_missing_repositories_are_listed() {
    let home = new_home("bench");
    let folder = tempfile::tempdir().unwrap();
    let (questions, checkouts) = corpus(folder.path());
    let from = ["--questions", &questions, "--corpus", &checkouts];

    let variant = ["--variant", "flat:stem_boost=0,vectors=off", "--details"];
    let report = bench(&home, &[&["quality"], from.as_slice(), &variant].concat());
    assert_eq!((&report["missing"], &report["repositories"]), (&json!(["gone"]), &json!(1)), "{report:#}");
    let names: Vec<_> = report["variants"].as_array().unwrap().iter().map(|v| v["variant"].clone()).collect();
    assert_eq!(names, ["shipped", "words", "flat"]);
    let shipped = &report["variants"][0];
    assert_eq!(shipped["all"]["questions"], 3);
    let assert_close = |value: &Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-3, "{shipped:#}")
    };
    assert_close(&shipped["categories"]["semantic"]["ndcg10"], 1.0);
    assert_close(&shipped["categories"]["symbol"]["ndcg10"], 0.5);
    assert_close(&shipped["tokenRecall"]["chunks"]["2000"], 0.6667);
    assert_eq!(shipped["questions"][2]["targets"], json!([["lib/nowhere.py", null]]));
    let outside = |hit: &Value| hit.as_str().unwrap().starts_with("other/");
    let hits = shipped["questions"][0]["hits"].as_array().unwrap();
    assert!(
        !hits.is_empty() && !hits.iter().any(outside),
        "only the folder named by `root` is indexed: {hits:?}"
    );

    let report = bench(&home, &[&["issues"], from.as_slice(), &["--only", "works"]].concat());
    assert_eq!(report["missing"], json!([]), "{report:#}");
    assert_eq!(report["variants"][0]["acc1"], 100.0, "{report:#}");

    // Nothing was written to the checkouts, and the benchmark used a database of its own.
    assert_eq!(fs::read_dir(Path::new(&checkouts).join("works")).unwrap().count(), 2);
    assert!(home.join("bench/postgres").is_dir() && !home.join("postgres").exists());
}

#[test]
fn an_invalid_variant_is_refused_before_anything_is_indexed() {
    let home = new_home("bench-refused");
    let output = Command::new(PROGRAM)
        .args(["bench", "quality", "--questions", "/nowhere", "--corpus", "/nowhere", "--variant", "stem=1"])
        .env("PAIROFCLEATS_HOME", &home)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("unknown field `stem`"), "{stderr}");
    assert!(!home.join("bench/postgres").exists());
}
