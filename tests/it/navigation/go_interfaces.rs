//! Implementations in Go, where types do not name the interfaces that they implement.

use serde_json::{Value, json};

use super::walks::steps;
use super::{Graph, places};

const SHAPE: &str = "package shapes\n\ntype Shape interface {\n\tArea() float64\n\tScale(by float64) Shape\n}\n\n\
    type Named interface {\n\tName() string\n}\n\ntype NamedShape interface {\n\tShape\n\tNamed\n}\n";
const SQUARE: &str = "package shapes\n\ntype Square struct{ side float64 }\n\n\
    func (s Square) Area() float64 {\n\treturn s.side\n}\n";
const SCALE: &str = "package shapes\n\nfunc (s *Square) Scale(by float64) Shape {\n\treturn s\n}\n";
const CIRCLE: &str = "package other\n\ntype base struct{}\n\nfunc (b *base) Area() float64 {\n\treturn 0\n}\n\n\
    type Circle struct {\n\t*base\n\tradius float64\n}\n\n\
    func (c *Circle) Scale(factor float64) any {\n\treturn c\n}\n\n\
    func (c *Circle) Name() string {\n\treturn \"circle\"\n}\n\n\
    type Wrong struct{}\n\nfunc (w Wrong) Area() (float64, error) {\n\treturn 0, nil\n}\n\n\
    func (w Wrong) Scale(by float64) any {\n\treturn w\n}\n\n\
    type Partial struct{}\n\nfunc (p Partial) Area() float64 {\n\treturn 0\n}\n";

