//! Every argument of every tool has an effect: a call with it and a call without it differ in the answer or in what they
//! leave behind.
//!
//! The call without the argument is made in two equal worlds first; if these two answers differ, the test fails as well.

mod table;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use engine::search::fields::field;
use futures::stream::{StreamExt, iter};
use serde_json::{Value, json};

use crate::filters::shop::IndexedProject;
use crate::harness::{app, error, modules, project};
use table::{Row, rows};
use world::World;

/// Aliases with their tools; an alias takes the same arguments and runs the same code.
const ALIASES: &[(&str, &str)] = &[("index_build", "build_index")];
/// The number of groups of calls that run concurrently.
const CONCURRENT_GROUPS: usize = 4;

/// The arguments of a tool, as its input schema lists them.
fn argument_names(tool: &str) -> BTreeSet<String> {
    let spec = modules()
        .list_of_tools()
        .iter()
        .find(|spec| spec.name == tool)
        .unwrap_or_else(|| panic!("there is no tool {tool}"));
    (spec.input)()["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_argument_has_a_row() {
    let mut missing = Vec::new();
    for spec in modules().list_of_tools() {
        if let Some((_, same)) = ALIASES.iter().find(|(alias, _)| *alias == spec.name) {
            assert_eq!(
                argument_names(spec.name),
                argument_names(same),
                "{} must have the arguments of {same}",
                spec.name
            );
            continue;
        }
        let covered: BTreeSet<&str> = match spec.name {
            "search" => table::SEARCH.iter().map(|row| row.0).chain(filters().map(|row| row.0)).collect(),
            name => {
                let elsewhere = table::TESTED_ELSEWHERE.iter().filter(|row| row.0 == name).map(|row| row.1);
                rows()
                    .iter()
                    .filter(|row| row.tool == name)
                    .map(|row| row.argument)
                    .chain(elsewhere)
                    .collect()
            }
        };
        let all = argument_names(spec.name);
        missing.extend(
            all.iter()
                .filter(|name| !covered.contains(name.as_str()))
                .map(|name| format!("{}.{name}", spec.name)),
        );
        let unknown: Vec<_> = covered.iter().filter(|name| !all.contains(**name)).collect();
        assert!(unknown.is_empty(), "{} has no arguments {unknown:?}", spec.name);
    }
    assert!(missing.is_empty(), "no row shows the effect of: {}", missing.join(", "));
    for (tool, argument, file, test) in table::TESTED_ELSEWHERE {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let body = text.split(&format!("fn {test}()")).nth(1).and_then(|rest| rest.split("\n}").next());
        let body = body.unwrap_or_else(|| panic!("{tool}.{argument}: there is no test {test} in {file}"));
        assert!(body.contains(argument), "{tool}.{argument}: {test} in {file} does not use it");
    }
}

/// The arguments `base` with `name` set to `value`.
fn with(base: &Value, name: &str, value: &Value) -> Value {
    let mut arguments = base.clone();
    arguments[name] = value.clone();
    arguments
}

#[tokio::test(flavor = "multi_thread")]
async fn each_argument_changes_the_answer_or_what_is_left_behind() {
    crate::models::both_variants();
    let mut by_call: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows() {
        by_call.entry(format!("{} {:?} {}", row.tool, row.prepared, row.base)).or_default().push(row);
    }
    let failures: Vec<Vec<String>> = iter(by_call.into_values())
        .map(|group| async move {
            let first = &group[0];
            let without = World::new(first.prepared).await.observe(first.tool, &first.base).await;
            let again = World::new(first.prepared).await.observe(first.tool, &first.base).await;
            if without != again {
                return vec![format!(
                    "two equal calls of {} {} differ:\n{without:#}\n{again:#}",
                    first.tool, first.base
                )];
            }
            let mut failures = Vec::new();
            for row in &group {
                let arguments = with(&row.base, row.argument, &row.value);
                let with_argument = World::new(row.prepared).await.observe(row.tool, &arguments).await;
                if with_argument == without {
                    failures.push(format!(
                        "{}.{} = {} changes nothing:\n{with_argument:#}",
                        row.tool, row.argument, row.value
                    ));
                }
            }
            failures
        })
        .buffer_unordered(CONCURRENT_GROUPS)
        .collect()
        .await;
    let failures = failures.concat();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The filters of `search`, each with a value that some chunks pass and others do not.
fn filters() -> impl Iterator<Item = (&'static str, Value)> {
    let risks = crate::filters::risk::ROWS.iter().map(|(name, value, _)| (*name, json!(value)));
    crate::filters::fields::rows().into_iter().map(|(name, value, _)| (name, value)).chain(risks)
}

/// Result, error and warnings of a search, without its timings.
async fn observe_search(indexed: &IndexedProject, arguments: &Value) -> Value {
    let mut envelope = crate::harness::try_call(&indexed.app, "search", arguments.clone()).await.map_or_else(
        |refusal| json!({ "refused": refusal.to_fault().message }),
        |mut envelope| {
            let warnings = envelope["_meta"]["warnings"].take();
            json!({ "result": envelope["result"], "error": envelope["error"], "warnings": warnings })
        },
    );
    if envelope["result"]["stats"].is_object() {
        envelope["result"]["stats"] = json!("present");
    }
    envelope
}

#[tokio::test(flavor = "multi_thread")]
async fn each_argument_of_search_changes_the_answer() {
    let shop = IndexedProject::shop(app(), "effects").await;
    let (risky, repository, _) =
        crate::filters::risk::indexed(crate::filters::risk::FILES, crate::filters::risk::CUSTOM_RULE).await;
    let risky = IndexedProject::new(app(), risky, repository);
    let mut failures = Vec::new();
    let searches = table::SEARCH.iter().map(|(name, base, value)| (*name, base(), value()));
    let plain = filters().map(|(name, value)| (name, json!({ "query": "order" }), value));
    for (name, base, value) in searches.chain(plain) {
        let indexed = if name.starts_with("risk") && field(name).is_some() { &risky } else { &shop };
        let fill_in = |value: Value| {
            let text = value
                .to_string()
                .replace("$ROOT", &indexed.repository.root())
                .replace("$ABSENT", &project("absent"));
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let base = indexed.arguments("order", fill_in(base));
        let (without, again) = (observe_search(indexed, &base).await, observe_search(indexed, &base).await);
        assert_eq!(without, again, "two equal searches with {base} differ");
        let with_argument = observe_search(indexed, &with(&base, name, &fill_in(value.clone()))).await;
        if with_argument == without {
            failures.push(format!("search.{name} = {value} changes nothing: {with_argument:#}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_without_effect_are_refused() {
    let world = World::new(table::Prepared::Indexed).await;
    for (tool, arguments, argument) in [
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
        let refused = error(&world.app, tool, world.fill_in(&arguments)).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{tool} {arguments}: {refused:#}");
        assert!(refused["message"].as_str().unwrap().contains(&format!("`{argument}`")), "{refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_folder_is_checked_even_if_the_model_is_installed() {
    crate::models::both_variants();
    let (app, nothing) = (app(), tempfile::tempdir().unwrap());
    let model = json!({ "model": crate::models::MINILM, "variant": "int8" });
    let present = crate::harness::result(&app, "download_models", model.clone()).await;
    assert_eq!(present["models"][0]["state"], "present", "{present:#}");
    assert!(present["models"][0].get("compared").is_none(), "{present:#}");
    let with_argument = with(&model, "from", &json!(crate::models::wheels()));
    let compared = crate::harness::result(&app, "download_models", with_argument).await;
    assert_eq!(compared["models"][0]["state"], "present", "{compared:#}");
    assert!(compared["models"][0]["compared"][0].as_str().unwrap().ends_with(".whl"), "{compared:#}");
    let without_wheel = error(&app, "download_models", with(&model, "from", &json!(nothing.path()))).await;
    assert_eq!(without_wheel["code"], "CAPABILITY_MISSING", "{without_wheel:#}");
}
