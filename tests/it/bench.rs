//! `pairofcleats bench` end to end: a corpus with known answers, the real model and the real database.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use bench::{Experiment, Modes, Options, Variant, issues, quality};
use contract::config::Layout;
use contract::{ErrorCode, Fault, ModelIdentity};
use embedding::{Embedder, StubEmbedder};
use serde_json::{Value, json};

use crate::harness::{PROGRAM, modules, new_home, settings};

const STORE: &str = "class BoltStore:\n    def save(self, bolt):\n        self.bolts.append(bolt)\n\n    def load_all(self):\n        return list(self.bolts)\n";
const PRESS: &str = "def press_steel(sheet, force):\n    \"\"\"Forms a sheet of steel under the hydraulic press.\"\"\"\n    return sheet.bend(force)\n";

fn run(home: &Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(["--json", "bench"])
        .args(arguments)
        .env("PAIROFCLEATS_HOME", home)
        .output()
        .unwrap()
}

fn bench(home: &Path, arguments: &[&str]) -> Value {
    let output = run(home, arguments);
    let answer = answer_of(&output);
    assert_eq!((&answer["ok"], output.status.code()), (&json!(true), Some(0)), "{answer:#}");
    answer["result"].clone()
}

/// Runs a benchmark that fails, and returns the error.
fn refused(home: &Path, arguments: &[&str]) -> Value {
    let output = run(home, arguments);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    answer_of(&output)["error"].clone()
}

fn answer_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
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
    write(
        "annotations/gone.json",
        json!([{ "query": "Gone", "relevant": ["lib/gone.py"], "category": "symbol" }]),
    );
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
    assert_eq!(report["questionsWithoutVectors"], 0, "{report:#}");
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

    // A name that is not known, and a corpus that has nothing, are errors and no zeros.
    for benchmark in ["quality", "issues"] {
        let unknown = refused(&home, &[&[benchmark], from.as_slice(), &["--only", "wroks"]].concat());
        assert_eq!(unknown["code"], "INVALID_REQUEST", "{unknown:#}");
        assert!(unknown["hint"].as_str().unwrap().contains("names: works"), "{unknown:#}");
        let missing = refused(&home, &[&[benchmark], from.as_slice(), &["--only", "gone"]].concat());
        assert_eq!(missing["code"], "INVALID_INPUT", "{missing:#}");
        assert!(missing["message"].as_str().unwrap().contains("gone"), "{missing:#}");
    }

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

const PARSER_GO: &str = "package store\n\n// ParseLedger reads the ledger of all bolts.\nfunc ParseLedger(text string) int {\n\treturn len(text)\n}\n";

/// Adds a repository in Go with a file of the same path and queries of its own.
fn add_neighbour(questions: &str, checkouts: &str) {
    let questions = Path::new(questions);
    let file = Path::new(checkouts).join("ledger/lib/store.py");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, format!("{STORE}\ndef save_ledger(ledger):\n    return ledger.save()\n")).unwrap();
    fs::write(file.with_file_name("ledger.go"), PARSER_GO).unwrap();
    let repository = |name: &str, language: &str| json!({ "name": name, "language": language, "repository": format!("who/{name}"), "commit": "c1", "root": "lib" });
    let write = |name: &str, value: Value| fs::write(questions.join(name), value.to_string()).unwrap();
    write("repos.json", json!([repository("works", "python"), repository("ledger", "go")]));
    write(
        "annotations/ledger.json",
        json!([
            { "query": "ParseLedger", "relevant": [{ "path": "lib/ledger.go", "start_line": 900, "end_line": 901 }], "category": "symbol" },
            { "query": "press_steel", "relevant": ["lib/press.py"], "category": "symbol" },
            { "query": "where is zirconium smelted", "relevant": [], "category": "semantic" },
        ]),
    );
}

