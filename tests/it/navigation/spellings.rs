//! Names with marks: what is asked is found in every spelling that people use, and another spelling is said.

use serde_json::{Value, json};

use super::{Graph, places};
use crate::harness::{call, result};

/// The files of the table.
const FILES: &[(&str, &str)] = &[
    (
        "lib/repo.ex",
        "defmodule Repo do\n  def fetch(id), do: id\n\n  def fetch!(id), do: fetch(id)\n\n  def only!(id), do: id\n\n  def load(id), do: fetch!(id)\n\n  def a <~> b, do: a + b\nend\n",
    ),
    (
        "app/user.rb",
        "class User\n  def save\n    persist\n  end\n\n  def save!\n    save\n  end\n\n  def valid?\n    true\n  end\n\n  def name=(value)\n    @name = value\n  end\n\n  def <=>(other)\n    0\n  end\n\n  def run\n    save!\n    valid?\n  end\n\n  def [](at)\n    at\n  end\nend\n",
    ),
    (
        "src/box.ts",
        "export class Box {\n  #unpack(): number {\n    return 1;\n  }\n\n  open(): number {\n    return this.#unpack();\n  }\n}\n\nexport const $count = 1;\n\nexport const flow$ = () => $count;\n\nexport const user = () => flow$();\n",
    ),
    (
        "Src/Keys.cs",
        "class Keys {\n  public void @event() { }\n  public void Run() { @event(); }\n  public static Keys operator *(Keys a, Keys b) => a;\n}\n",
    ),
    (
        "src/lib.rs",
        "pub fn r#match() {}\n\npub fn go() {\n    r#match();\n}\n\nmacro_rules! shout {\n    () => {};\n}\n",
    ),
    (
        "t/Sum.kt",
        "class Sum {\n  fun `adds two numbers`() {\n    println(1)\n  }\n\n  fun `is 1.5`() {\n    `adds two numbers`()\n  }\n}\n\nclass `weird class` {\n  fun `is`(x: Any) = 1\n}\n",
    ),
    (
        "src/Fold.hs",
        "module Fold where\n\nsumUp :: Int -> Int\nsumUp x = x\n\nsumUp' :: Int -> Int\nsumUp' x = x\n\n(<+>) :: Int -> Int -> Int\n(<+>) a b = a\n\ntotal :: Int\ntotal = sumUp' 1\n\na <-> b = sumUp a\n\npair = 1 <+> 2\n\nfolds xs = foldr (<+>) 0 xs\n",
    ),
    (
        "src/vec.cpp",
        "struct Vec2 { int x; };\n\nVec2 operator+(Vec2 a, Vec2 b) { return a; }\n\nbool operator==(Vec2 a, Vec2 b) { return true; }\n\nstruct Call {\n  int operator()(int a) { return a; }\n};\n\nstruct Wire {\n  operator bool() const { return true; }\n  operator int*();\n  void* operator new(unsigned long n) { return 0; }\n  void* operator new[](unsigned long n);\n  void operator delete(void* p);\n};\n\nWire operator\"\"_mm(unsigned long long n) { return Wire(); }\n\nWire operator \"\" _km(unsigned long long n) { return Wire(); }\n\nstruct Text {\n  operator std::string() const { return \"\"; }\n  explicit operator std::vector<int>&();\n};\n\nText::operator std::vector<int>&() { return v; }\n",
    ),
    (
        "src/Shop.php",
        "<?php\nclass Shop {\n    public $total = 1;\n\n    function price() {\n        return $this->total;\n    }\n}\n",
    ),
    (
        "src/Ops.scala",
        "class Ops {\n  def ~>(other: Int): Int = other\n\n  def `type of`(x: Int): Int = x\n}\n",
    ),
    (
        "src/Flag.swift",
        "struct Flag {\n  func `default`() -> Int { return 1 }\n\n  static func === (a: Flag, b: Flag) -> Bool { return true }\n}\n\nfunc \u{1f680}() -> Int { return 1 }\n",
    ),
    ("src/main.zig", "pub fn @\"a name\"() void {}\n\npub fn main() void {\n    @\"a name\"();\n}\n"),
    (
        "bin/tool.sh",
        "my-tool() {\n  echo 1\n}\n\nlib::start() {\n  my-tool\n}\n\nlib.stop() {\n  lib::start\n}\n",
    ),
    ("db/tables.sql", "CREATE TABLE \"Order Items\" (id int);\n\nCREATE TABLE shop.\"Bills\" (id int);\n"),
    (
        "src/area.py",
        "def gro\u{308}\u{df}e(x):\n    return x\n\n\ndef rand():\n    return gro\u{308}\u{df}e(1)\n",
    ),
];

