//! The files and chunks that each filter field selects, as an argument and in the query language.

use std::collections::BTreeSet;

use contract::clock::{Clock, SystemClock};
use engine::search::fields::{FIELDS, ValueKind, field};
use serde_json::{Value, json};

use super::shop::{IndexedProject, sorted_hit_files};
use crate::harness::app;

/// Fields without a row below or in `risk.rs`. Keep it empty.
const UNCOVERED: &[&str] = &[];

/// A number of days, counted back from now, that includes the shop's last commit but not the one before it.
fn days_to_the_last_commit() -> f64 {
    const LAST_COMMIT_S: i64 = 1_709_208_000;
    (SystemClock.now().as_second() - LAST_COMMIT_S) as f64 / 86_400.0 + 100.0
}

const CHARGE: &str = "src/billing/charge.rs";
const REFUND: &str = "src/billing/refund.rs";
const SHELF: &str = "src/stock/shelf.rs";
const WALK: &str = "src/stock/walk.rs";
const BASKET: &str = "web/basket.ts";
const MONEY: &str = "web/money.ts";
const NIGHTLY: &str = "jobs/nightly.py";
const REPORT: &str = "tools/report.go";
const RETURNS: &str = "docs/returns.md";
const SHIPPING: &str = "docs/Shipping.md";
const NIGHT_LOG: &str = "logs/night.log";
const TRIAL: &str = "trial.rs";

/// A field, a value, and the files of the chunks that pass.
pub(crate) type Row = (&'static str, Value, Vec<&'static str>);

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = file_fields();
    rows.extend(code_fields());
    rows.extend(flow_fields());
    rows.extend(false_flags());
    rows.extend(code_spellings());
    rows.extend(path_spellings());
    rows.extend(history_and_metadata_fields());
    rows
}

fn file_fields() -> Vec<Row> {
    vec![
        ("path", json!("billing"), vec![CHARGE, REFUND]),
        ("path", json!(["src/stock/*", "/^web.*y/"]), vec![SHELF, WALK, MONEY]),
        ("file", json!("re"), vec![RETURNS, REFUND, REPORT]),
        ("file", json!(["walk.*", "/^tri/"]), vec![WALK, TRIAL]),
        ("ext", json!("rs"), vec![CHARGE, REFUND, SHELF, WALK, TRIAL]),
        ("ext", json!([".go", "*.LOG"]), vec![NIGHT_LOG, REPORT]),
        ("ext", json!("go, log"), vec![NIGHT_LOG, REPORT]),
        ("lang", json!("ts"), vec![BASKET, MONEY]),
        ("content", json!("/ledger\\.total = \\w+/"), vec![CHARGE]),
        ("content", json!("  ledger.total = "), vec![CHARGE]),
        ("lang", json!("py, golang"), vec![NIGHTLY, REPORT]),
    ]
}

fn code_fields() -> Vec<Row> {
    vec![
        ("type", json!("class"), vec![BASKET]),
        ("type", json!("section,impl"), vec![SHIPPING, RETURNS, SHELF]),
        ("import", json!("std::collections"), vec![CHARGE]),
        ("import", json!("web/money"), vec![BASKET]),
        ("calls", json!("send_mail"), vec![NIGHTLY]),
        ("calls", json!("gateway::submit"), vec![CHARGE]),
        ("calls", json!("charge_order"), vec![CHARGE, TRIAL]),
        ("calledBy", json!("fetch_wares"), vec![]),
        ("uses", json!("MAX_LINES"), vec![REFUND]),
        ("signature", json!("cents: u64"), vec![CHARGE]),
        ("param", json!("reason"), vec![REFUND]),
        ("decorator", json!("Instrument"), vec![CHARGE]),
        ("decorator", json!("app.task"), vec![NIGHTLY]),
        ("inferredType", json!("f64"), vec![WALK]),
        ("inferredType", json!("ledger"), vec![CHARGE]),
        ("returnType", json!("receipt"), vec![CHARGE, BASKET]),
        ("visibility", json!("private"), vec![REFUND, SHELF, BASKET]),
        ("extends", json!("container"), vec![BASKET]),
        ("extends", json!("Iterator"), vec![SHELF]),
        ("extends", json!("Iter"), vec![]),
        ("async", json!(true), vec![CHARGE, BASKET]),
        ("generator", json!(true), vec![NIGHTLY]),
        ("returns", json!(true), vec![CHARGE, SHELF, BASKET, MONEY]),
        ("lint", json!(true), vec![WALK]),
    ]
}

/// Flags that are false. Go functions are not known to be synchronous, and documents have no functions: neither passes.
fn false_flags() -> Vec<Row> {
    vec![
        ("async", json!(false), vec![REFUND, SHELF, WALK, MONEY, NIGHTLY, TRIAL]),
        ("generator", json!(false), vec![CHARGE, REFUND, SHELF, WALK, BASKET, MONEY, TRIAL]),
        ("returns", json!(false), vec![REFUND, WALK, NIGHTLY, REPORT, TRIAL]),
        ("lint", json!(false), vec![CHARGE, REFUND, SHELF, BASKET, MONEY, NIGHTLY, REPORT, TRIAL]),
    ]
}