#[test]
fn in_one_project_a_neighbour_answers_nothing_for_a_repository_and_figures_name_the_place() {
    let home = new_home("bench-together");
    let folder = tempfile::tempdir().unwrap();
    let (questions, checkouts) = corpus(folder.path());
    add_neighbour(&questions, &checkouts);
    let from = ["quality", "--questions", &questions, "--corpus", &checkouts, "--details"];

    let more = ["--words-only", "--one-project", "--alone", "--absent", "--leave-out"];
    let variant = ["--variant", "flat:stem_boost=0"];
    let report = bench(&home, &[from.as_slice(), &more, &variant].concat());
    let measured = report["variants"].as_array().unwrap();
    let of: Vec<_> = measured.iter().map(|one| (one["variant"].as_str(), one["place"].as_str())).collect();
    let of: Vec<_> = of.into_iter().map(|(variant, place)| (variant.unwrap(), place.unwrap())).collect();
    let each = |place| [("words", place), ("words, flat", place)];
    assert_eq!(of, [each("alone"), each("named"), each("notNamed")].concat());
    let (alone, named, not_named) = (&measured[0], &measured[2], &measured[4]);

    // Both repositories have `lib/store.py`, which defines `BoltStore`: only one of them is right, and both are found.
    let hits = |one: &Value| one["questions"][0]["hits"].as_array().unwrap().clone();
    let is_stranger = |hit: &Value| hit.as_str().unwrap().starts_with("ledger//");
    assert!(!hits(alone).iter().chain(&hits(named)).any(is_stranger), "{named:#}");
    assert!(hits(not_named).iter().any(is_stranger), "{not_named:#}");
    let of_ledger = |one: &&Value| one["repository"] == "ledger" && one["query"] == "press_steel";
    let answer = not_named["questions"].as_array().unwrap().iter().find(of_ledger).unwrap();
    assert!(answer["hits"][0].as_str().unwrap().starts_with("works//lib/press.py:"), "{answer:#}");
    assert_eq!((&answer["right"], &answer["ndcg10"]), (&Value::Null, &json!(0.0)), "{answer:#}");
    assert_eq!(named["byRepository"]["works"]["questions"], 3);
    assert_eq!(named["asAloneByRepository"]["works"]["top3Overlap"], 1.0, "{named:#}");
    assert!(not_named["asAlone"]["top3Overlap"].as_f64().unwrap() < 1.0, "{not_named:#}");
    assert!(alone.get("asAlone").is_none());

    // The target's lines lie elsewhere in the file: the file is right, the chunk is not.
    let ledger = &alone["byRepository"]["ledger"];
    assert_eq!((&ledger["ndcg10"], &ledger["ndcg10Files"]), (&json!(0.0), &json!(0.5)));

    // Queries without an answer: the listed one, the other repository's two or three; not asked where it could answer.
    let asked = |one: &Value, group: &str| one["absent"][group]["questions"].clone();
    assert_eq!((asked(alone, "listed"), asked(alone, "ofOthers")), (json!(1), json!(5)), "{alone:#}");
    assert_eq!((asked(named, "ofOthers"), asked(not_named, "ofOthers")), (json!(5), Value::Null));
    assert_eq!(alone["all"]["questions"], 5, "absent queries have no NDCG");

    let choices = report["leaveOut"].as_array().unwrap();
    assert_eq!(choices.len(), 3, "one for each place: {choices:#?}");
    assert_eq!(choices[0]["variants"], json!(["words", "words, flat"]));
    assert_eq!(choices[0]["chosen"].as_object().unwrap().len(), 2);
    assert_eq!(choices[0]["languages"]["python"]["questions"], 3);

    // As text, every variant has its repositories.
    let output = Command::new(PROGRAM)
        .args(["bench"])
        .args(&from[..5])
        .args(["--vectors", "stub", "--set", "search.exact_rows_max=0", "--set", "indexing.hnsw_rows_min=1"])
        .env("PAIROFCLEATS_HOME", &home)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.matches("\nworks ").count(), 2, "{text}");
    assert!(text.contains("\nstub (alone)") && !text.contains("shipped"), "{text}");
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(progress.contains("NDCG@10 stub ") && progress.contains("2 of 2"), "{progress}");

    let stub = ["--vectors", "stub", "--set", "search.exact_rows_max=0", "--set", "indexing.hnsw_rows_min=1"];
    let report = bench(&home, &[from.as_slice(), &stub].concat());
    assert_eq!(report["variants"][0]["vectorsUsed"], json!({ "hnsw": 6 }), "{report:#}");
    assert_eq!((&report["vectors"], &report["variants"][1]["variant"]), (&json!("stub"), &json!("words")));
}

