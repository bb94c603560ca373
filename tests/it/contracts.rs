//! The public contract is committed in `contracts/` and does not change by accident.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use contract::SCHEMA_VERSION;
use gate::tools::{published, schema};
use jsonschema::Validator;
use serde_json::{Map, Value};
use surfaces::contracts as surface;

use crate::harness::modules;
use crate::modules::MODULES;

fn contracts_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contracts")
}

#[expect(
    clippy::disallowed_methods,
    reason = "UPDATE_CONTRACTS=1 rewrites the snapshots after a deliberate change"
)]
pub(crate) fn updating() -> bool {
    std::env::var_os("UPDATE_CONTRACTS").is_some()
}

/// Panics if an answer does not match the tool's published output schema.
pub(crate) fn check_answer(tool: &str, envelope: &Value) {
    static COMPILED: OnceLock<HashMap<&str, Validator>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let compile = |schema: Map<String, Value>| jsonschema::validator_for(&Value::Object(schema)).unwrap();
        modules()
            .list_of_tools()
            .iter()
            .map(|tool| (tool.name, compile(schema::envelope_schema((tool.output)()))))
            .collect()
    });
    let errors: Vec<String> =
        compiled[tool].iter_errors(envelope).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{tool} violates its output schema: {errors:?}\n{envelope:#}");
    assert_eq!(envelope["_meta"]["schemaVersion"], SCHEMA_VERSION);
    assert_eq!(envelope["ok"].as_bool(), Some(envelope.get("result").is_some()));
    assert_eq!(envelope["ok"].as_bool(), Some(envelope.get("error").is_none()));
    if let Some(next) = envelope["_meta"].get("next") {
        static INPUTS: OnceLock<HashMap<&str, Validator>> = OnceLock::new();
        let inputs = INPUTS.get_or_init(|| {
            let compile =
                |schema: Map<String, Value>| jsonschema::validator_for(&Value::Object(schema)).unwrap();
            modules().list_of_tools().iter().map(|tool| (tool.name, compile((tool.input)()))).collect()
        });
        let errors: Vec<String> = inputs[next["tool"].as_str().unwrap()]
            .iter_errors(&next["arguments"])
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{tool} proposes a call that would be refused: {errors:?}\n{next}");
    }
}

#[test]
fn contract_snapshots_match_the_code() {
    if updating() {
        crate::contract_versions::keep_version_before();
    }
    for (name, document) in surface::documents(&MODULES) {
        let path = contracts_folder().join(name);
        let text = format!("{document:#}\n");
        if updating() {
            fs::create_dir_all(contracts_folder()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "contracts/{name} differs from the code; if the change is intended, bump SCHEMA_VERSION and run UPDATE_CONTRACTS=1 cargo test contracts"
        );
    }
}

#[test]
fn each_contract_version_has_one_surface() {
    let path = contracts_folder().join("versions.json");
    let mut versions: Map<String, Value> =
        fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    if updating() {
        fs::create_dir_all(contracts_folder()).unwrap();
        versions.insert(SCHEMA_VERSION.into(), Value::String(surface::digest(&MODULES)));
        fs::write(&path, format!("{:#}\n", Value::Object(versions.clone()))).unwrap();
    }
    assert_eq!(
        versions.get(SCHEMA_VERSION).and_then(Value::as_str),
        Some(surface::digest(&MODULES).as_str()),
        "the surface changed under version {SCHEMA_VERSION}: bump it"
    );
}

#[test]
fn every_tool_has_a_complete_description() {
    for tool in modules().list_of_tools() {
        let description = Value::Object(published::describe(tool));
        assert!(tool.description.len() < 2048, "{}: clients truncate descriptions at 2 KB", tool.name);
        assert!(tool.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", tool.name);
        let input = &description["inputSchema"];
        assert_eq!(input["type"], "object", "{}", tool.name);
        assert_eq!(input["additionalProperties"], false, "{}: unknown fields must be refused", tool.name);
        for combinator in ["oneOf", "anyOf", "allOf"] {
            assert!(input.get(combinator).is_none(), "{}: no root combinators", tool.name);
        }
        for (field, rule) in input["properties"].as_object().unwrap() {
            assert!(rule["description"].is_string(), "{}.{field} has no description", tool.name);
        }
        assert_eq!(description["outputSchema"]["type"], "object", "{}", tool.name);
    }
}

#[test]
fn the_readme_lists_the_tools() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (listed, others): (Vec<&&gate::tools::ToolSpec>, Vec<_>) =
        modules().list_of_tools().iter().partition(|tool| tool.toolset.listed_by_default());
    let table: String = listed.iter().map(|tool| format!("| `{}` | {} |\n", tool.name, tool.title)).collect();
    assert!(readme.contains(&table), "README.md must contain this table:\n{table}");
    let pages = crate::tidy::files("docs", "md");
    let has = |text: &str| pages.iter().any(|(_, page)| page.contains(text));
    for tool in others {
        let Some(method) = tool.method else {
            let row = format!("| `{}` |", tool.name);
            assert!(has(&row), "a page of docs/ must have a row `{}`", tool.name);
            continue;
        };
        // A table names methods of one family after one another, with the family before the first.
        let (family, name) = method.split_once('/').unwrap();
        let (whole, short) = (format!("`{method}`"), format!("`{name}`"));
        let names = |page: &str| {
            page.contains(&format!("`{family}/")) && [&whole, &short].iter().any(|n| page.contains(*n))
        };
        assert!(pages.iter().any(|(_, page)| names(page)), "a page of docs/ must name `{method}`");
    }
}

/// Panics if two of these names are equal.
fn assert_unique<'a>(kind: &str, names: impl Iterator<Item = &'a str>) {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        assert_ne!(pair[0], pair[1], "{kind}: taken twice");
    }
}

