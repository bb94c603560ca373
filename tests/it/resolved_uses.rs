//! After edits, the uses of names are those of a project that was indexed from scratch, and only files are resolved again that
//! the edit concerns.

use serde_json::{Value, json};

use crate::filters::shop::{self, IndexedProject};
use crate::harness::{Repository, app, project};
use crate::kills::{assert_equal, digest, succeed};
use crate::upkeep::{query_number, schema};

/// Indexes without history, and returns the report.
fn index(root: &str, id: &str, settings: &[&str]) -> Value {
    let mut arguments = vec!["index", root, "--project", id, "--set", "indexing.history=false"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    succeed(&arguments)["result"]["report"].clone()
}

/// The number of uses between a source and a target, by their qualified names.
async fn uses_between(id: &str, source: &str, target: &str) -> i64 {
    let schema = schema(id);
    query_number(&format!(
        "SELECT count(*) FROM {schema}.uses u JOIN {schema}.definitions s ON s.symbol = u.source \
         JOIN {schema}.definitions t ON t.symbol = u.target \
         WHERE s.qualified = '{source}' AND t.qualified = '{target}' AND u.certainty = 2"
    ))
    .await
}

const SHOP: &str =
    "from shop.coins import Jar, fill\n\ndef sell(jar: Jar):\n    fill(jar)\n    return jar.total()\n";
const COINS: &str = "class Jar:\n    def total(self):\n        return 1\n\ndef fill(jar):\n    return jar\n";

#[tokio::test(flavor = "multi_thread")]
async fn uses_follow_edits_of_other_files() {
    let repository = Repository::new(&[
        ("shop/__init__.py", "# The shop\n"),
        ("shop/coins.py", COINS),
        ("shop/till.py", SHOP),
        ("shop/other.py", "def lonely():\n    return 2\n"),
    ]);
    let (root, id) = (repository.root(), project("graph"));
    let report = index(&root, &id, &[]);
    assert_eq!(
        (&report["navigation"]["files"], &report["navigation"]["filesResolved"]),
        (&4.into(), &4.into()),
        "{report:#}"
    );
    assert_eq!(uses_between(&id, "sell", "fill").await, 1);
    assert_eq!(uses_between(&id, "sell", "Jar.total").await, 1);

    // A change that is invisible to other files costs only that file.
    repository.write(
        "shop/coins.py",
        &format!("\n\n{}", COINS.replace("return 1", "x = 2\n        print(x)\n        return 1")),
    );
    let report = index(&root, &id, &[]);
    assert_eq!(report["navigation"]["filesResolved"], 1, "{report:#}");
    assert_eq!(uses_between(&id, "sell", "Jar.total").await, 1, "the symbol kept its id");

    // A base class takes the method over: the file that calls it did not change.
    repository.write(
        "shop/coins.py",
        &COINS
            .replace("class Jar:\n    def total", "class Base:\n    def total")
            .replace("\ndef fill", "\nclass Jar(Base):\n    pass\n\ndef fill"),
    );
    let report = index(&root, &id, &[]);
    assert_eq!(
        (&report["filesChanged"], &report["navigation"]["filesResolved"]),
        (&1.into(), &2.into()),
        "{report:#}"
    );
    assert_eq!(uses_between(&id, "sell", "Jar.total").await, 0);
    assert_eq!(uses_between(&id, "sell", "Base.total").await, 1);

    repository.remove("shop/other.py");
    repository.write("shop/coins.py", "def fill(jar):\n    return jar\n");
    index(&root, &id, &[]);
    let scratch = project("scratch");
    index(&root, &scratch, &[]);
    // Names, vectors and statistics of texts that are gone may stay for a while.
    let graph = |digest: Vec<(String, String)>| -> Vec<(String, String)> {
        let tables = ["definitions", "name_changes", "repositories", "symbols", "uses"];
        digest.into_iter().filter(|(table, _)| tables.contains(&table.as_str())).collect()
    };
    let (ours, theirs) = (graph(digest(&id).await), graph(digest(&scratch).await));
    assert_eq!(ours.len(), 5);
    assert_equal("edited and from scratch", &ours, &theirs);
    assert_eq!(uses_between(&id, "sell", "fill").await, 1);

    // If the stored facts change, the files are read again.
    let report = index(&root, &id, &["indexing.symbols_bytes_max=100"]);
    assert!(report["navigation"]["filesTooLarge"].as_u64() > Some(0), "{report:#}");
    assert_eq!(uses_between(&id, "sell", "fill").await, 0);
    let report = index(&root, &id, &["indexing.interfaces_bytes_max=10"]);
    assert!(report["notes"].to_string().contains("indexing.interfaces_bytes_max"), "{report:#}");
    assert_eq!(report["navigation"]["usesResolved"], 0, "{report:#}");
    let report = index(&root, &id, &["indexing.interfaces_bytes_max=10"]);
    assert_eq!(report["filesChanged"], 0, "{report:#}");
    index(&root, &id, &[]);
    assert_eq!(uses_between(&id, "sell", "fill").await, 1);
    for id in [&id, &scratch] {
        succeed(&["projects", "delete", id, "--yes"]);
    }
}

/// The share of its score that each hit has for being used, by file.
fn used(answer: &Value) -> Vec<(&str, bool)> {
    let hits = answer["hits"].as_array().unwrap();
    let is_used = |hit: &Value| hit["scoreBreakdown"]["used"].as_f64().unwrap() > 0.0;
    hits.iter().map(|hit| (hit["file"].as_str().unwrap(), is_used(hit))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_other_files_use_ranks_before_its_like() {
    let body =
        |name: &str| format!("def {name}(coins):\n    # Count the coins of a jar\n    return sum(coins)\n");
    let (first, second) = (body("count_one"), body("count_two"));
    let own = format!("{first}\n\ndef report(coins):\n    return count_one(coins)\n");
    let users: Vec<(String, String)> = (0..4)
        .map(|user| {
            let text =
                format!("from b import count_two\n\ndef user_{user}():\n    return count_two([{user}])\n");
            (format!("user_{user}.py"), text)
        })
        .collect();
    let mut files = vec![("a.py", own.as_str()), ("b.py", second.as_str())];
    files.extend(users.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let (app, repository, id) = (app(), Repository::new(&files), project("used"));
    shop::index(&app, &repository, &id).await;
    let indexed = IndexedProject::new(app, id, repository);
    let asked = json!({ "explain": true, "output": "full", "top": 2 });
    let answer = indexed.search("count the coins of a jar", asked).await;
    assert_eq!(
        used(&answer),
        [("b.py", true), ("a.py", false)],
        "uses in the same file do not count: {answer:#}"
    );
}
