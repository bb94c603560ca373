//! Relations over several steps: impact, hierarchy, implementations.

use serde_json::{Value, json};

use super::Graph;

/// Places as `distance name`.
pub(super) fn steps(found: &Value) -> Vec<String> {
    let files = found["files"].as_array().unwrap();
    let all = files.iter().flat_map(|file| file["places"].as_array().unwrap());
    all.map(|place| format!("{} {}", place["distance"], place["name"].as_str().unwrap_or("-"))).collect()
}

const CHAIN: &str = "def a():\n    return 1\n\n\ndef b():\n    return a()\n\n\ndef c():\n    return b()\n\n\ndef d():\n    return c()\n\n\ndef e():\n    return d()\n\n\nc()\n";

#[tokio::test(flavor = "multi_thread")]
async fn impact_walks_step_by_step_and_says_where_it_stopped() {
    let graph = Graph::new("impact", &[("chain.py", CHAIN)]).await;
    let impact = |depth: u32| json!({ "symbol": "a", "relation": "impact", "depth": depth });
    let two = graph.navigate(impact(2)).await;
    assert_eq!(steps(&two), ["1 b", "2 c"]);
    assert_eq!(two["stopped"], json!({ "reason": "depth", "depth": 2, "remaining": 2 }), "{two:#}");
    let all = graph.navigate(impact(10)).await;
    assert_eq!(steps(&all), ["1 b", "2 c", "3 d", "3 -", "4 e"], "{all:#}");
    assert!(all["stopped"].is_null(), "{all:#}");
    assert_eq!(
        all["steps"],
        json!([{ "distance": 1, "total": 1 }, { "distance": 2, "total": 1 },
        { "distance": 3, "total": 2 }, { "distance": 4, "total": 1 }])
    );
    let second = &all["files"][0]["places"][1];
    assert_eq!((&second["via"], &second["at"]), (&json!("b"), &json!([10])), "{second}");
    assert_eq!(second["certainty"], "resolved", "{second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cycles_end() {
    let ring = "def a():\n    return c()\n\n\ndef b():\n    return a() + b()\n\n\ndef c():\n    return b()\n";
    let graph = Graph::new("cycle", &[("ring.py", ring)]).await;
    let found = graph.navigate(json!({ "symbol": "a", "relation": "impact", "depth": 10 })).await;
    assert_eq!(steps(&found), ["1 b", "2 c"], "{found:#}");
    assert!(found["stopped"].is_null(), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_import_each_other_are_resolved() {
    let graph = Graph::new(
        "imports",
        &[
            ("one.py", "import two\n\n\ndef first():\n    return two.second()\n"),
            ("two.py", "from one import first\n\n\ndef second():\n    return first()\n"),
        ],
    )
    .await;
    let found = graph.navigate(json!({ "symbol": "first", "relation": "impact", "depth": 10 })).await;
    assert_eq!(steps(&found), ["1 second"], "{found:#}");
}

const SHAPES: &str = "class Shape:\n    def area(self):\n        return 0\n\n    def name(self):\n        return 'shape'\n\n\nclass Square(Shape):\n    def area(self):\n        return 1\n\n\nclass Tile(Square):\n    def area(self):\n        return 2\n\n    def name(self):\n        return 'tile'\n\n\ndef draw(shape: Shape):\n    return shape.area()\n";

#[tokio::test(flavor = "multi_thread")]
async fn types_and_methods_have_bases_and_what_derives_from_them() {
    let graph = Graph::new("shapes", &[("shapes.py", SHAPES)]).await;
    let found = graph.navigate(json!({ "symbol": "Square", "relation": "hierarchy" })).await;
    assert_eq!(steps(&found), ["-1 Shape", "1 Tile"], "{found:#}");
    let found = graph.navigate(json!({ "symbol": "Shape", "relation": "implementations" })).await;
    assert_eq!(steps(&found), ["1 Square", "2 Tile"], "{found:#}");
    let places = &found["files"][0]["places"];
    assert_eq!(places[0]["overrides"], json!(["area"]), "{found:#}");
    assert_eq!(places[1]["overrides"], json!(["area", "name"]), "{found:#}");
    assert_eq!((&places[1]["via"], &places[1]["at"]), (&json!("Square"), &json!([14])), "{found:#}");
    let found = graph.navigate(json!({ "symbol": "Shape.area", "relation": "implementations" })).await;
    assert_eq!(steps(&found), ["1 Square.area", "2 Tile.area"], "{found:#}");
    // A change to an override may affect the callers of the overridden method.
    let found = graph.navigate(json!({ "symbol": "Square.area", "relation": "impact" })).await;
    assert_eq!(steps(&found), ["1 Shape.area", "1 Tile.area", "1 draw"], "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_calls_what_is_overridden_further_up_is_reached_too() {
    let text = "class Base:\n    def run(self):\n        return 0\n\n\nclass Middle(Base):\n    def run(self):\n        return 1\n\n\n\
        class Last(Middle):\n    def run(self):\n        return 2\n\n\nclass Other(Base):\n    def run(self):\n        return 3\n\n\n\
        def use(base: Base):\n    return base.run()\n\n\ndef twice(base: Base):\n    return use(base)\n";
    let graph = Graph::new("further-up", &[("a.py", text)]).await;
    let found = graph.navigate(json!({ "symbol": "Last.run", "relation": "impact" })).await;
    // Another method that overrides the same one does not depend on this one.
    assert_eq!(steps(&found), ["1 Middle.run", "1 use", "2 Base.run", "2 twice"], "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_symbol_is_found_among_more_definitions_of_its_name_than_are_read() {
    let many: String =
        (0..2_100).map(|at| format!("class A{at}:\n    def run(self):\n        pass\n\n\n")).collect();
    let last = "class Last:\n    def run(self):\n        pass\n\n\ndef start():\n    Last().run()\n";
    let graph = Graph::new("many", &[("gen/a.py", many.as_str()), ("z/last.py", last)]).await;
    for symbol in ["Last.run", "z/last.py:Last.run", "last.py:run"] {
        let found = graph.navigate(json!({ "symbol": symbol, "relation": "callers" })).await;
        assert_eq!(found["symbol"]["qualified"], "Last.run", "{symbol}: {found:#}");
        assert_eq!(found["total"], 1, "{symbol}: {found:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callees_are_definitions_with_the_lines_of_their_calls() {
    let text = "import json\n\n\ndef one():\n    return 1\n\n\ndef two(thing):\n    one()\n    thing.fly()\n    json.dumps(1)\n    return one()\n\n\nclass Bird:\n    def fly(self):\n        return 1\n";
    let graph = Graph::new("callees", &[("a.py", text)]).await;
    let found = graph.navigate(json!({ "symbol": "two", "relation": "callees" })).await;
    let places = &found["files"][0]["places"];
    assert_eq!((&found["total"], &places[0]["name"]), (&json!(1), &json!("one")), "{found:#}");
    assert_eq!(places[0]["at"], json!([9, 12]), "{found:#}");
    assert_eq!(found["byKind"], json!({ "call": 2 }), "{found:#}");
    assert_eq!(found["unresolved"]["total"], 1, "{found:#}");
    let named = json!({ "symbol": "two", "relation": "callees", "certainty": "name" });
    let named = graph.navigate(named).await;
    assert_eq!(named["unresolved"]["files"][0]["places"][0]["text"], "thing.fly()", "{named:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn implementations_are_found_in_other_languages_too() {
    let rust = "pub trait Shape {\n    fn area(&self) -> u32;\n}\n\npub struct Square;\n\nimpl Shape for Square {\n    fn area(&self) -> u32 {\n        side()\n    }\n}\n\nfn side() -> u32 {\n    1\n}\n";
    let graph =
        Graph::new("rust", &[("Cargo.toml", "[package]\nname = \"shapes\"\n"), ("src/lib.rs", rust)]).await;
    assert_eq!(graph.places("side", "callers").await, ["src/lib.rs:9 Square::area"]);
    let found = graph.navigate(json!({ "symbol": "Shape", "relation": "implementations" })).await;
    assert_eq!(steps(&found), ["1 Square"], "{found:#}");
    let found = graph.navigate(json!({ "symbol": "Shape::area", "relation": "implementations" })).await;
    assert_eq!(steps(&found), ["1 Square::area"], "{found:#}");
}

const TRAITS: &str = "pub trait Shown {\n    fn show(&self);\n}\npub struct A;\nimpl Shown for A {\n    fn show(&self) {}\n}\n\
    impl Shown for String {\n    fn show(&self) {}\n}\nimpl Shown for u8 {\n    fn show(&self) {}\n}\n\
    impl<T> Shown for Vec<T> {\n    fn show(&self) {}\n}\n";

#[tokio::test(flavor = "multi_thread")]
async fn every_type_of_elsewhere_that_implements_a_trait_is_listed() {
    let inner = "use crate::{A, Shown};\n\npub trait Bold: Shown {}\n\nimpl Bold for A {}\nimpl Bold for u8 {}\n\n\
        mod inner {\n    impl crate::Shown for i8 { fn show(&self) {} }\n}\n";
    let lib = format!("{TRAITS}mod bold;\n");
    let manifest = "[package]\nname = \"shown\"\n";
    let files = [("Cargo.toml", manifest), ("src/lib.rs", lib.as_str()), ("src/bold.rs", inner)];
    let graph = Graph::new("elsewhere", &files).await;
    let found = graph.navigate(json!({ "symbol": "Shown", "relation": "implementations" })).await;
    let listed = |found: &Value| -> Vec<String> {
        let files = found["files"].as_array().unwrap().iter();
        let all =
            files.flat_map(|file| file["places"].as_array().unwrap().iter().map(move |place| (file, place)));
        all.map(|(file, place)| {
            let name = place["name"].as_str().or(place["text"].as_str()).unwrap();
            format!("{} {}:{} {name}", place["distance"], file["file"].as_str().unwrap(), place["line"])
        })
        .collect()
    };
    let expected = [
        "1 src/bold.rs:3 Bold",
        "1 src/bold.rs:9 impl crate::Shown for i8 { fn show(&self) {} }",
        "1 src/lib.rs:4 A",
        "1 src/lib.rs:8 impl Shown for String {",
        "1 src/lib.rs:11 impl Shown for u8 {",
        "1 src/lib.rs:14 impl<T> Shown for Vec<T> {",
        "2 src/bold.rs:5 impl Bold for A {}",
        "2 src/bold.rs:6 impl Bold for u8 {}",
    ];
    assert_eq!(listed(&found), expected, "{found:#}");
    assert_eq!(found["total"], expected.len(), "{found:#}");
    let page = json!({ "symbol": "Shown", "relation": "implementations", "limit": 3, "offset": 3 });
    assert_eq!(listed(&graph.navigate(page).await), expected[3..6]);
    let methods = graph.navigate(json!({ "symbol": "Shown.show", "relation": "implementations" })).await;
    assert_eq!(methods["total"], 5, "{methods:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_inside_of_a_function_overrides() {
    let local = "class Base:\n    def run(self):\n        pass\n\n\ndef g():\n    class Local(Base):\n        def run(self):\n            pass\n\n    return Local\n";
    let graph = Graph::new("local", &[("a.py", local)]).await;
    let found = graph.navigate(json!({ "symbol": "Base.run", "relation": "implementations" })).await;
    assert_eq!(steps(&found), ["1 g.Local.run"], "{found:#}");
    let found = graph.navigate(json!({ "file": "a.py", "line": 8, "relation": "hierarchy" })).await;
    assert_eq!(steps(&found), ["-1 Base.run"], "{found:#}");
}