/// Queries, each with the place of its definition.
const EXACT: &[(&str, &str)] = &[
    ("fetch", "lib/repo.ex:2"),
    ("fetch!", "lib/repo.ex:4"),
    ("Repo.fetch!", "lib/repo.ex:4"),
    ("Repo.fetch!/1", "lib/repo.ex:4"),
    ("&Repo.fetch!/1", "lib/repo.ex:4"),
    ("def fetch!", "lib/repo.ex:4"),
    ("<~>", "lib/repo.ex:10"),
    ("save", "app/user.rb:2"),
    ("save!", "app/user.rb:6"),
    ("User#save!", "app/user.rb:6"),
    (":save!", "app/user.rb:6"),
    ("valid?", "app/user.rb:10"),
    ("User#valid?", "app/user.rb:10"),
    ("User.valid?", "app/user.rb:10"),
    ("name=", "app/user.rb:14"),
    ("User#<=>", "app/user.rb:18"),
    ("User.<=>", "app/user.rb:18"),
    ("User::<=>", "app/user.rb:18"),
    ("<=>", "app/user.rb:18"),
    ("User#[]", "app/user.rb:27"),
    ("#unpack", "src/box.ts:2"),
    ("Box.#unpack", "src/box.ts:2"),
    ("$count", "src/box.ts:11"),
    ("flow$", "src/box.ts:13"),
    ("@event", "Src/Keys.cs:2"),
    ("event", "Src/Keys.cs:2"),
    ("Keys.@event", "Src/Keys.cs:2"),
    ("operator *", "Src/Keys.cs:4"),
    ("operator*", "Src/Keys.cs:4"),
    ("r#match", "src/lib.rs:1"),
    ("match", "src/lib.rs:1"),
    ("shout!", "src/lib.rs:7"),
    ("shout", "src/lib.rs:7"),
    ("`adds two numbers`", "t/Sum.kt:2"),
    ("adds two numbers", "t/Sum.kt:2"),
    ("Sum.adds two numbers", "t/Sum.kt:2"),
    ("Sum.`adds two numbers`", "t/Sum.kt:2"),
    ("is 1.5", "t/Sum.kt:6"),
    ("Sum.is 1.5", "t/Sum.kt:6"),
    ("`weird class`.`is`", "t/Sum.kt:12"),
    ("weird class.is", "t/Sum.kt:12"),
    ("sumUp", "src/Fold.hs:4"),
    ("sumUp'", "src/Fold.hs:7"),
    ("Fold.sumUp'", "src/Fold.hs:7"),
    ("<+>", "src/Fold.hs:10"),
    ("(<+>)", "src/Fold.hs:10"),
    ("<->", "src/Fold.hs:15"),
    ("operator+", "src/vec.cpp:3"),
    ("operator +", "src/vec.cpp:3"),
    ("operator==", "src/vec.cpp:5"),
    ("==", "src/vec.cpp:5"),
    ("operator()", "src/vec.cpp:8"),
    ("Call::operator()", "src/vec.cpp:8"),
    ("operator bool", "src/vec.cpp:12"),
    ("operator  bool", "src/vec.cpp:12"),
    ("operator std::string", "src/vec.cpp:24"),
    ("Text::operator std::string", "src/vec.cpp:24"),
    ("operator std::string() const", "src/vec.cpp:24"),
    ("Wire::operator bool", "src/vec.cpp:12"),
    ("operator int*", "src/vec.cpp:13"),
    ("operator int *", "src/vec.cpp:13"),
    ("operator new", "src/vec.cpp:14"),
    ("operator new[]", "src/vec.cpp:15"),
    ("Wire::operator new []", "src/vec.cpp:15"),
    ("operator delete", "src/vec.cpp:16"),
    ("operator\"\"_mm", "src/vec.cpp:19"),
    ("operator \"\" _mm", "src/vec.cpp:19"),
    ("operator\"\"_km", "src/vec.cpp:21"),
    ("$total", "src/Shop.php:3"),
    ("total", "src/Shop.php:3"),
    ("~>", "src/Ops.scala:2"),
    ("Ops.~>", "src/Ops.scala:2"),
    ("`type of`", "src/Ops.scala:4"),
    ("type of", "src/Ops.scala:4"),
    ("default", "src/Flag.swift:2"),
    ("`default`", "src/Flag.swift:2"),
    ("===", "src/Flag.swift:4"),
    ("\u{1f680}", "src/Flag.swift:7"),
    ("@\"a name\"", "src/main.zig:1"),
    ("a name", "src/main.zig:1"),
    ("my-tool", "bin/tool.sh:1"),
    ("lib::start", "bin/tool.sh:5"),
    ("lib.stop", "bin/tool.sh:9"),
    ("\"Order Items\"", "db/tables.sql:1"),
    ("Order Items", "db/tables.sql:1"),
    ("Bills", "db/tables.sql:3"),
    ("shop.Bills", "db/tables.sql:3"),
    ("gr\u{f6}\u{df}e", "src/area.py:1"),
    ("gro\u{308}\u{df}e", "src/area.py:1"),
];