#[test]
fn modules_share_no_names() {
    let (all, tools) = (modules(), modules().list_of_tools());
    let of_tools =
        tools.iter().flat_map(|tool| tool.aliases.iter().copied().chain([tool.name]).chain(tool.method));
    assert_unique("tools", of_tools);
    assert_unique("operations", all.operations().all().iter().map(|operation| operation.name));
    assert_unique("modules", all.iter().map(|module| module.name));
    assert_unique("toolsets", all.toolsets().iter().map(|toolset| toolset.name));
    assert_unique("kinds of jobs", all.job_kinds().iter().map(|kind| kind.name));
    assert_unique("schemes", all.resources().map(|kind| kind.scheme));
    assert_unique("writers", all.writer_kinds().map(|kind| kind.name));
    assert_unique("links", MODULES.navigation().iter().map(|link| link.path));
    let commands: Vec<String> =
        MODULES.commands().map(|added| (added.command)().get_name().to_owned()).collect();
    assert_unique("commands", commands.iter().map(String::as_str));
    for tool in tools {
        let method = tool.method.map(|method| method.replace('/', "_"));
        assert!(method.is_none_or(|method| method == tool.name), "{}: {:?}", tool.name, tool.method);
    }
    for prompt in all.prompts() {
        assert!(!prompt.title.is_empty() && !prompt.description.is_empty(), "{}", prompt.name);
        let input = (prompt.input)();
        for (field, rule) in input["properties"].as_object().unwrap() {
            assert!(rule["description"].is_string(), "{}.{field} has no description", prompt.name);
        }
    }
}

#[test]
fn the_tools_without_a_project_are_named() {
    let takes_project = |tool: &&gate::tools::ToolSpec| {
        (tool.input)().get("properties").is_some_and(|fields| fields.get("project_id").is_some())
    };
    let others: Vec<String> = modules()
        .list_of_tools()
        .iter()
        .filter(|tool| !takes_project(tool))
        .map(|tool| format!("`{}`", tool.name))
        .collect();
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let sentence = format!("`project_id`, which every tool takes except {}", others.join(" and "));
    assert!(readme.contains(&sentence), "README.md must say: {sentence}");
}

#[test]
fn each_record_source_has_a_root_of_its_own_that_names_its_module() {
    let roots: Vec<&str> = modules().record_sources().map(|source| source.root).collect();
    for (at, root) in roots.iter().enumerate() {
        let (module, name) = root.split_once(':').unwrap_or_else(|| panic!("{root}"));
        let is_known = store::postgres::MODULES.iter().any(|known| known.name == module);
        assert!(is_known && !name.is_empty() && !roots[..at].contains(root), "{root}");
    }
    assert!(!roots.is_empty());
}