/// Values as they are written in code: with the punctuation, arguments, types and keywords that stored facts omit.
fn code_spellings() -> Vec<Row> {
    vec![
        ("calls", json!("gateway::submit(cents)"), vec![CHARGE]),
        ("calls", json!("await this.api.placeOrder(order);"), vec![BASKET]),
        ("calls", json!("api.placeOrder"), vec![BASKET]),
        ("calls", json!("`send_mail()`"), vec![NIGHTLY]),
        ("uses", json!("shelf.aisle"), vec![WALK]),
        ("param", json!("reason: &str"), vec![REFUND]),
        ("param", json!("ledger: &mut Ledger"), vec![CHARGE]),
        ("param", json!("&mut self"), vec![SHELF]),
        ("param", json!("orders []Order"), vec![NIGHTLY, REPORT]),
        ("decorator", json!("#[tracing::instrument]"), vec![CHARGE]),
        ("decorator", json!("#[instrument(skip(ledger))]"), vec![CHARGE]),
        ("decorator", json!("@app.task"), vec![NIGHTLY]),
        ("decorator", json!("@Component"), vec![BASKET]),
        ("inferredType", json!(": Vec<Ware>"), vec![SHELF]),
        ("returnType", json!("Result<Receipt,PaymentError>"), vec![CHARGE]),
        ("returnType", json!("Result < Receipt , PaymentError >"), vec![CHARGE]),
        ("returnType", json!("-> Option<Ware>"), vec![SHELF]),
        ("returnType", json!(": Promise<Receipt> {"), vec![BASKET]),
        ("throws", json!("raise StaleOrder(order)"), vec![NIGHTLY]),
        ("throws", json!("PaymentError::Empty"), vec![CHARGE]),
        ("awaits", json!("await this.api.placeOrder(order)"), vec![BASKET]),
        ("awaits", json!("gateway::submit"), vec![CHARGE]),
        ("reads", json!("order.paid"), vec![NIGHTLY]),
        ("reads", json!("self.wares"), vec![SHELF]),
        ("reads", json!("&order.lines"), vec![REFUND]),
        ("reads", json!("ledger.total"), vec![CHARGE]),
        ("writes", json!("open += 1"), vec![REFUND]),
        ("mutates", json!("ledger.total = 0"), vec![CHARGE]),
        ("alias", json!("let aisle = shelf.aisle;"), vec![WALK]),
        ("extends", json!("Container<Ware>"), vec![BASKET]),
        ("import", json!("import { formatMoney } from './money'"), vec![BASKET]),
        ("import", json!("./money.js"), vec![BASKET]),
        ("import", json!("money"), vec![BASKET]),
        ("import", json!("use std::collections::HashMap;"), vec![CHARGE]),
        ("import", json!("std.collections"), vec![CHARGE]),
        ("import", json!("from shop.mail import send_mail"), vec![NIGHTLY]),
        ("import", json!("\"net/http\""), vec![REPORT]),
        ("signature", json!("pub fn  fetch_wares(shelf: Shelf) {"), vec![WALK]),
        ("visibility", json!("Public"), vec![CHARGE, SHELF, WALK, BASKET, MONEY, NIGHTLY, REPORT, TRIAL]),
        ("visibility", json!("pub"), vec![CHARGE, SHELF, WALK, TRIAL]),
        ("visibility", json!("package"), vec![SHELF]),
        ("visibility", json!("pub(crate)"), vec![SHELF]),
        ("visibility", json!("priv"), vec![REFUND, SHELF, BASKET]),
        ("type", json!("classes"), vec![BASKET]),
        ("lang", json!("\"Go\""), vec![REPORT]),
    ]
}

fn path_spellings() -> Vec<Row> {
    vec![
        ("path", json!("./src/stock"), vec![SHELF, WALK]),
        ("path", json!("/src/stock"), vec![SHELF, WALK]),
        ("path", json!("web\\money.ts"), vec![MONEY]),
        ("file", json!("src/stock/walk.rs"), vec![WALK]),
        ("file", json!("./web/money.ts"), vec![MONEY]),
        ("author", json!("Grace Hopper <grace@example.org>"), vec![CHARGE, REFUND]),
        ("chunkAuthor", json!("Linus Linter <linus@example.org>"), vec![REPORT]),
        ("branch", json!("refs/heads/trial"), vec![TRIAL]),
        ("meta", json!("title: shipping"), vec![SHIPPING]),
    ]
}

