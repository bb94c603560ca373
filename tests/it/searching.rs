//! Searches over real rows: ranking, filters, dense search, and the form of the answer.

mod document_formats;

use std::sync::Arc;
use std::time::Duration;

use contract::Fault;
use contract::ModelIdentity;
use embedding::{Embedder, StubEmbedder};
use gate::app::App;
use serde_json::{Value, json};

use crate::harness::{Repository, app, app_with, app_with_embedder, app_with_model, call, project, result};

async fn indexed(app: &Arc<App>, name: &str, files: &[(&str, &str)]) -> (Repository, String) {
    let (repository, project) = (Repository::new(files), project(name));
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    (repository, project)
}

async fn hit_files(app: &Arc<App>, mut arguments: Value, project: &str) -> Vec<String> {
    arguments["project_id"] = json!(project);
    let found = result(app, "search", arguments).await;
    found["hits"].as_array().unwrap().iter().map(|hit| hit["file"].as_str().unwrap().to_owned()).collect()
}

const SHOP: &[(&str, &str)] = &[
    ("src/cart.py", "class ShoppingCart:\n    def add_item(self, item):\n        self.items.append(item)\n"),
    (
        "src/payment.rs",
        "/// Charges the card.\npub fn charge_credit_card(cents: u64) -> bool {\n    cents > 0\n}\n",
    ),
    (
        "web/checkout.ts",
        "export function renderCheckoutPage(cart: Cart): string {\n  return `<b>${cart.total}</b>`;\n}\n",
    ),
    ("tests/test_cart.py", "def test_add_item():\n    cart = ShoppingCart()\n    cart.add_item('x')\n"),
    ("README.md", "# Shop\n\nA shop with a shopping cart.\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn definitions_come_before_uses_and_tests() {
    let app = app();
    let (_repository, project) = indexed(&app, "shop", SHOP).await;
    for (query, file) in [
        ("ShoppingCart", "src/cart.py"),
        ("add_item", "src/cart.py"),
        ("charge_credit_card", "src/payment.rs"),
        ("renderCheckoutPage", "web/checkout.ts"),
        ("where is the checkout page rendered", "web/checkout.ts"),
    ] {
        assert_eq!(hit_files(&app, json!({ "query": query }), &project).await[0], file, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_quotes_and_negation_filter() {
    let app = app();
    let (_repository, project) = indexed(&app, "gates", SHOP).await;
    let plain = hit_files(&app, json!({ "query": "cart zebra unheard" }), &project).await;
    assert!(plain.contains(&"src/cart.py".to_owned()), "plain words do not filter: {plain:?}");
    let quoted = hit_files(&app, json!({ "query": "cart \"self.items\"" }), &project).await;
    assert_eq!(quoted, ["src/cart.py"]);
    let negated = hit_files(&app, json!({ "query": "cart -shoppingcart" }), &project).await;
    assert!(!negated.is_empty() && !negated.contains(&"src/cart.py".to_owned()), "{negated:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_select_files() {
    let app = app();
    let (repository, project) = indexed(&app, "filters", SHOP).await;
    let search = |filter: Value| {
        let mut arguments = json!({ "query": "cart card checkout", "top": 50 });
        arguments.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let (app, project) = (app.clone(), project.clone());
        async move {
            let mut files = hit_files(&app, arguments, &project).await;
            files.sort();
            files.dedup();
            files
        }
    };
    assert_eq!(search(json!({ "lang": "rs" })).await, ["src/payment.rs"]);
    assert_eq!(search(json!({ "ext": ["ts", ".rs"] })).await, ["src/payment.rs", "web/checkout.ts"]);
    assert_eq!(search(json!({ "path": "src/*" })).await, ["src/cart.py", "src/payment.rs"]);
    assert_eq!(search(json!({ "path": "tests" })).await, ["tests/test_cart.py"]);
    assert_eq!(search(json!({ "file": "cart" })).await, ["src/cart.py", "tests/test_cart.py"]);
    assert_eq!(search(json!({ "mode": "prose" })).await, ["README.md", "src/payment.rs"]);
    assert!(!search(json!({ "mode": "code" })).await.contains(&"README.md".to_owned()));
    assert_eq!(search(json!({ "repoPath": repository.root(), "lang": "rust" })).await, ["src/payment.rs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_top_and_context_are_honoured() {
    let app = app();
    let (_repository, project) = indexed(&app, "shapes", SHOP).await;
    let search = |arguments: Value| {
        let (app, mut arguments) = (app.clone(), arguments);
        arguments["project_id"] = json!(project);
        arguments["query"] = json!("charge_credit_card");
        async move { result(&app, "search", arguments).await }
    };
    let compact = search(json!({})).await;
    assert_eq!(compact["hits"][0]["file"], "src/payment.rs");
    assert_eq!(compact["hits"][0]["name"], "charge_credit_card");
    assert!(compact["hits"][0].get("content").is_none(), "{compact:#}");
    let full = search(json!({ "output": "full" })).await;
    assert!(full["hits"][0]["content"].as_str().unwrap().contains("cents > 0"), "{full:#}");
    assert!(full.get("stats").is_none());
    let json = search(json!({ "output": "json" })).await;
    assert!(json["stats"].is_object(), "{json:#}");
    assert_eq!(search(json!({ "top": 1 })).await["hits"].as_array().unwrap().len(), 1);
    let (_other, big) = indexed(&app, "context", &[("a.py", &many_functions(200))]).await;
    let mut arguments = json!({ "query": "needle_in_the_file", "context": 2, "top": 1, "output": "full" });
    arguments["project_id"] = json!(big);
    let found = result(&app, "search", arguments).await;
    let hit = &found["hits"][0];
    assert_eq!(hit["contextBefore"].as_array().unwrap().len(), 2, "{found:#}");
    assert_eq!(hit["contextAfter"].as_array().unwrap().len(), 2, "{found:#}");
}

/// A file of functions; number 100, counted from 0, is `needle_in_the_file`.
fn many_functions(count: usize) -> String {
    (0..count)
        .map(|n| match n {
            100 => "def needle_in_the_file():\n    return 'needle'\n\n".to_owned(),
            _ => format!("def hay_number_{n}(value):\n    total = value * {n}\n    return total\n\n"),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dense_search_finds_what_words_cannot() {
    let app = app_with_model();
    let files = [
        ("a.py", "def obtain_user_credentials(form):\n    return form['login'], form['password']\n"),
        ("b.py", "def paint_rectangle(canvas, width, height):\n    canvas.draw(width, height)\n"),
        ("c.py", "def compress_archive(folder):\n    return zip_all(folder)\n"),
    ];
    let (_repository, project) = indexed(&app, "meaning", &files).await;
    let found =
        result(&app, "search", json!({ "query": "how do people sign in", "project_id": project })).await;
    assert_eq!(found["hits"][0]["file"], "a.py", "{found:#}");
    assert_ne!(found["vectors"], "none", "{found:#}");
}

/// A model that takes longer to embed a query than a search waits.
struct BusyEmbedder(StubEmbedder);

impl Embedder for BusyEmbedder {
    fn model(&self) -> &ModelIdentity {
        self.0.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        self.0.embed_passages(texts, cancelled)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        std::thread::sleep(Duration::from_secs(4));
        self.0.embed_query(text)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_model_is_busy_the_answer_is_lexical_only_with_a_warning() {
    let app = app_with_embedder(Arc::new(BusyEmbedder(StubEmbedder::default())));
    let (_repository, project) =
        indexed(&app, "busy", &[("a.py", "def drawer():\n    return 'coins'\n")]).await;
    let envelope = call(&app, "search", json!({ "query": "drawer", "project_id": project })).await;
    assert_eq!(envelope["result"]["hits"][0]["file"], "a.py", "{envelope:#}");
    assert_eq!(envelope["result"]["vectors"], "none");
    assert_eq!(envelope["_meta"]["warnings"][0]["code"], "degraded", "{envelope:#}");
    assert!(app.metrics_text().contains("pairofcleats_fallbacks_total{reason=\"degraded\"} 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invisible_characters_are_escaped_and_warned_of() {
    let app = app();
    let text = "def admin():\n    return 'user\u{202e}nimda\u{2066}'  # \u{e0041}\u{e0042}\n\ndef plain():\n    return 'ü'\n";
    let (_repository, project) =
        indexed(&app, "unseen", &[("a.py", text), ("b.py", "def clean():\n    return 'ü'\n")]).await;
    let file =
        async |path: &str| call(&app, "show_file", json!({ "path": path, "project_id": project })).await;
    let odd = file("a.py").await;
    let shown = odd["result"]["text"].as_str().unwrap();
    assert!(shown.contains("user\\u{202e}nimda\\u{2066}") && shown.contains("\\u{e0041}"), "{shown}");
    assert_eq!(odd["_meta"]["warnings"][0]["code"], "invisible_characters");
    let clean = file("b.py").await;
    assert!(clean["result"]["text"].as_str().unwrap().contains('ü'));
    assert!(clean["_meta"].get("warnings").is_none(), "{clean:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_too_long_to_show_is_cut_and_the_next_one_is_named() {
    let app = app_with(|config| config.search.result_bytes_max = 200);
    let long = format!("LONG = '{}'", "x".repeat(1_000));
    let (_repository, project) = indexed(&app, "long", &[("a.py", &format!("A = 1\n{long}\nB = 2\n"))]).await;
    let show = async |from: u64| {
        result(&app, "show_file", json!({ "file": "a.py", "startLine": from, "project_id": project })).await
    };
    let cut = show(2).await;
    assert_eq!((&cut["startLine"], &cut["endLine"], &cut["truncated"]), (&json!(2), &json!(2), &json!(true)));
    let text = cut["text"].as_str().unwrap();
    assert!(text.starts_with("LONG = 'xxx") && text.len() <= 200, "{text}");
    let hint = cut["omitted"]["hint"].as_str().unwrap();
    assert!(hint.contains(&format!("{} bytes", long.len())), "{hint}");
    assert!(hint.ends_with("Continue with startLine 3."), "{hint}");
    assert_eq!(show(3).await["text"], "B = 2");
}
