//! A minor version of the contract only adds. `contracts/previous.json` keeps what the version before promised: each tool, argument,
//! value, limit, documented default, field of an answer, error code and route is a fact, and none may go or become narrower.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::modules::MODULES;
use contract::SCHEMA_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use surfaces::contracts as surface;

/// Deliberate changes since the previous version, worded as the test reports them, each with the reason why it breaks no client.
/// Empty this list with each version.
const DELIBERATE: &[(&str, &str)] = &[];

/// Facts of a contract, each with its values.
type Facts = BTreeMap<String, BTreeSet<String>>;

#[derive(Debug, Serialize, Deserialize)]
struct RunSnapshot {
    version: String,
    facts: Facts,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("contracts").join(name)
}

/// The documents of `contracts/` as they are committed.
fn committed() -> Vec<(&'static str, Value)> {
    let read = |name| serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap();
    surface::documents(&MODULES).into_iter().map(|(name, _)| (name, read(name))).collect()
}

/// Keeps the facts of the committed version if the code has a different one; to be called before its documents are overwritten.
pub(crate) fn keep_version_before() {
    let documents = committed();
    let version = documents[0].1["schemaVersion"].as_str().unwrap().to_owned();
    if version != SCHEMA_VERSION {
        let snapshot = RunSnapshot { version, facts: facts(&documents) };
        let text = serde_json::to_string_pretty(&snapshot).unwrap();
        fs::write(path("previous.json"), text + "\n").unwrap();
    }
}