/// Queries that match no name exactly, each with the name that is answered instead, and the place of its definition.
const OTHER: &[(&str, &str, &str)] = &[
    ("only", "only!", "lib/repo.ex:6"),
    ("Repo.load!", "load", "lib/repo.ex:8"),
    ("valid", "valid?", "app/user.rb:10"),
    ("User#valid!", "valid?", "app/user.rb:10"),
    ("unpack", "#unpack", "src/box.ts:2"),
    ("Box#unpack", "#unpack", "src/box.ts:2"),
    ("flow", "flow$", "src/box.ts:13"),
    ("price'", "price", "src/Shop.php:5"),
];

async fn graph(name: &str) -> Graph {
    Graph::new(name, FILES).await
}

fn warning<'a>(envelope: &'a Value, code: &str) -> Option<&'a Value> {
    envelope["_meta"]["warnings"].as_array().into_iter().flatten().find(|warning| warning["code"] == code)
}

/// The first place of an answer of `navigate` as `file:line`.
fn place(envelope: &Value) -> String {
    let symbol = &envelope["result"]["symbol"];
    format!("{}:{}", symbol["file"].as_str().unwrap_or("-"), symbol["line"])
}

#[tokio::test(flavor = "multi_thread")]
async fn navigation_finds_a_name_in_the_spelling_that_was_asked() {
    let graph = graph("spellings").await;
    let mut wrong = Vec::new();
    for (asked, expected) in EXACT {
        // `total` is a name of two files.
        let file = expected.split(':').next().unwrap();
        let envelope = graph.ask(json!({ "symbol": asked, "relation": "definition", "file": file })).await;
        if place(&envelope) != *expected || warning(&envelope, "other_spelling").is_some() {
            wrong.push(format!("{asked}: {} instead of {expected}: {}", place(&envelope), envelope["error"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_spelling_is_answered_only_if_nothing_has_the_asked_one_and_is_reported() {
    let graph = graph("other-spellings").await;
    let mut wrong = Vec::new();
    for (asked, name, expected) in OTHER {
        let envelope = graph.ask(json!({ "symbol": asked, "relation": "definition" })).await;
        let said = warning(&envelope, "other_spelling").map(|warning| warning["details"]["names"].clone());
        if place(&envelope) != *expected || said != Some(json!([name])) {
            wrong.push(format!("{asked}: {} instead of {expected}, {said:?}", place(&envelope)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (text, code) in [
        ("how are coins counted", "INVALID_REQUEST"),
        ("what is in user.rb", "INVALID_REQUEST"),
        ("operator float", "NOT_FOUND"),
        ("`odd class`.`is`", "NOT_FOUND"),
    ] {
        let unknown = graph.error(json!({ "symbol": text })).await;
        assert_eq!(unknown["code"], code, "{unknown:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_are_those_of_the_name_with_its_marks() {
    let graph = graph("marked-uses").await;
    for (asked, expected) in [
        ("fetch!", &["lib/repo.ex:8 Repo.load"][..]),
        ("fetch", &["lib/repo.ex:4 Repo.fetch!"]),
        ("save!", &["app/user.rb:23 User::run"]),
        ("save", &["app/user.rb:7 User::save!"]),
        ("valid?", &["app/user.rb:24 User::run"]),
        ("#unpack", &["src/box.ts:7 Box.open"]),
        ("flow$", &["src/box.ts:15 user"]),
        ("@event", &["Src/Keys.cs:3 Keys.Run"]),
        ("match", &["src/lib.rs:4 go"]),
        ("adds two numbers", &["t/Sum.kt:7 Sum.is 1.5"]),
        ("sumUp'", &["src/Fold.hs:13 total"]),
        ("sumUp", &["src/Fold.hs:15 <->"]),
        ("<+>", &["src/Fold.hs:17 pair", "src/Fold.hs:19 folds"]),
        ("a name", &["src/main.zig:4 main"]),
        ("my-tool", &["bin/tool.sh:6 lib::start"]),
        ("gr\u{f6}\u{df}e", &["src/area.py:6 rand"]),
    ] {
        let found = graph.navigate(json!({ "symbol": asked, "relation": "callers" })).await;
        assert_eq!(places(&found["files"]), expected, "{asked}: {found:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_a_name_has_the_spelling_that_was_asked_first() {
    let graph = graph("searched-spellings").await;
    let mut wrong = Vec::new();
    for (asked, expected) in EXACT {
        let path = expected.split(':').next().unwrap();
        let query = json!({ "query": asked, "project_id": graph.project, "path": path });
        let envelope = call(&graph.app, "search", query).await;
        let hit = &envelope["result"]["hits"][0];
        let found = format!("{}:{}", hit["file"].as_str().unwrap_or("-"), hit["line"]);
        if found != *expected || warning(&envelope, "other_spelling").is_some() {
            wrong.push(format!("{asked}: {found} instead of {expected}"));
        }
    }
    for (asked, name, expected) in OTHER {
        let envelope =
            call(&graph.app, "search", json!({ "query": asked, "project_id": graph.project })).await;
        let hit = &envelope["result"]["hits"][0];
        let found = format!("{}:{}", hit["file"].as_str().unwrap_or("-"), hit["line"]);
        let said = warning(&envelope, "other_spelling").map(|warning| warning["details"]["names"].clone());
        if found != *expected || said != Some(json!([name])) {
            wrong.push(format!("{asked}: {found} instead of {expected}, {said:?}"));
        }
    }
    // A question is not a name, and its punctuation is not part of one.
    for question in ["where is fetch?", "where is save?", "how is a user saved!"] {
        let query = json!({ "query": question, "project_id": graph.project });
        let envelope = call(&graph.app, "search", query).await;
        if warning(&envelope, "other_spelling").is_some() || envelope["ok"] != true {
            wrong.push(format!("{question}: {envelope:#}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_pass_the_spelling_that_was_asked() {
    let graph = graph("filtered-spellings").await;
    for (filter, expected) in [
        ("calls:save!", &["run"][..]),
        ("calls:save", &["save!"]),
        ("calls:valid?", &["run"]),
        ("calls:fetch!", &["load"]),
        ("calls:flow$", &["user"]),
        ("calls:\"adds two numbers\"", &["is 1.5"]),
        ("calls:\"`adds two numbers`\"", &["is 1.5"]),
        ("calls:r#match", &["go"]),
        ("calls:sumUp'", &["total"]),
        // The file is one chunk; the variable itself has all words of the query.
        ("uses:$count", &["$count"]),
        ("calls:gr\u{f6}\u{df}e", &["rand"]),
        ("calls:gro\u{308}\u{df}e", &["rand"]),
    ] {
        let query = json!({ "query": filter, "project_id": graph.project });
        let hits = result(&graph.app, "search", query).await;
        let name =
            |hit: &Value| hit["name"].as_str().unwrap_or("-").rsplit(['.', ':']).next().unwrap().to_owned();
        let mut names: Vec<String> = hits["hits"].as_array().unwrap().iter().map(name).collect();
        names.sort();
        let expected: Vec<&str> = expected.iter().map(|name| name.rsplit('.').next().unwrap()).collect();
        assert_eq!(names, expected, "{filter}: {hits:#}");
    }
    let query = json!({ "query": "calls:valid!", "project_id": graph.project });
    let envelope = call(&graph.app, "search", query).await;
    let said = warning(&envelope, "other_spelling").unwrap_or_else(|| panic!("{envelope:#}"));
    assert_eq!(said["details"]["names"], json!(["valid?"]), "{envelope:#}");
    assert_eq!(envelope["result"]["hits"][0]["file"], "app/user.rb", "{envelope:#}");
    // Only what the code has is named, and not what a language would read as the same name.
    let query = json!({ "query": "uses:$flow", "project_id": graph.project });
    let envelope = call(&graph.app, "search", query).await;
    let said = warning(&envelope, "other_spelling").unwrap_or_else(|| panic!("{envelope:#}"));
    assert_eq!(said["details"]["names"], json!(["flow$"]), "{envelope:#}");
}