#[test]
fn a_broken_run_keeps_what_it_measured_and_is_continued() {
    let home = new_home("bench-broken");
    let folder = tempfile::tempdir().unwrap();
    let (questions, checkouts) = corpus(folder.path());
    add_neighbour(&questions, &checkouts);
    let out = folder.path().join("out.json");
    let out = out.to_str().unwrap();
    let from = ["quality", "--questions", &questions, "--corpus", &checkouts, "--words-only", "--out", out];

    // The program dies while it indexes the second repository.
    let broken = Command::new(PROGRAM)
        .args(["--json", "bench"])
        .args(from)
        .env("PAIROFCLEATS_HOME", &home)
        .env("PAIROFCLEATS_FAILPOINT", "index.closed:2")
        .output()
        .unwrap();
    assert!(!broken.status.success());
    let kept = || serde_json::from_str::<Value>(&fs::read_to_string(out).unwrap()).unwrap();
    let so_far = kept();
    assert_eq!((&so_far["complete"], &so_far["report"]["repositories"]), (&json!(false), &json!(1)));

    // Without its checkout, the first repository can only come from the file.
    fs::remove_dir_all(Path::new(&checkouts).join("works")).unwrap();
    fs::remove_dir_all(home.join("bench/copies/works")).unwrap();
    let changed =
        refused(&home, &[from.as_slice(), &["--continue", "--variant", "flat:stem_boost=0"]].concat());
    assert_eq!(changed["code"], "INVALID_REQUEST", "{changed:#}");
    let report = bench(&home, &[from.as_slice(), &["--continue"]].concat());
    assert_eq!((&report["repositories"], &report["missing"]), (&json!(2), &json!([])), "{report:#}");
    assert_eq!((&kept()["complete"], &kept()["report"]), (&json!(true), &report));
    let again = bench(&home, &from);
    assert_eq!(again["missing"], json!(["works"]), "without --continue everything is measured anew");
}

/// Makes vectors of texts, and none of one query and one issue.
struct FailingEmbedder(StubEmbedder);

impl Embedder for FailingEmbedder {
    fn model(&self) -> &ModelIdentity {
        self.0.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        self.0.embed_passages(texts, cancelled)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        if text.contains("formed") || text.contains("bends") {
            return Err(Fault::new(ErrorCode::CapabilityMissing, "no steel"));
        }
        self.0.embed_query(text)
    }
}

#[tokio::test]
async fn a_query_answered_without_its_vectors_is_counted_and_spoils_the_run() {
    let home = new_home("bench-degraded");
    let folder = tempfile::tempdir().unwrap();
    let (questions, checkouts) = corpus(folder.path());
    let layout = Layout::new(home.clone());
    let experiment = Experiment::open(settings(&home), &layout, PROGRAM.into(), modules())
        .unwrap()
        .with_embedder(Arc::new(FailingEmbedder(StubEmbedder::default())), PROGRAM.into());
    let options = Options {
        questions: vec![questions.into()],
        corpus: checkouts.into(),
        only: Vec::new(),
        variants: vec![Variant::with_vectors("stub"), Variant::lexical_only()],
        vectors: "stub".to_owned(),
        modes: Modes::default(),
        kept: None,
        continues: false,
        details: true,
    };
    let report = quality::measure(&experiment, &options, &|_| ()).await.unwrap();
    let issues = issues::measure(&experiment, &options, &|_| ()).await.unwrap();
    experiment.close().await;
    let counts: Vec<usize> = report.variants.iter().map(|one| one.questions_without_vectors).collect();
    assert_eq!((counts, report.questions_without_vectors), (vec![1, 0], 1));
    assert!(report.variants[0].questions[1].without_vectors);
    assert_eq!(issues.questions_without_vectors, 1);
    for (refused, allowed) in
        [(report.verdict(false), report.verdict(true)), (issues.verdict(false), issues.verdict(true))]
    {
        assert_eq!(refused.unwrap_err().code, ErrorCode::GateFailed);
        assert!(allowed.is_ok());
    }
}

#[test]
fn speed_edits_only_files_that_the_index_holds() {
    let home = new_home("bench-speed");
    let folder = tempfile::tempdir().unwrap();
    let text = |package: usize| format!("[[package]]\nname = \"bolt{package}\"\nversion = \"1\"\n\n");
    fs::write(folder.path().join("uv.lock"), (0..50).map(text).collect::<String>()).unwrap();
    let made =
        "# This file was autogenerated by uv via the following command:\n#    uv pip compile\nbolt==1\n";
    fs::write(folder.path().join("requirements.txt"), made).unwrap();
    fs::write(folder.path().join("press.py"), PRESS).unwrap();
    fs::write(folder.path().join("store.py"), STORE).unwrap();
    let path = folder.path().to_str().unwrap();
    let report = bench(&home, &["speed", path, "--stub", "--edits", "4", "--questions", "4"]);
    let edited = &report["edited"];
    assert_eq!((&edited["searchable"]["count"], &edited["leftOut"]), (&json!(4), &json!(0)), "{report:#}");
}