fn facts(documents: &[(&'static str, Value)]) -> Facts {
    let mut facts = Facts::new();
    for (name, document) in documents {
        match *name {
            "mcp-tools.schema.json" => add_tools(&mut facts, document),
            "envelope.schema.json" => add_schema(&mut facts, "out envelope", document),
            "errors.json" => add_errors(&mut facts, document),
            "openapi.json" => add_routes(&mut facts, document),
            name => panic!("contracts/{name} has no facts"),
        }
    }
    facts
}

fn add(facts: &mut Facts, key: String, values: impl IntoIterator<Item = String>) {
    facts.entry(key).or_default().extend(values);
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn add_tools(facts: &mut Facts, document: &Value) {
    for tool in list(&document["tools"]) {
        let name = tool["name"].as_str().unwrap();
        add(facts, format!("tool {name}"), []);
        add_schema(facts, &format!("in {name}"), &tool["inputSchema"]);
        add_schema(facts, &format!("out {name}"), &tool["outputSchema"]["properties"]["result"]);
    }
}

const LIMITS: [&str; 7] = ["minimum", "minLength", "minItems", "maximum", "maxLength", "maxItems", "pattern"];

/// Adds the fields of a schema, all the way down.
fn add_schema(facts: &mut Facts, at: &str, schema: &Value) {
    let types = schema["type"].as_array().map_or_else(
        || schema["type"].as_str().into_iter().map(str::to_owned).collect(),
        |types| types.iter().map(text).collect::<Vec<_>>(),
    );
    add(facts, at.to_owned(), types);
    if schema["enum"].is_array() {
        add(facts, format!("{at} values"), list(&schema["enum"]).map(text));
    }
    for limit in LIMITS.iter().filter(|limit| !schema[**limit].is_null()) {
        add(facts, format!("{at} {limit}"), [text(&schema[*limit])]);
    }
    let defaults = documented_defaults(schema["description"].as_str().unwrap_or_default());
    if !defaults.is_empty() && at.starts_with("in ") {
        add(facts, format!("{at} default"), defaults);
    }
    for name in list(&schema["required"]) {
        add(facts, format!("{at}.{} required", text(name)), []);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        add_schema(facts, &format!("{at}.{name}"), field);
    }
    if schema["items"].is_object() {
        add_schema(facts, &format!("{at}[]"), &schema["items"]);
    }
    list(&schema["anyOf"]).for_each(|one| add_schema(facts, at, one));
}

/// The defaults that a description names: `default 10`, `both (default)`, `default: all`, `omitted: the session's`.
fn documented_defaults(description: &str) -> Vec<String> {
    let mut found = Vec::new();
    for clause in description.split(['.', ';']) {
        let lower = clause.to_ascii_lowercase();
        for (at, word) in lower.match_indices("default").chain(lower.match_indices("omitted:")) {
            let (before, after) = (&clause[..at], &clause[at + word.len()..]);
            let value = match before.strip_suffix('(') {
                Some(before) if after.starts_with(')') => before.trim().rsplit(' ').next(),
                _ => after.split([')', '(']).next(),
            };
            found.push(value.unwrap_or_default().trim_matches([' ', ':', '`']).to_owned());
        }
    }
    found
}

fn add_errors(facts: &mut Facts, document: &Value) {
    for error in list(document) {
        let code = error["code"].as_str().unwrap();
        add(facts, format!("error {code}"), []);
        for field in ["http", "json_rpc", "retryable"] {
            add(facts, format!("error {code} {field}"), [text(&error[field])]);
        }
    }
}

fn add_routes(facts: &mut Facts, document: &Value) {
    for (address, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let route = format!("route {method} {address}");
            for parameter in list(&operation["parameters"]) {
                let name = format!("{route} {} {}", text(&parameter["in"]), text(&parameter["name"]));
                if parameter["required"] == true {
                    add(facts, format!("{name} required"), []);
                }
                add(facts, name, []);
            }
            for status in operation["responses"].as_object().into_iter().flat_map(Map::keys) {
                add(facts, format!("{route} answers {status}"), []);
            }
            add(facts, route, []);
        }
    }
}

/// Lists what `new` no longer promises, or newly demands, compared with `old`.
fn narrowings(old: &Facts, new: &Facts) -> Vec<String> {
    let mut found = Vec::new();
    for (fact, before) in old {
        let (subject, aspect) = fact.rsplit_once(' ').unwrap();
        let is_input = fact.starts_with("in ");
        let is_limit = LIMITS.contains(&aspect) || aspect == "values";
        match new.get(fact) {
            None if (is_input || fact.starts_with("route ")) && (is_limit || aspect == "required") => {}
            None => found.push(format!("gone: {fact}")),
            Some(now) if is_narrower(is_input, aspect, before, now) => {
                found.push(format!("narrower: {subject} {aspect}: {before:?}, now {now:?}"));
            }
            Some(_) => {}
        }
    }
    for fact in new.keys().filter(|fact| !old.contains_key(*fact)) {
        let (subject, aspect) = fact.rsplit_once(' ').unwrap();
        let demands = aspect == "required" || LIMITS.contains(&aspect) || aspect == "values";
        // A new field may have all the limits that it likes, but a new one of an old object cannot be required.
        let has_parent = subject.rsplit_once('.').is_some_and(|(parent, _)| old.contains_key(parent));
        let has_subject = old.contains_key(subject) || (aspect == "required" && has_parent);
        if !fact.starts_with("out ") && demands && has_subject {
            found.push(format!("new demand: {fact}"));
        }
    }
    found
}

fn is_narrower(is_input: bool, aspect: &str, before: &BTreeSet<String>, now: &BTreeSet<String>) -> bool {
    let number = |values: &BTreeSet<String>| values.first().and_then(|value| value.parse::<f64>().ok());
    match aspect {
        "values" => !before.is_subset(now),
        "minimum" | "minLength" | "minItems" => is_input && number(now) > number(before),
        "maximum" | "maxLength" | "maxItems" => is_input && number(now) < number(before),
        "pattern" | "default" | "http" | "json_rpc" | "retryable" => before != now,
        // A type: callers may send what they sent, and get nothing that they do not know.
        _ if is_input => !before.is_subset(now) && !now.is_empty(),
        _ => !now.is_subset(before),
    }
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap()
}

#[test]
fn a_minor_version_only_adds() {
    let previous: RunSnapshot =
        serde_json::from_str(&fs::read_to_string(path("previous.json")).unwrap()).unwrap();
    let versions: Map<String, Value> =
        serde_json::from_str(&fs::read_to_string(path("versions.json")).unwrap()).unwrap();
    let known: Vec<&String> = versions.keys().collect();
    let at = known.iter().position(|version| *version == SCHEMA_VERSION).unwrap();
    assert_eq!(known[at - 1], &previous.version, "contracts/previous.json is not the version before");
    if major(&previous.version) != major(SCHEMA_VERSION) {
        return;
    }
    let mut found = narrowings(&previous.facts, &facts(&surface::documents(&MODULES)));
    for (change, reason) in DELIBERATE {
        let before = found.len();
        found.retain(|narrowing| narrowing != change);
        assert!(found.len() < before, "not a change since {}: {change} ({reason})", previous.version);
    }
    assert!(
        found.is_empty(),
        "version {SCHEMA_VERSION} narrows {}; make it additive, or a major version:\n{}",
        previous.version,
        found.join("\n")
    );
}

/// Made-up changes, and what the test says of them; nothing of those that only add.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of changes")]
fn narrowings_are_found_and_additions_are_not() {
    fn search<'a>(documents: &'a mut [(&'static str, Value)]) -> &'a mut Value {
        documents[0].1["tools"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .find(|tool| tool["name"] == "search")
            .unwrap()
    }
    fn input<'a>(documents: &'a mut [(&'static str, Value)], field: &str) -> &'a mut Value {
        &mut search(documents)["inputSchema"]["properties"][field]
    }
    type Change = fn(&mut [(&'static str, Value)]);
    let changes: &[(Change, &str)] = &[
        (|it| drop(it[0].1["tools"].as_array_mut().unwrap().remove(0)), "gone: tool search"),
        (
            |it| drop(search(it)["inputSchema"]["properties"].as_object_mut().unwrap().shift_remove("top")),
            "gone: in search.top",
        ),
        (
            |it| drop(input(it, "mode")["enum"].as_array_mut().unwrap().remove(0)),
            "narrower: in search.mode values",
        ),
        (
            |it| search(it)["inputSchema"]["required"].as_array_mut().unwrap().push("mode".into()),
            "new demand: in search.mode required",
        ),
        (|it| input(it, "top")["maximum"] = 10.into(), "narrower: in search.top maximum"),
        (|it| input(it, "top")["type"] = "string".into(), "narrower: in search.top: {\"integer\"}"),
        (|it| input(it, "ann")["enum"] = serde_json::json!([true]), "new demand: in search.ann values"),
        (
            |it| input(it, "top")["description"] = "Most hits; default 20.".into(),
            "narrower: in search.top default",
        ),
        (|it| input(it, "ann")["description"] = "Use vectors.".into(), "gone: in search.ann default"),
        (
            |it| {
                drop(
                    search(it)["outputSchema"]["properties"]["result"]["properties"]
                        .as_object_mut()
                        .unwrap()
                        .shift_remove("hits"),
                )
            },
            "gone: out search.hits",
        ),
        (
            |it| {
                drop(
                    search(it)["outputSchema"]["properties"]["result"]
                        .as_object_mut()
                        .unwrap()
                        .shift_remove("required"),
                )
            },
            "gone: out search.hits required",
        ),
        (|it| drop(it[2].1.as_array_mut().unwrap().remove(0)), "gone: error INVALID_REQUEST"),
        (|it| it[2].1[0]["http"] = 422.into(), "narrower: error INVALID_REQUEST http"),
        (
            |it| drop(it[3].1["paths"].as_object_mut().unwrap().shift_remove("/status")),
            "gone: route get /status",
        ),
        (|it| input(it, "newest")["type"] = "boolean".into(), ""),
        (|it| input(it, "mode")["enum"].as_array_mut().unwrap().push("new".into()), ""),
        (|it| input(it, "top")["maximum"] = 100_000.into(), ""),
        (|it| search(it)["title"] = "Another".into(), ""),
    ];
    let documents = surface::documents(&MODULES);
    let before = facts(&documents);
    assert_eq!(narrowings(&before, &before), [] as [String; 0]);
    for (change, expected) in changes {
        let mut changed = documents.clone();
        change(&mut changed);
        let found = narrowings(&before, &facts(&changed)).join("\n");
        assert!(
            found.lines().any(|line| line.starts_with(expected)) != expected.is_empty(),
            "{expected}: {found}"
        );
        assert!(!expected.is_empty() || found.is_empty(), "an addition: {found}");
    }
}

#[test]
fn documented_defaults_are_read() {
    for (description, expected) in [
        ("Most hits (to 100; default 10) or lines (default 50).", &["10", "50"][..]),
        ("prose: documents; both (default): code, prose.", &["both"]),
        ("Repository; default: the one you work in, else all.", &["the one you work in, else all"]),
        ("Only this project; omitted: all projects.", &["all projects"]),
        ("Default: references. impact: uses of uses.", &["references"]),
        ("Most tokens.", &[]),
    ] {
        assert_eq!(documented_defaults(description), expected, "{description}");
    }
}
