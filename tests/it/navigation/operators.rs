//! Operators: where their uses are recorded, and what is said where they are not.

use serde_json::{Value, json};

use super::{Graph, places};

/// Files with an operator and a use of it, and how the operator is asked for.
const UNRECORDED: &[(&str, &str, &str)] = &[
    ("lib/pipe.ex", "~>", "defmodule Pipe do\n  def a ~> b, do: a + b\n\n  def run(a), do: a ~> 1\nend\n"),
    (
        "app/vec.rb",
        "Vec#+",
        "class Vec\n  def +(other)\n    other\n  end\n\n  def run(a, b)\n    a + b\n  end\nend\n",
    ),
    (
        "src/ops.scala",
        "+++",
        "class Ops {\n  def +++(b: Ops): Ops = b\n  def run(b: Ops): Ops = this +++ b\n}\n",
    ),
    (
        "src/flag.swift",
        "|>",
        "struct Flag {\n  static func |> (a: Flag, b: Flag) -> Flag { return a }\n  func run(b: Flag) -> Flag { return self |> b }\n}\n",
    ),
    (
        "t/Vec.kt",
        "plus",
        "class Vec(val x: Int) {\n  operator fun plus(o: Vec): Vec = o\n}\n\nfun run(a: Vec, b: Vec): Vec = a + b\n",
    ),
    (
        "src/vec.cpp",
        "operator+",
        "struct Vec { int x; };\n\nVec operator+(Vec a, Vec b) { return a; }\n\nVec run(Vec a, Vec b) { return a + b; }\n",
    ),
    (
        "src/wire.cpp",
        "operator bool",
        "struct Wire {\n  operator bool() const { return true; }\n};\n\nint run(Wire w) { return w ? 1 : 0; }\n",
    ),
    (
        "src/Same.hs",
        "==",
        "module Same where\n\ndata V = V Int\n\ninstance Eq V where\n  a == b = True\n\nrun a b = a == b\n",
    ),
];

/// Operators of Haskell that are not those of the prelude.
const OPERATORS: &str = "module Ops where\n\n(><) :: Int -> Int -> Int\n(><) a b = a\n\nbetween a b = a >< b\n\nbefore a b = (><) a b\n\nsections xs = map (>< 1) (map (2 ><) xs)\n\ninner a = a >< 1 where\n  x >< y = y\n\na <++> b = between a b\n";

fn warns(envelope: &Value) -> bool {
    let warnings = envelope["_meta"]["warnings"].as_array();
    warnings.into_iter().flatten().any(|warning| warning["code"] == "operators_not_recorded")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_whose_uses_are_not_recorded_is_not_said_to_be_unused() {
    let files: Vec<(&str, &str)> = UNRECORDED.iter().map(|(file, _, text)| (*file, *text)).collect();
    let graph = Graph::new("unrecorded-operators", &files).await;
    for (file, symbol, _) in UNRECORDED {
        for (relation, expected) in [
            ("references", true),
            ("callers", true),
            ("impact", true),
            ("definition", false),
            ("callees", false),
        ] {
            let asked = json!({ "symbol": symbol, "file": file, "relation": relation });
            let envelope = graph.ask(asked).await;
            assert_eq!(envelope["ok"], true, "{symbol}, {relation}: {envelope:#}");
            assert_eq!(warns(&envelope), expected, "{symbol}, {relation}: {envelope:#}");
        }
        let other = graph.ask(json!({ "symbol": "run", "file": file })).await;
        assert!(other["ok"] == true && !warns(&other), "{file}: {other:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_of_operators_are_recorded_in_haskell() {
    let other = "module Other where\n\nimport Ops ((><))\n\nelsewhere a b = a >< b\n";
    let graph = Graph::new("operators", &[("src/Ops.hs", OPERATORS), ("src/Other.hs", other)]).await;
    let envelope = graph.ask(json!({ "symbol": "><", "relation": "callers" })).await;
    assert!(!warns(&envelope), "{envelope:#}");
    let found = &envelope["result"];
    // The operator that `inner` defines for itself is another one.
    let expected =
        ["src/Ops.hs:6 between", "src/Ops.hs:8 before", "src/Ops.hs:10 sections", "src/Ops.hs:10 sections"];
    assert_eq!(places(&found["files"]), expected, "{found:#}");
    assert_eq!(found["unresolved"]["total"], 1, "the use in another file: {found:#}");
    // At its place, it is known as well.
    let placed = graph.navigate(json!({ "symbol": "src/Ops.hs:6:18", "relation": "definition" })).await;
    assert_eq!(places(&placed["files"]), ["src/Ops.hs:4 ><"], "{placed:#}");
    let impact = graph.places("between", "impact").await;
    assert_eq!(impact, ["src/Ops.hs:15 <++>"]);
}
