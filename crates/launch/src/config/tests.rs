//! Tests of the configurations that are accepted, the values they resolve to, and those that are refused.

use proptest::prelude::*;

use super::*;

fn minimal() -> Value {
    json!({
        "schema_version": "1.0",
        "product_slug": "shop",
        "product_name": "Shop",
        "github_repo_url": "https://github.com/acme/shop",
        "required_sections": ["kb", "docs"],
        "site_profile": "docs",
    })
}

fn resolve(input: Value) -> Result<RunConfig, Vec<Violation>> {
    let allowed = ["content/docs".to_owned(), "content/kb".to_owned()];
    let sha = "a".repeat(40);
    let pins = Pins { repo_sha: &sha, allowed_paths: &allowed, files_changed_max: 100 };
    RunConfig::resolve(serde_json::from_value(input).unwrap(), pins)
}

fn with(name: &str, value: Value) -> Value {
    let mut config = minimal();
    config[name] = value;
    config
}

#[test]
fn defaults_and_pins_are_filled_in() {
    let config = resolve(minimal()).unwrap();
    assert_eq!(config.github_ref, "a".repeat(40));
    assert_eq!(config.locales, ["en"]);
    assert_eq!(config.allowed_paths, ["content/docs", "content/kb"]);
    assert_eq!((config.max_fix_attempts, config.validation_profile), (3, Profile::Local));
    assert_eq!(config.budgets, Budgets { max_files_changed: 100, max_lines_per_file: 500 });
    let sections: Vec<&str> = config.required_sections.iter().map(|section| section.as_str()).collect();
    assert_eq!(sections, ["docs", "kb"], "in their fixed order");
    assert_eq!(RunConfig::parse(&config.to_json()).unwrap(), config);
}

#[test]
fn unknown_fields_are_refused() {
    assert!(serde_json::from_value::<RunConfigInput>(with("colour", json!("red"))).is_err());
    assert!(serde_json::from_value::<RunConfigInput>(with("budgets", json!({ "max_calls": 1 }))).is_err());
}

#[test]
fn allowed_paths_may_only_be_narrowed() {
    let narrow = resolve(with("allowed_paths", json!(["content/docs/shop"]))).unwrap();
    assert_eq!(narrow.allowed_paths, ["content/docs/shop"]);
    for wrong in ["content", "content/docs-x", "layouts", "content/docs/../..", "/content/docs"] {
        let violations = resolve(with("allowed_paths", json!(["content/kb", wrong]))).unwrap_err();
        assert_eq!(violations.len(), 1, "{wrong}");
        assert_eq!(violations[0].instance_path, "/allowed_paths/1", "{wrong}");
    }
}

#[test]
fn free_texts_are_one_line() {
    for name in ["product_name", "github_repo_url", "github_ref", "site_profile"] {
        for text in [
            "Shop\n\nSigned-off-by: X <x@y>", "a\rb", "a\u{0}b", "a\u{85}b", "a\u{2028}b", "a\u{202e}b",
            "\tb",
        ] {
            let violations = resolve(with(name, json!(text))).unwrap_err();
            assert_eq!(violations.len(), 1, "{name} {text:?}");
            assert_eq!(violations[0].instance_path, format!("/{name}"));
        }
        assert!(resolve(with(name, json!("Größe & Söhne – 店"))).is_ok(), "{name}");
    }
    let violations = resolve(with("allowed_paths", json!(["content/docs/a\nb"]))).unwrap_err();
    assert_eq!(violations[0].instance_path, "/allowed_paths/0");
}

#[test]
fn names_of_folders_are_no_devices() {
    for (name, value) in [("product_slug", "aux"), ("product_slug", "com1"), ("family", "con")] {
        let violations = resolve(with(name, json!(value))).unwrap_err();
        assert_eq!(violations[0].instance_path, format!("/{name}"), "{value}");
    }
    assert!(resolve(with("product_slug", json!("aux-tools"))).is_ok());
}

#[test]
fn limits_of_the_operator_hold() {
    let violations = resolve(with("budgets", json!({ "max_files_changed": 101 }))).unwrap_err();
    assert_eq!(violations[0].params, json!({ "comparison": "<=", "limit": 100 }));
    assert!(resolve(with("budgets", json!({ "max_files_changed": 100 }))).is_ok());
    let violations = resolve(with("locales", json!(["en", "en"]))).unwrap_err();
    assert_eq!(violations[0].keyword, "uniqueItems");
}

#[test]
fn reserved_fields_are_named_at_any_depth() {
    for (config, pointer, name) in [
        (with("llm", json!({})), "", "llm"),
        (with("telemetry", json!("x")), "", "telemetry"),
        (with("api_key_env", json!("HOME")), "", "api_key_env"),
        (with("commit_endpoint", json!("http://x")), "", "commit_endpoint"),
        (with("budgets", json!({ "github_token": "x" })), "/budgets", "github_token"),
        (with("repo_hints", json!([{ "command": "rm" }])), "/repo_hints/0", "command"),
    ] {
        let found = reserved_fields(&config);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_eq!((found[0].instance_path.as_str(), found[0].keyword.as_str()), (pointer, "reserved"));
        assert!(found[0].message.contains(&format!("`{name}` is reserved")), "{}", found[0].message);
    }
    assert_eq!(reserved_fields(&minimal()), []);
}

#[test]
fn hostile_configurations_cost_little() {
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    assert_eq!(reserved_fields(&deep), []);
    let many: Map<String, Value> = (0..1000).map(|at| (format!("x{at}_env"), json!(1))).collect();
    assert_eq!(reserved_fields(&json!([many])).len(), RESERVED_LISTED_MAX);
    let lists = json!(vec![json!({ "llm": 1 }); 1000]);
    assert_eq!(reserved_fields(&lists).len(), RESERVED_LISTED_MAX);
}

#[test]
fn the_hash_is_that_of_the_completed_configuration() {
    let config = resolve(minimal()).unwrap();
    let explicit = with("locales", json!(["en"]));
    assert_eq!(resolve(explicit).unwrap().hash(), config.hash(), "a default that is written out");
    let other = resolve(with("product_name", json!("Other"))).unwrap();
    assert_ne!(other.hash(), config.hash());
    assert_eq!(config.differing_fields(&other), ["product_name"]);
    let moved = RunConfig { github_ref: "b".repeat(40), ..config.clone() };
    assert_eq!(config.differing_fields(&moved), ["github_ref"]);
    assert_eq!(config.differing_fields(&config), [""; 0]);
}

proptest! {
    #[test]
    fn configurations_survive_storage(name in "[^\\pC\\p{Zl}\\p{Zp}]{1,40}", attempts in 0_u16..=10, lines in 1_u32..=20_000) {
        let mut input = with("product_name", json!(name));
        input["max_fix_attempts"] = json!(attempts);
        input["budgets"] = json!({ "max_lines_per_file": lines });
        let config = resolve(input).unwrap();
        let read = RunConfig::parse(&config.to_json()).unwrap();
        prop_assert_eq!(read.hash(), config.hash());
        prop_assert_eq!(read, config);
    }
}