impl Graph {
    async fn relation(&self, symbol: &str, relation: &str) -> Value {
        self.ask(json!({ "symbol": symbol, "relation": relation })).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_implements_the_interfaces_that_its_methods_satisfy() {
    let files = [
        ("shapes/shape.go", SHAPE),
        ("shapes/square.go", SQUARE),
        ("shapes/scale.go", SCALE),
        ("other/circle.go", CIRCLE),
    ];
    let graph = Graph::new("satisfied", &files).await;
    for (symbol, relation, expected) in [
        // The methods of a type are in several files, have pointers as receivers, or are those of an embedded type. Types of
        // which a method is missing, or has a different number of results, are none.
        ("Shape", "implementations", &["1 Circle", "1 NamedShape", "1 Square"][..]),
        ("NamedShape", "implementations", &["1 Circle"]),
        ("Shape.Area", "implementations", &["1 base.Area", "1 Square.Area"]),
        ("Square.Area", "implementations", &[]),
        ("Square", "hierarchy", &["-1 Shape"]),
        ("Circle", "hierarchy", &["-1 base", "-1 Shape", "-1 Named", "-1 NamedShape"]),
        ("Square.Area", "hierarchy", &["-1 Shape.Area"]),
        ("Shape", "hierarchy", &["1 Circle", "1 NamedShape", "1 Square"]),
    ] {
        let envelope = graph.relation(symbol, relation).await;
        assert_eq!(steps(&envelope["result"]), expected, "{relation} of {symbol}: {envelope:#}");
        let warnings = envelope["_meta"]["warnings"].as_array();
        assert!(warnings.is_none_or(Vec::is_empty), "{relation} of {symbol}: {envelope:#}");
    }
    let found = graph.navigate(json!({ "symbol": "Shape", "relation": "implementations" })).await;
    assert_eq!(found["byCertainty"], json!({ "resolved": 3 }), "{found:#}");
    assert!(found["unresolved"].is_null(), "{found:#}");
    let square = &found["files"][2]["places"][0];
    assert_eq!(
        (&square["via"], &square["overrides"]),
        (&json!("Shape"), &json!(["Area", "Scale"])),
        "{found:#}"
    );
    // A compiler did not say so.
    let scip = json!({ "symbol": "Shape", "relation": "implementations", "certainty": "scip" });
    assert_eq!(graph.navigate(scip).await["total"], 0);
    let page = json!({ "symbol": "Shape", "relation": "implementations", "limit": 1, "offset": 2 });
    assert_eq!(steps(&graph.navigate(page).await), ["1 Square"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_other_packages_do_not_see_is_implemented_only_in_its_own() {
    let own =
        "package a\n\ntype Sealed interface {\n\tseal()\n}\n\ntype Own struct{}\n\nfunc (o Own) seal() {}\n";
    let other = "package b\n\ntype Other struct{}\n\nfunc (o Other) seal() {}\n";
    let graph = Graph::new("sealed", &[("a/a.go", own), ("b/b.go", other)]).await;
    let envelope = graph.relation("Sealed", "implementations").await;
    assert_eq!(steps(&envelope["result"]), ["1 Own"], "{envelope:#}");
    let envelope = graph.relation("Other", "hierarchy").await;
    assert_eq!(envelope["result"]["total"], 0, "{envelope:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_in_a_folder_may_be_a_package_of_their_own() {
    let own = "package a\n\ntype Own struct{}\n\nfunc (o Own) seal() {}\n\nfunc (o Own) Open() {}\n";
    let tests =
        "package a_test\n\ntype Sealed interface {\n\tseal()\n}\n\ntype Opened interface {\n\tOpen()\n}\n";
    let graph = Graph::new("tested", &[("a/a.go", own), ("a/a_test.go", tests)]).await;
    let envelope = graph.relation("Opened", "implementations").await;
    assert_eq!(steps(&envelope["result"]), ["1 Own"], "{envelope:#}");
    let envelope = graph.relation("Sealed", "implementations").await;
    assert_eq!(envelope["result"]["total"], 0, "{envelope:#}");
    assert_eq!(envelope["result"]["unresolved"], json!({ "total": 1 }), "{envelope:#}");
    let envelope = graph.relation("Own", "hierarchy").await;
    assert_eq!(steps(&envelope["result"]), ["-1 Opened"], "{envelope:#}");
    assert_eq!(envelope["result"]["unresolved"], json!({ "total": 1 }), "{envelope:#}");
}

const CONSTRAINTS: &str = "package a\n\ntype Number interface {\n\t~int | ~float64\n\tString() string\n}\n\n\
    type Scalar interface {\n\t~int | ~string\n}\n\n\
    type Key interface {\n\tcomparable\n\tString() string\n}\n\n\
    type Plain struct{}\n\nfunc (p Plain) String() string {\n\treturn \"\"\n}\n";

#[tokio::test(flavor = "multi_thread")]
async fn methods_alone_do_not_satisfy_a_constraint() {
    let graph = Graph::new("constraints", &[("a.go", CONSTRAINTS)]).await;
    for (symbol, part, unresolved) in [
        ("Number", "embeds something", json!({ "total": 1 })),
        ("Scalar", "only what something demands", Value::Null),
        ("Key", "embeds `comparable`", json!({ "total": 1 })),
    ] {
        let envelope = graph.relation(symbol, "implementations").await;
        let found = &envelope["result"];
        assert_eq!((&found["total"], &found["unresolved"]), (&json!(0), &unresolved), "{envelope:#}");
        let warning = &envelope["_meta"]["warnings"][0];
        assert_eq!(warning["code"], "implementations_not_declared", "{symbol}: {envelope:#}");
        assert!(warning["message"].as_str().unwrap().contains(part), "{symbol}: {envelope:#}");
    }
}

const FOREIGN: &str = "package a\n\nimport (\n\t\"io\"\n\t\"net\"\n)\n\ntype Body interface {\n\tio.Reader\n\tShut() error\n}\n\n\
    type File struct{}\n\nfunc (f *File) Shut() error {\n\treturn nil\n}\n\n\
    type Streams interface {\n\tio.Reader\n\tio.Writer\n}\n\ntype Any interface{}\n\n\
    type Resettable interface {\n\tLocalAddr() string\n\tReset()\n}\n\n\
    type Wrapped struct {\n\tnet.Conn\n}\n\nfunc (w *Wrapped) Reset() {}\n\n\
    type Failure interface {\n\terror\n\tCode() int\n}\n\ntype failed struct{}\n\n\
    func (f failed) Error() string {\n\treturn \"\"\n}\n\nfunc (f failed) Code() int {\n\treturn 1\n}\n";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_embedded_from_elsewhere_makes_implementations_less_certain() {
    let graph = Graph::new("foreign", &[("a.go", FOREIGN)]).await;
    for (symbol, relation, code, part) in [
        ("Body", "implementations", "implementations_not_declared", "`io.Reader`"),
        ("Streams", "implementations", "implementations_not_declared", "`io.Reader`, `io.Writer`"),
        ("Any", "implementations", "interface_without_methods", "every type"),
        ("Resettable", "implementations", "implementations_not_declared", "1 type with some"),
        ("Wrapped", "hierarchy", "implementations_not_declared", "`net.Conn`"),
    ] {
        let envelope = graph.relation(symbol, relation).await;
        assert_eq!(envelope["result"]["total"], 0, "{symbol}: {envelope:#}");
        let warning = &envelope["_meta"]["warnings"][0];
        assert_eq!(warning["code"], code, "{symbol}: {envelope:#}");
        assert!(warning["message"].as_str().unwrap().contains(part), "{symbol}: {envelope:#}");
    }
    // Types that have only the known methods are marked as such, and listed on request.
    let found = graph.navigate(json!({ "symbol": "Body", "relation": "implementations" })).await;
    assert_eq!(found["unresolved"], json!({ "total": 1 }), "{found:#}");
    let by_name = json!({ "symbol": "Body", "relation": "implementations", "certainty": "name" });
    let by_name = graph.navigate(by_name).await;
    assert_eq!(places(&by_name["unresolved"]["files"]), ["a.go:13 File"], "{by_name:#}");
    let place = &by_name["unresolved"]["files"][0]["places"][0];
    assert_eq!((&place["certainty"], &by_name["total"]), (&json!("name"), &json!(0)), "{by_name:#}");
    // The impact of a change to a method is not known either.
    let impact = graph.relation("Body.Shut", "impact").await;
    assert_eq!(impact["result"]["unresolved"]["total"], 1, "{impact:#}");
    assert_eq!(impact["_meta"]["warnings"][0]["code"], "implementations_not_declared", "{impact:#}");
    let by_name = json!({ "symbol": "Body.Shut", "relation": "impact", "certainty": "name" });
    let by_name = graph.navigate(by_name).await;
    assert_eq!(places(&by_name["unresolved"]["files"]), ["a.go:15 File.Shut"], "{by_name:#}");
    // The language itself says what `error` demands.
    let failure = graph.relation("Failure", "implementations").await;
    assert_eq!(steps(&failure["result"]), ["1 failed"], "{failure:#}");
    assert!(failure["_meta"]["warnings"].as_array().is_none_or(Vec::is_empty), "{failure:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_concerns_who_calls_what_it_implements() {
    let text = "package a\n\ntype Router interface {\n\tRoute()\n}\n\ntype Mux struct{}\n\nfunc (m *Mux) Route() {}\n\n\
        func serve(r Router) {\n\tr.Route()\n}\n\nfunc start(m *Mux) {\n\tm.Route()\n}\n";
    let graph = Graph::new("implemented", &[("a.go", text)]).await;
    for (symbol, expected) in [
        ("Mux.Route", &["1 Router.Route", "1 serve", "1 start"]),
        ("Router.Route", &["1 Mux.Route", "1 serve", "2 start"]),
    ] {
        let found = graph.navigate(json!({ "symbol": symbol, "relation": "impact" })).await;
        assert_eq!(steps(&found), expected, "{symbol}: {found:#}");
    }
    // With `kind: call`, implementations of the method do not count as its callers.
    let calls = json!({ "symbol": "Mux.Route", "relation": "impact", "kind": "call" });
    assert_eq!(steps(&graph.navigate(calls).await), ["1 start"]);
}
