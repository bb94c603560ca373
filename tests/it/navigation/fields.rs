//! Fields that are not separate definitions: their names and the places of their declarations are known.

use serde_json::{Value, json};

use super::{Graph, candidates, places};

const CONTEXT: &str = "package a\n\ntype Context struct {\n\tRoutePath string\n\tinner Inner\n}\n\ntype Other struct {\n\tRoutePath string\n}\n";
const MUX: &str = "package a\n\nfunc route(c *Context) string {\n\tc.RoutePath = \"\"\n\treturn c.RoutePath\n}\n\n\
    type Inner struct{}\n\ntype Options struct {\n\tTimeout int\n}\n\nfunc Timeout() {}\n";

fn definition(symbol: &str) -> Value {
    json!({ "symbol": symbol, "relation": "definition" })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_definition_of_a_field_is_its_place() {
    let till = "class Till:\n    def __init__(self):\n        self.coins = []\n";
    let graph =
        Graph::new("field-places", &[("context.go", CONTEXT), ("mux.go", MUX), ("till.py", till)]).await;
    for (symbol, place) in [
        ("Context.RoutePath", "context.go:4 Context.RoutePath"),
        ("context.go:Other.RoutePath", "context.go:9 Other.RoutePath"),
        // Something else has the name.
        ("Options.Timeout", "mux.go:11 Options.Timeout"),
        ("Timeout", "mux.go:14 Timeout"),
        ("coins", "till.py:3 Till.coins"),
        // Places: of the name, and of a line with no other name.
        ("context.go:4:2", "context.go:4 Context.RoutePath"),
        ("context.go:4", "context.go:4 Context.RoutePath"),
        ("context.go:5:2", "context.go:5 Context.inner"),
        ("context.go:5", "mux.go:8 Inner"),
    ] {
        let found = graph.navigate(definition(symbol)).await;
        assert_eq!(places(&found["files"]), [place], "{symbol}: {found:#}");
    }
    let envelope = graph.ask(definition("Context.RoutePath")).await;
    let symbol = &envelope["result"]["symbol"];
    assert_eq!((&symbol["kind"], &symbol["column"]), (&json!("field"), &json!(2)), "{envelope:#}");
    assert_eq!(symbol["signature"], "RoutePath string", "{envelope:#}");
    assert_eq!(envelope["_meta"]["next"]["arguments"]["query"], "uses:RoutePath", "{envelope:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_one_name_are_candidates() {
    let graph = Graph::new("field-names", &[("context.go", CONTEXT), ("mux.go", MUX)]).await;
    let both = ["context.go:4 Context.RoutePath", "context.go:9 Other.RoutePath"];
    let found = graph.navigate(definition("RoutePath")).await;
    assert_eq!(candidates(&found), both, "{found:#}");
    assert!(found["candidates"][0]["uses"].is_null(), "uses are not followed: {found:#}");
    // A use shows only the name.
    let envelope = graph.ask(definition("mux.go:4:4")).await;
    assert_eq!(candidates(&envelope["result"]), both, "{envelope:#}");
    assert_eq!(envelope["_meta"]["warnings"][0]["code"], "not_resolved", "{envelope:#}");
    // Other relations say that it is a field, and are never answered for another one.
    for symbol in ["RoutePath", "mux.go:4:4"] {
        let error = graph.error(json!({ "symbol": symbol })).await;
        assert!(error["message"].as_str().unwrap().contains("is a field"), "{symbol}: {error:#}");
    }
    for symbol in ["Missing.RoutePath", "mux.go:RoutePath"] {
        assert_eq!(graph.error(definition(symbol)).await["code"], "NOT_FOUND", "{symbol}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_comes_before_what_only_has_its_letters() {
    let files = [
        ("t.ts", "export class Svc {\n  name = 1;\n  inc() { return this.name; }\n}\n"),
        ("s.ts", "export const $name = 1;\n"),
        ("box.ts", "export class Box {\n  item$ = 1;\n  get() { return this.item$; }\n}\n"),
        ("item.ts", "export const item = 1;\n"),
    ];
    let graph = Graph::new("field-spellings", &files).await;
    for (symbol, place) in [
        ("name", "t.ts:2 Svc.name"),
        ("Svc.name", "t.ts:2 Svc.name"),
        ("t.ts:name", "t.ts:2 Svc.name"),
        ("item$", "box.ts:2 Box.item$"),
        ("Box.item$", "box.ts:2 Box.item$"),
    ] {
        let envelope = graph.ask(definition(symbol)).await;
        assert_eq!(places(&envelope["result"]["files"]), [place], "{symbol}: {envelope:#}");
        assert!(envelope["_meta"]["warnings"].as_array().is_none_or(Vec::is_empty), "{symbol}: {envelope:#}");
        for relation in ["references", "callers", "callees", "implementations", "hierarchy", "impact"] {
            let error = graph.error(json!({ "symbol": symbol, "relation": relation })).await;
            let message = error["message"].as_str().unwrap();
            let file = place.split(' ').next().unwrap();
            assert!(
                message.contains("is a field, declared in") && message.contains(file),
                "{symbol}, {relation}: {error:#}"
            );
        }
    }
    // A name with a definition in its exact spelling means that definition.
    for (symbol, file) in [("$name", "s.ts"), ("item", "item.ts")] {
        let found = graph.navigate(json!({ "symbol": symbol })).await;
        assert_eq!(found["symbol"]["file"], file, "{found:#}");
    }
}