fn flow_fields() -> Vec<Row> {
    vec![
        ("throws", json!("paymenterror"), vec![CHARGE]),
        ("throws", json!("StaleOrder"), vec![NIGHTLY]),
        ("throws", json!("Order"), vec![]),
        ("throws", json!("Error"), vec![]),
        ("throws", json!("Empty"), vec![CHARGE]),
        ("awaits", json!("placeorder"), vec![BASKET]),
        ("awaits", json!("api.placeOrder"), vec![BASKET]),
        ("awaits", json!("Order"), vec![]),
        ("reads", json!("max_l"), vec![REFUND]),
        ("writes", json!("aisle"), vec![WALK]),
        ("mutates", json!("ledger.total"), vec![CHARGE]),
        ("alias", json!("aisle=shelf.aisle"), vec![WALK]),
        ("alias", json!("shelf.aisle"), vec![WALK]),
        ("alias", json!("isle"), vec![]),
        ("branchesMin", json!(2), vec![NIGHTLY, CHARGE, REFUND]),
        ("branchesMin", json!(2.5), vec![REFUND]),
        ("loopsMin", json!(2), vec![REFUND]),
        ("breaksMin", json!(1), vec![REFUND]),
        ("continuesMin", json!(1), vec![NIGHTLY, REFUND]),
    ]
}

fn history_and_metadata_fields() -> Vec<Row> {
    vec![
        ("author", json!("grace"), vec![CHARGE, REFUND]),
        ("author", json!("Hopper, LINUS"), vec![CHARGE, REFUND, REPORT]),
        ("chunkAuthor", json!("hopper"), vec![CHARGE, REFUND]),
        ("chunkAuthor", json!("linus"), vec![REPORT]),
        ("modifiedAfter", json!("2022-06-15"), vec![CHARGE, REFUND, REPORT]),
        ("modifiedAfter", json!("2022-06-15T12:00:01Z"), vec![REPORT]),
        ("modifiedSince", json!(days_to_the_last_commit()), vec![REPORT]),
        ("churnMin", json!(20), vec![REFUND]),
        ("branch", json!("trial"), vec![TRIAL]),
        ("rev", json!("trial"), vec![TRIAL]),
        ("rev", json!("t*l"), vec![TRIAL]),
        ("meta", json!("owner"), vec![RETURNS]),
        ("meta", json!({ "title": "shipping" }), vec![SHIPPING]),
        ("meta", json!(["title", "audience=PARTNERS"]), vec![RETURNS]),
        ("metaJson", json!(r#"{ "owner.team": "desk" }"#), vec![RETURNS]),
    ]
}

/// The filter clause `name:value` of the query language; `None` for objects and for lists whose pairs must all hold.
fn as_query_clause(name: &str, value: &Value) -> Option<String> {
    let clause = |text: &str| format!("{name}:\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    match value {
        Value::String(text) => Some(clause(text)),
        Value::Array(values) if field(name).unwrap().kind == ValueKind::TextOrList => {
            let alternatives: Vec<String> = values.iter().map(|v| clause(v.as_str().unwrap())).collect();
            Some(format!("({})", alternatives.join(" OR ")))
        }
        Value::Number(_) | Value::Bool(_) => Some(format!("{name}:{value}")),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_selects_exactly_its_files() {
    let shop = IndexedProject::shop(app(), "effect").await;
    let all = sorted_hit_files(&shop.search("order", json!({})).await);
    assert_eq!(all.len(), 12, "every chunk answers the plain query: {all:?}");
    let mut failures = Vec::new();
    for (name, value, mut expected) in rows() {
        expected.sort_unstable();
        assert!(expected.len() < all.len(), "{name} {value} must exclude some files");
        let answer = shop.search("order", json!({ name: value })).await;
        let found = sorted_hit_files(&answer);
        if found != expected {
            failures.push(format!("{name} {value}: {found:?} instead of {expected:?}"));
        }
        let Some(clause) = as_query_clause(name, &value) else { continue };
        let by_query = shop.search(&format!("order {clause}"), json!({})).await;
        assert_eq!(by_query["hits"], answer["hits"], "{clause}");
        let again = shop.search(by_query["query"].as_str().unwrap(), json!({})).await;
        assert_eq!((&again["hits"], &again["query"]), (&by_query["hits"], &by_query["query"]), "{clause}");
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_filter_field_has_a_row() {
    let mut covered: BTreeSet<&str> = rows().iter().map(|(name, ..)| *name).collect();
    covered.extend(super::risk::ROWS.iter().map(|(name, ..)| *name));
    for field in FIELDS {
        let (covered, uncovered) = (covered.contains(field.name), UNCOVERED.contains(&field.name));
        assert!(
            covered != uncovered,
            "{}: has a row: {covered}, listed as uncovered: {uncovered}",
            field.name
        );
    }
    let exists = |name: &&str| field(name).is_some_and(|field| field.name == *name);
    assert!(covered.iter().chain(UNCOVERED).all(exists), "a row names a field that does not exist");
}
