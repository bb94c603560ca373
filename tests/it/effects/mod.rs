//! Every field of every tool changes something: each is left out and given, and what is answered and left behind differs.
//!
//! A call without the field is made twice in worlds that are alike, so that a difference which is there anyhow does not count.

mod table;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use engine::search::fields::field;
use futures::stream::{StreamExt, iter};
use pairofcleats::tools::LIST;
use serde_json::{Value, json};

use crate::filters::shop::Shop;
use crate::harness::{app, error, project};
use table::{Row, rows};
use world::World;

/// The alias has the fields of `build_index` and runs the same code.
const ALIASES: &[(&str, &str)] = &[("index_build", "build_index")];
/// Worlds at a time.
const WORLDS_MAX: usize = 4;

/// Fields of a tool as its schema has them.
fn fields(tool: &str) -> BTreeSet<String> {
    let spec =
        LIST.iter().find(|spec| spec.name == tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
    (spec.input)()["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_field_stands_in_a_table() {
    let mut missing = Vec::new();
    for spec in LIST {
        if let Some((_, same)) = ALIASES.iter().find(|(alias, _)| *alias == spec.name) {
            assert_eq!(fields(spec.name), fields(same), "{} is the same as {same}", spec.name);
            continue;
        }
        let shown: BTreeSet<&str> = match spec.name {
            "search" => table::SEARCH.iter().map(|row| row.0).chain(filters().map(|row| row.0)).collect(),
            name => {
                let elsewhere = table::ELSEWHERE.iter().filter(|row| row.0 == name).map(|row| row.1);
                rows().iter().filter(|row| row.tool == name).map(|row| row.field).chain(elsewhere).collect()
            }
        };
        let all = fields(spec.name);
        missing
            .extend(all.iter().filter(|f| !shown.contains(f.as_str())).map(|f| format!("{}.{f}", spec.name)));
        let gone: Vec<_> = shown.iter().filter(|field| !all.contains(**field)).collect();
        assert!(gone.is_empty(), "{} has no fields {gone:?}", spec.name);
    }
    assert!(missing.is_empty(), "nothing shows what these change: {}", missing.join(", "));
    for (tool, field, file, test) in table::ELSEWHERE {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let body = text.split(&format!("fn {test}()")).nth(1).and_then(|rest| rest.split("\n}").next());
        let body = body.unwrap_or_else(|| panic!("{tool}.{field}: there is no test {test} in {file}"));
        assert!(body.contains(field), "{tool}.{field}: {test} in {file} does not use it");
    }
}

/// The arguments with `field` set to `value`.
fn with(base: &Value, field: &str, value: &Value) -> Value {
    let mut arguments = base.clone();
    arguments[field] = value.clone();
    arguments
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_changes_what_is_answered_or_left_behind() {
    crate::models::both_variants();
    let mut by_call: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows() {
        by_call.entry(format!("{} {:?} {}", row.tool, row.prepared, row.base)).or_default().push(row);
    }
    let complaints: Vec<Vec<String>> = iter(by_call.into_values())
        .map(|group| async move {
            let first = &group[0];
            let without = World::new(first.prepared).await.observe(first.tool, &first.base).await;
            let again = World::new(first.prepared).await.observe(first.tool, &first.base).await;
            if without != again {
                return vec![format!(
                    "{} {} is not the same twice:\n{without:#}\n{again:#}",
                    first.tool, first.base
                )];
            }
            let mut complaints = Vec::new();
            for row in &group {
                let arguments = with(&row.base, row.field, &row.value);
                let given = World::new(row.prepared).await.observe(row.tool, &arguments).await;
                if given == without {
                    complaints.push(format!(
                        "{}.{} = {} changes nothing:\n{given:#}",
                        row.tool, row.field, row.value
                    ));
                }
            }
            complaints
        })
        .buffer_unordered(WORLDS_MAX)
        .collect()
        .await;
    let complaints = complaints.concat();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// The filter fields of `search`, with a value that some chunks pass and others do not.
fn filters() -> impl Iterator<Item = (&'static str, Value)> {
    let risks = crate::filters::risk::ROWS.iter().map(|(name, value, _)| (*name, json!(value)));
    crate::filters::effect::rows().into_iter().map(|(name, value, _)| (name, value)).chain(risks)
}

/// What a search answers, without the time that it took.
async fn answered(shop: &Shop, arguments: &Value) -> Value {
    let mut envelope = crate::harness::try_call(&shop.app, "search", arguments.clone()).await.map_or_else(
        |refusal| json!({ "refused": refusal.to_fault().message }),
        |mut envelope| {
            let warnings = envelope["_meta"]["warnings"].take();
            json!({ "result": envelope["result"], "error": envelope["error"], "warnings": warnings })
        },
    );
    if envelope["result"]["stats"].is_object() {
        envelope["result"]["stats"] = json!("told");
    }
    envelope
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_of_search_changes_the_answer() {
    let shop = Shop::open(app(), "effects").await;
    let (risky, repository, _) =
        crate::filters::risk::indexed(crate::filters::risk::FILES, crate::filters::risk::OWN_RULE).await;
    let risky = Shop::of(app(), risky, repository);
    let mut complaints = Vec::new();
    let searches = table::SEARCH.iter().map(|(name, base, value)| (*name, base(), value()));
    let plain = filters().map(|(name, value)| (name, json!({ "query": "order" }), value));
    for (name, base, value) in searches.chain(plain) {
        let asked = if name.starts_with("risk") && field(name).is_some() { &risky } else { &shop };
        let place = |value: Value| {
            let text =
                value.to_string().replace("$ROOT", &asked.main.root()).replace("$ABSENT", &project("absent"));
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let base = asked.arguments("order", place(base));
        let (without, again) = (answered(asked, &base).await, answered(asked, &base).await);
        assert_eq!(without, again, "{base} is not the same twice");
        let given = answered(asked, &with(&base, name, &place(value.clone()))).await;
        if given == without {
            complaints.push(format!("search.{name} = {value} changes nothing: {given:#}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_change_nothing_is_refused() {
    let world = World::new(table::Prepared::Indexed).await;
    for (tool, arguments, named) in [
        ("bootstrap", json!({ "skipIndex": true, "incremental": true }), "incremental"),
        ("bootstrap", json!({ "skipIndex": true, "incremental": false }), "incremental"),
        ("build_index", json!({ "repoPath": "$ROOT", "artifactsDir": "$DIR" }), "artifactsDir"),
        ("build_index", json!({ "repoPath": "$ROOT", "confirmReembed": true }), "confirmReembed"),
        (
            "triage_ingest",
            json!({ "source": "generic", "payload": [], "stubEmbeddings": true }),
            "stubEmbeddings",
        ),
    ] {
        let refused = error(&world.app, tool, world.placed(&arguments)).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{tool} {arguments}: {refused:#}");
        assert!(refused["message"].as_str().unwrap().contains(&format!("`{named}`")), "{refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_folder_is_looked_at_also_when_the_model_is_installed() {
    crate::models::both_variants();
    let (app, nothing) = (app(), tempfile::tempdir().unwrap());
    let model = json!({ "model": crate::models::MINILM, "variant": "int8" });
    let present = crate::harness::result(&app, "download_models", model.clone()).await;
    assert_eq!(present["models"][0]["state"], "present", "{present:#}");
    assert!(present["models"][0].get("compared").is_none(), "{present:#}");
    let given = with(&model, "from", &json!(crate::models::wheels()));
    let compared = crate::harness::result(&app, "download_models", given).await;
    assert_eq!(compared["models"][0]["state"], "present", "{compared:#}");
    assert!(compared["models"][0]["compared"][0].as_str().unwrap().ends_with(".whl"), "{compared:#}");
    let lacking = error(&app, "download_models", with(&model, "from", &json!(nothing.path()))).await;
    assert_eq!(lacking["code"], "CAPABILITY_MISSING", "{lacking:#}");
}
