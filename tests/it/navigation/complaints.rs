//! Complaints of users of other tools, each as a test.

use serde_json::json;

use super::{Graph, candidates, places};

const STORE: &str = "class Store:\n    def get(self, key):\n        return key\n\n    def save(self, key):\n        return self.get(key)\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_an_unknown_receiver_is_no_use_of_a_method_of_that_name() {
    let graph = Graph::new(
        "receiver",
        &[
            ("store.py", STORE),
            ("other.py", "def read(config, things):\n    things.save(1)\n    return config.get('a')\n"),
            ("known.py", "from store import Store\n\n\ndef use(path: Store):\n    return path.get(1)\n"),
        ],
    )
    .await;
    let callers = graph.places("Store.get", "callers").await;
    assert_eq!(callers, ["known.py:5 use", "store.py:6 Store.save"]);
    // Uses that match only by name are counted separately, and listed only on request.
    let save = graph.navigate(json!({ "symbol": "Store.save", "relation": "callers" })).await;
    assert_eq!(save["total"], 0, "{save:#}");
    assert_eq!(save["unresolved"], json!({ "total": 1, "candidates": 1 }), "{save:#}");
    let guesses = json!({ "symbol": "Store.save", "relation": "callers", "certainty": "name" });
    let guesses = graph.navigate(guesses).await;
    assert_eq!((&guesses["total"], &guesses["files"]), (&json!(0), &json!([])), "{guesses:#}");
    assert_eq!(places(&guesses["unresolved"]["files"]), ["other.py:2 read"]);
    let place = &guesses["unresolved"]["files"][0]["places"][0];
    assert_eq!((&place["certainty"], &place["candidates"]), (&json!("name"), &json!(1)), "{place}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_is_never_answered_for_a_similar_one() {
    let graph =
        Graph::new("unknown", &[("till.py", "def open_till():\n    return 1\n\n\nopen_till()\n")]).await;
    let envelope = graph.ask(json!({ "symbol": "opn_till" })).await;
    assert_eq!(envelope["error"]["code"], "NOT_FOUND", "{envelope:#}");
    assert_eq!(envelope["error"]["details"]["nearest"], json!(["open_till"]), "{envelope:#}");
    assert!(envelope["error"]["hint"].as_str().unwrap().contains("`open_till`"), "{envelope:#}");
    let next = &envelope["_meta"]["next"];
    assert_eq!((&next["tool"], &next["arguments"]["symbol"]), (&json!("navigate"), &json!("open_till")));
    // Nor a prefix, nor another container.
    for symbol in ["open", "Drawer.open_till", "other.py:open_till", "OpenTill", "OPEN_TILL"] {
        assert_eq!(graph.error(json!({ "symbol": symbol })).await["code"], "NOT_FOUND", "{symbol}");
    }
    let wrong = graph.error(json!({ "symbol": "Drawer.open_till" })).await;
    assert_eq!(wrong["details"]["nearest"], json!(["till.py:open_till"]), "{wrong:#}");
    let spelled = graph.error(json!({ "symbol": "OpenTill" })).await;
    assert_eq!(spelled["details"]["nearest"], json!(["till.py:open_till"]), "{spelled:#}");
    let nothing = graph.error(json!({ "symbol": "zebra" })).await;
    assert!(nothing["details"].is_null() && nothing["hint"].is_string(), "{nothing:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_from_outside_says_so() {
    let graph =
        Graph::new("outside", &[("nap.py", "from time import sleep\n\n\ndef nap():\n    sleep(1)\n")]).await;
    let envelope = graph.ask(json!({ "symbol": "sleep", "relation": "callers" })).await;
    let error = &envelope["error"];
    assert_eq!(error["code"], "NOT_FOUND", "{envelope:#}");
    assert!(error["message"].as_str().unwrap().contains("comes from outside"), "{envelope:#}");
    assert_eq!(error["details"], json!({ "usedName": "sleep" }), "{envelope:#}");
    assert_eq!(envelope["_meta"]["next"]["arguments"]["query"], "uses:sleep", "{envelope:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_members_method_is_not_the_method_around_it() {
    let text = "class Pump:\n    def start(self):\n        return 1\n\n\nclass Car:\n    def __init__(self):\n        self.pump = Pump()\n\n    def start(self):\n        return self.pump.start()\n";
    let graph = Graph::new("member", &[("car.py", text)]).await;
    assert_eq!(graph.places("Car.start", "callers").await, Vec::<String>::new());
    assert_eq!(graph.places("Pump.start", "callers").await, ["car.py:11 Car.start"]);
    assert_eq!(graph.places("Car.start", "callees").await, ["car.py:2 Pump.start"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn languages_do_not_use_each_others_definitions() {
    let graph = Graph::new(
        "languages",
        &[
            ("views.py", "def render():\n    return 1\n"),
            ("page.ts", "export function show() {\n  return render();\n}\n"),
            ("tool.go", "package main\n\nfunc main() {\n\trender()\n}\n"),
        ],
    )
    .await;
    let found = graph.navigate(json!({ "symbol": "render", "certainty": "name" })).await;
    assert_eq!(found["total"], 0, "{found:#}");
    assert!(found["unresolved"].is_null(), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_one_name_are_not_merged() {
    let graph = Graph::new(
        "equal",
        &[
            ("a.py", "class A:\n    def run(self):\n        return 1\n\n\nA().run()\nA().run()\n"),
            ("b.py", "class B:\n    def run(self):\n        return 2\n\n\nB().run()\n"),
        ],
    )
    .await;
    let envelope = graph.ask(json!({ "symbol": "run", "relation": "callers" })).await;
    let found = &envelope["result"];
    assert_eq!(candidates(found), ["a.py:2 A.run", "b.py:2 B.run"], "the most used first: {found:#}");
    assert!(found["symbol"].is_null() && found["files"] == json!([]), "{found:#}");
    assert_eq!((&found["total"], &found["candidates"][0]["uses"]), (&json!(2), &json!(2)), "{found:#}");
    let next = &envelope["_meta"]["next"];
    let (file, line) = (&next["arguments"]["file"], &next["arguments"]["line"]);
    assert_eq!((&next["tool"], file, line), (&json!("navigate"), &json!("a.py"), &json!(2)), "{envelope:#}");
    assert_eq!(next["arguments"]["relation"], "callers", "{envelope:#}");
    for (symbol, expected) in [("b.py:run", "b.py:6 -"), ("B.run", "b.py:6 -"), ("b.py:2", "b.py:6 -")] {
        assert_eq!(graph.places(symbol, "callers").await, [expected], "{symbol}");
    }
    let picked = graph.navigate(json!({ "symbol": "run", "file": "b.py", "relation": "callers" })).await;
    assert_eq!(places(&picked["files"]), ["b.py:6 -"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_is_the_function_and_the_line_is_shown() {
    let text = "def count(coins):\n    return len(coins)\n\n\nclass Till:\n    def total(self):\n        def inner():\n            return   count([1])\n        return inner()\n\n\nTOTAL = count([])\ncount([])\n";
    let graph = Graph::new("callers", &[("till.py", text)]).await;
    let found = graph.navigate(json!({ "symbol": "count", "relation": "callers" })).await;
    let places = &found["files"][0]["places"];
    assert_eq!(places[0]["in"], "Till.total.inner", "{found:#}");
    assert_eq!(places[0]["text"], "return   count([1])", "{found:#}");
    assert_eq!((&places[0]["line"], &places[0]["column"]), (&json!(8), &json!(22)), "{found:#}");
    assert_eq!(
        (&places[0]["kind"], &places[0]["certainty"]),
        (&json!("call"), &json!("resolved")),
        "{found:#}"
    );
    assert_eq!(places[1]["in"], "TOTAL", "{found:#}");
    assert!(places[2]["in"].is_null(), "the top level of the file: {found:#}");
    assert_eq!(found["byCertainty"], json!({ "resolved": 3 }), "{found:#}");
    assert_eq!(found["byKind"], json!({ "call": 3 }), "{found:#}");
    let symbol = &found["symbol"];
    assert_eq!(
        (&symbol["line"], &symbol["column"], &symbol["kind"]),
        (&json!(1), &json!(5), &json!("function"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn re_exported_types_are_found_where_they_are_used() {
    let graph = Graph::new(
        "exports",
        &[
            ("shop/__init__.py", "from .model import Order as Order\nfrom .model import *\n"),
            ("shop/model.py", "class Order:\n    pass\n\n\nclass Line(Order):\n    pass\n"),
            ("main.py", "import shop\nfrom shop import Order\n\n\ndef make() -> Order:\n    shop.Line()\n    return shop.Order()\n"),
        ],
    )
    .await;
    let found = graph.navigate(json!({ "symbol": "Order" })).await;
    let all = places(&found["files"]);
    for place in
        ["main.py:5 make", "main.py:7 make", "main.py:2 -", "shop/__init__.py:1 -", "shop/model.py:5 Line"]
    {
        assert!(all.contains(&place.to_owned()), "{place}: {all:?}");
    }
    assert_eq!(found["files"][0]["file"], "main.py", "the file of most uses comes first: {found:#}");
    let calls = graph.navigate(json!({ "symbol": "Order", "kind": "call" })).await;
    assert_eq!(places(&calls["files"]), ["main.py:7 make"]);
    assert_eq!(graph.places("Line", "callers").await, ["main.py:6 make"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_and_its_source_are_one_symbol() {
    let graph = Graph::new(
        "header",
        &[
            ("coin.h", "int mint(int value);\nint melt(int value);\n"),
            ("coin.c", "#include \"coin.h\"\n\nint mint(int value) {\n  return value;\n}\n"),
            ("till.c", "#include \"coin.h\"\n\nint fill(void) {\n  return mint(1) + melt(2);\n}\n"),
            ("one.c", "static int same(void) {\n  return 1;\n}\n"),
            ("two.c", "static int same(void) {\n  return 2;\n}\n"),
        ],
    )
    .await;
    for symbol in ["mint", "coin.h:1", "coin.c:3"] {
        assert_eq!(graph.places(symbol, "callers").await, ["till.c:4 fill"], "{symbol}");
        let found = graph.navigate(json!({ "symbol": symbol })).await;
        assert_eq!(found["symbol"]["file"], "coin.c", "the definition, not what declares it: {found:#}");
    }
    assert_eq!(graph.places("melt", "callers").await, ["till.c:4 fill"]);
    let same = graph.navigate(json!({ "symbol": "same" })).await;
    assert_eq!(candidates(&same).len(), 2, "files keep their own: {same:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_is_the_call_and_not_the_import_for_it() {
    let graph = Graph::new(
        "top-level",
        &[("a.py", "def fa():\n    return 1\n"), ("b.py", "from a import fa\n\n\nfa()\n")],
    )
    .await;
    assert_eq!(graph.places("fa", "impact").await, ["b.py:4 -"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_no_symbol_does_not_come_from_outside() {
    let graph = Graph::new("keyword", &[("a.py", "def fa(x):\n    return 1\n")]).await;
    let error = graph.error(json!({ "symbol": "a.py:2:6" })).await;
    assert_eq!(error["code"], "NOT_FOUND", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("is not known"), "{error:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_of_common_names_and_of_fields_are_counted_where_nothing_else_is_known() {
    let job = "class Job:\n    zorkval = 1\n\n    def run(self):\n        pass\n\n    def stop(self):\n        pass\n";
    let use_it = "def use(u):\n    u.run()\n    u.zorkval = 2\n    return u.zorkval\n\n\ndef each(out, jobs):\n    out.extend(job.stop() for job in jobs)\n";
    let page = "export class D {\n  get(n: number) {}\n  text(n: number) {}\n}\nconst calls = [(c) => c.get(1), (c) => c.text(1)]\n";
    let graph = Graph::new("common", &[("job.py", job), ("use.py", use_it), ("d.ts", page)]).await;
    for (symbol, expected) in [
        ("Job.run", &["use.py:2 use"][..]),
        ("Job.stop", &["use.py:8 each"]),
        ("Job.zorkval", &["use.py:3 use", "use.py:4 use"]),
        ("D.get", &["d.ts:5 calls"]),
        ("D.text", &["d.ts:5 calls"]),
    ] {
        let found = graph.navigate(json!({ "symbol": symbol, "certainty": "name" })).await;
        assert_eq!(found["total"], 0, "{symbol}: {found:#}");
        assert_eq!(found["unresolved"]["total"], expected.len(), "{symbol}: {found:#}");
        assert_eq!(places(&found["unresolved"]["files"]), expected, "{symbol}: {found:#}");
    }
    // The same from the other end.
    let reads = json!({ "symbol": "use", "relation": "callees", "kind": "read", "certainty": "name" });
    let found = graph.navigate(reads).await;
    assert_eq!(places(&found["unresolved"]["files"]), ["use.py:4 -"], "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn impact_says_where_it_may_be_incomplete() {
    let text = "class Pump:\n    def start(self):\n        pass\n\n\ndef begin(pump: Pump):\n    pump.start()\n\n\ndef guess(thing, other):\n    thing.start()\n    other.begin()\n";
    let graph = Graph::new("gaps", &[("a.py", text)]).await;
    let envelope = graph.ask(json!({ "symbol": "Pump.start", "relation": "impact" })).await;
    assert_eq!(envelope["result"]["unresolved"], json!({ "total": 1, "candidates": 1 }), "{envelope:#}");
    let warning = &envelope["_meta"]["warnings"][0];
    assert_eq!(warning["code"], "impact_incomplete", "{envelope:#}");
    assert_eq!(warning["details"], json!({ "uses": 1, "definitions": 1 }), "{envelope:#}");
    assert!(warning["message"].as_str().unwrap().contains("`begin` 1"), "{envelope:#}");
    // Of a type, uses of the names of its members count.
    let found = graph.navigate(json!({ "symbol": "Pump", "relation": "impact" })).await;
    assert_eq!(found["unresolved"], json!({ "total": 1 }), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_implementations_is_explained_where_a_definition_cannot_have_them() {
    let text = "package a\n\ntype Mux struct{}\n\nfunc (m *Mux) Route() {}\n\nfunc Timeout() {}\n";
    let graph = Graph::new("underived", &[("a.go", text)]).await;
    let envelope = graph.ask(json!({ "symbol": "Timeout", "relation": "implementations" })).await;
    assert_eq!(envelope["result"]["total"], 0, "{envelope:#}");
    let warning = &envelope["_meta"]["warnings"][0];
    assert_eq!(warning["code"], "nothing_derives", "{envelope:#}");
    assert!(warning["message"].as_str().unwrap().contains("`Timeout` is a function"), "{envelope:#}");
    for symbol in ["Mux", "Mux.Route"] {
        let envelope = graph.ask(json!({ "symbol": symbol, "relation": "implementations" })).await;
        assert!(envelope["_meta"]["warnings"].as_array().is_none_or(Vec::is_empty), "{envelope:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_is_what_callers_give_until_it_is_assigned() {
    let text = "from copy import deepcopy\n\n\nclass Message:\n    def seal(self):\n        return 1\n\n\n\
        def send(msg):\n    msg.seal()\n    msg = deepcopy(msg)\n    return msg.seal()\n\n\n\
        def start(msg):\n    msg.seal()\n    msg = Message()\n    return msg.seal()\n";
    let graph = Graph::new("assigned", &[("a.py", text)]).await;
    let callers = json!({ "symbol": "Message.seal", "relation": "callers", "certainty": "name" });
    let found = graph.navigate(callers).await;
    assert_eq!(places(&found["files"]), ["a.py:18 start"], "{found:#}");
    assert_eq!(places(&found["unresolved"]["files"]), ["a.py:10 send", "a.py:16 start"], "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_is_said_to_be_one() {
    let context = "package a\n\ntype Context struct {\n\tRoutePath string\n}\n\ntype Other struct {\n\tRoutePath string\n}\n";
    let mux = "package a\n\nfunc route(c *Context) string {\n\tc.RoutePath = \"\"\n\treturn c.RoutePath\n}\n";
    let graph = Graph::new("field", &[("context.go", context), ("mux.go", mux)]).await;
    for certainty in ["resolved", "name"] {
        let error = graph.error(json!({ "symbol": "Context.RoutePath", "certainty": certainty })).await;
        assert_eq!(error["code"], "NOT_FOUND", "{error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("`RoutePath` is a field, declared in `context.go:4` of `Context`."),
            "{message}"
        );
        assert!(message.contains("used at 2 places"), "{message}");
        assert!(error["hint"].as_str().unwrap().contains("uses:RoutePath"), "{error:#}");
    }
    let error = graph.error(json!({ "symbol": "RoutePath" })).await;
    let lines: Vec<&serde_json::Value> =
        error["details"]["fields"].as_array().unwrap().iter().map(|field| &field["line"]).collect();
    assert_eq!(lines, [4, 8], "{error:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_alone_needs_a_line_or_a_name() {
    let graph = Graph::new(
        "path",
        &[
            ("src/router.ts", "export function ts() {}\n"),
            ("src/use.ts", "import { ts } from './router'\nts()\n"),
        ],
    )
    .await;
    for symbol in ["src/router.ts", "./src/router.ts", "use.ts"] {
        let error = graph.error(json!({ "symbol": symbol })).await;
        assert_eq!(error["code"], "INVALID_REQUEST", "{error:#}");
        assert!(error["message"].as_str().unwrap().contains("is a file"), "{error:#}");
        assert!(error["hint"].as_str().unwrap().contains(".ts:LINE`"), "{error:#}");
    }
    assert_eq!(graph.places("ts", "callers").await, ["src/use.ts:2 -"]);
}
