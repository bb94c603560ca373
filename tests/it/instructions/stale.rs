//! Rules that name what the code no longer has, and rules that say the same twice.

use contract::config::InstructionFolder;
use serde_json::{Value, json};

use super::{allow_writes, entry, import, wait_until_indexed};
use crate::harness::{Repository, app_with, app_with_model_and, call, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_names_what_is_gone_is_stale() {
    let (app, project) = (super::writable_app(), project("stale"));
    let repository = Repository::new(&[
        ("src/config.rs", "pub fn parse_config() {}\npub struct HttpClient;\n"),
        ("Makefile", "test:\n\tcargo test\n"),
        ("docs/guide.md", "# Guide\n"),
    ]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let good = entry(
        "good",
        "Change `src/config.rs` and `docs/guide.md`; run `make test`; call `parse_config()` of `HttpClient`.",
    );
    let stale = entry(
        "stale",
        "Change `src/settings.rs`; run `make deploy`; call `load_settings()`, then `parse_config()`.",
    );
    import(&app, &project, &[good, stale], json!({})).await;
    let verify = json!({ "stale": true, "project_id": project });
    let found = result(&app, "integrity_verify", verify.clone()).await;
    let expected = json!([{ "id": "stale", "paths": ["src/settings.rs"], "scripts": ["make deploy"], "symbols": ["load_settings"] }]);
    assert_eq!(found["stale"], expected, "{found:#}");
    // Once the code has it again, it is not stale any more.
    repository.write("src/settings.rs", "pub fn load_settings() {}\n");
    repository.write("Makefile", "test:\n\tcargo test\n\ndeploy:\n\ttrue\n");
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    assert_eq!(result(&app, "integrity_verify", verify).await["stale"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_the_repository_does_not_prove_itself() {
    let project = project("stale-own-files");
    let rule = "Call `load_settings()` and `parse_config()`; run `make deploy`.\n";
    let rule_files = [
        "AGENTS.md",
        "web/CLAUDE.md",
        "GEMINI.md",
        ".cursorrules",
        ".cursor/rules/a.mdc",
        ".github/copilot-instructions.md",
        ".github/instructions/a.instructions.md",
        ".windsurfrules",
        ".windsurf/rules/a.md",
        ".claude/skills/settings/SKILL.md",
        ".claude/skills/settings/more.md",
        "rules/settings.md",
        "team/bound/settings.md",
        // More lines than are looked at first.
        "AGENTS.md.bak",
    ];
    let many = rule.repeat(30);
    let mut files: Vec<(&str, &str)> = rule_files.iter().map(|path| (*path, many.as_str())).collect();
    files.extend([
        ("rules/catalog.json", "{}\n"),
        ("src/config.rs", "pub fn parse_config() {}\n"),
        ("Makefile", "test:\n\tcargo test\n"),
    ]);
    let repository = Repository::new(&files);
    let bound = InstructionFolder {
        path: repository.path().join("team/bound"),
        project: Some(project.clone()),
        prune: None,
    };
    let app = app_with(|config| {
        allow_writes(config);
        config.instructions.folders = vec![bound.clone()];
    });
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    import(&app, &project, &[entry("settings", rule)], json!({})).await;
    let verify = json!({ "stale": true, "project_id": project });
    let found = result(&app, "integrity_verify", verify.clone()).await;
    let expected = json!([{ "id": "settings", "scripts": ["make deploy"], "symbols": ["load_settings"] }]);
    assert_eq!(found["stale"], expected, "{found:#}");
    // Code that has it is found behind all of them.
    repository.write("zz/settings.rs", "pub fn load_settings() {}\n");
    repository.write("Makefile", "deploy:\n\ttrue\n");
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    assert_eq!(result(&app, "integrity_verify", verify).await["stale"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_indexed_repository_nothing_is_checked() {
    let (app, project) = (super::writable_app(), project("stale-unchecked"));
    import(&app, &project, &[entry("a", "Call `load_settings()` of `src/gone.rs`.")], json!({})).await;
    let found = result(&app, "integrity_verify", json!({ "stale": true, "project_id": project })).await;
    assert_eq!(
        (&found["staleNotChecked"], found.get("stale")),
        (&json!("no repository is indexed"), None),
        "{found:#}"
    );
    let unasked = result(&app, "integrity_verify", json!({ "project_id": project })).await;
    assert_eq!(unasked.get("staleNotChecked"), None, "{unasked:#}");
}

/// An entry with a title and a body.
fn titled(id: &str, title: &str, body: &str) -> Value {
    let mut entry = entry(id, body);
    entry["title"] = title.into();
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_below_another_title_is_reported() {
    let app = app_with(|config| {
        allow_writes(config);
        config.instructions.semantic = false;
    });
    let project = project("duplicates-text");
    let body = "Use two spaces for each level of indentation.";
    let coverage = "At least 80 percent of the branches of each package must be covered by tests.";
    let mut old = titled("old", "Old", body);
    old["requirement"] = "deprecated".into();
    old["deprecatedBy"] = "one".into();
    let entries = [
        titled("one", "Indentation", body),
        titled("two", "How white space is arranged in YAML", &format!("{body}\n")),
        titled("coverage", "Coverage", coverage),
        titled("tests", "What CI wants", &coverage.replace("80", "90")),
        titled("other", "Indentation", "Never commit secrets."),
        old,
    ];
    import(&app, &project, &entries, json!({})).await;
    let answer = call(&app, "integrity_verify", json!({ "duplicates": true, "project_id": project })).await;
    let expected = json!([
        { "ids": ["one", "two"], "titles": ["Indentation", "How white space is arranged in YAML"],
            "similarity": 1.0, "by": "text" },
        { "ids": ["coverage", "tests"], "titles": ["Coverage", "What CI wants"], "similarity": 0.8667, "by": "words" }]);
    assert_eq!(answer["result"]["duplicates"], expected, "{answer:#}");
    assert_eq!(answer["_meta"]["warnings"][0]["code"], "not_compared_by_meaning", "{answer:#}");
}

/// Rules that mean the same in other words and below other titles.
const SAME_RULES: &[(&str, &str, &str, &str)] = &[
    (
        "Secrets",
        "Never commit passwords, API keys or other secrets to the repository.",
        "No credentials in git",
        "Do not commit secrets such as passwords or API keys to the repository.",
    ),
    (
        "Tests first",
        "Write a failing test before you fix a bug.",
        "Bug fixes",
        "Before fixing a bug, add a test that fails because of it.",
    ),
    (
        "Commit messages",
        "Write commit messages in the imperative mood.",
        "Git log",
        "Use the imperative in the messages of commits.",
    ),
    (
        "Formatting",
        "Format Rust code with rustfmt before each commit.",
        "Style of Rust",
        "Run rustfmt on all Rust files before committing.",
    ),
    (
        "Database access",
        "Every database query binds its parameters; never concatenate SQL.",
        "SQL injection",
        "Do not build SQL by concatenating strings; use bound parameters in queries.",
    ),
    (
        "Errors",
        "Never swallow exceptions: log them or rethrow them.",
        "Exception handling",
        "Exceptions must be logged or rethrown and never be silently ignored.",
    ),
    (
        "Dependencies",
        "Ask the team before you add a new dependency.",
        "New libraries",
        "Adding a third-party library needs the approval of the team first.",
    ),
    (
        "Docs",
        "Update the documentation when you change a public API.",
        "Public interfaces",
        "A change of the public API needs a matching change of the documentation.",
    ),
    (
        "Logging",
        "Log in JSON with one object a line.",
        "Structured logs",
        "Logs must be structured: one JSON object on each line.",
    ),
    (
        "Branches",
        "Never push to main; open a pull request.",
        "Pull requests",
        "All changes go through a pull request, and nobody pushes to the main branch.",
    ),
];

/// Rules about one subject that do not say the same.
const OTHER_RULES: &[(&str, &str, &str, &str)] = &[
    (
        "Unit tests",
        "Run the unit tests with `make test` before each commit.",
        "End-to-end tests",
        "Run the end-to-end tests against staging before each release.",
    ),
    ("Python", "Format Python code with black.", "Rust", "Format Rust code with rustfmt."),
    (
        "Commit messages",
        "Write commit messages in the imperative mood.",
        "Commit size",
        "Keep commits small: one change in each commit.",
    ),
    (
        "Secrets",
        "Never commit passwords or API keys.",
        "Rotation of keys",
        "Rotate the API keys of production every 90 days.",
    ),
    (
        "Migrations",
        "Write database migrations that can be rolled back.",
        "Queries",
        "Every database query needs an index that serves it.",
    ),
    (
        "Logging",
        "Log in JSON with one object a line.",
        "Log levels",
        "Use the level error only if a person has to act.",
    ),
    (
        "API errors",
        "Answer errors of the API with a stable code and a message.",
        "API versions",
        "Change the API only in a new version, and keep the old one for a year.",
    ),
    (
        "React components",
        "Write React components as functions with hooks.",
        "React state",
        "Keep the state of React components as close to its use as possible.",
    ),
    (
        "Reviews",
        "Every pull request needs two reviews.",
        "Size of pull requests",
        "A pull request changes at most 400 lines.",
    ),
    (
        "Docs",
        "Update the documentation when you change a public API.",
        "Changelog",
        "Add a line to the changelog for each change that users see.",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn rules_in_other_words_are_distinguished_from_rules_about_the_same_subject() {
    let (app, project) = (app_with_model_and(allow_writes), project("duplicates-table"));
    let mut entries = Vec::new();
    for (name, table) in [("same", SAME_RULES), ("other", OTHER_RULES)] {
        for (at, (title, body, other_title, other_body)) in table.iter().enumerate() {
            entries.push(titled(&format!("{name}{at}-a"), title, body));
            entries.push(titled(&format!("{name}{at}-b"), other_title, other_body));
        }
    }
    import(&app, &project, &entries, json!({})).await;
    wait_until_indexed(&app, &project).await;
    let found = result(&app, "integrity_verify", json!({ "duplicates": true, "project_id": project })).await;
    let is_found = |table: &str, at: usize| {
        let ids = json!([format!("{table}{at}-a"), format!("{table}{at}-b")]);
        found["duplicates"].as_array().unwrap().iter().any(|pair| pair["ids"] == ids)
    };
    let same: Vec<usize> = (0..SAME_RULES.len()).filter(|at| is_found("same", *at)).collect();
    let other: Vec<usize> = (0..OTHER_RULES.len()).filter(|at| is_found("other", *at)).collect();
    // The documentation promises half of the former and none of the latter.
    assert!(same.len() >= SAME_RULES.len() / 2 && other.is_empty(), "{same:?} {other:?} {found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_stands_twice_is_reported() {
    let (app, project) = (app_with_model_and(allow_writes), project("duplicates"));
    let mut entries = vec![
        entry("secrets", "Never commit passwords, API keys or other secrets to the repository."),
        entry("no-keys", "Do not commit secrets such as passwords or API keys to the repository."),
        entry("tests", "Write a failing test before you fix a bug."),
        entry("style", "Format Rust code with rustfmt before each commit."),
    ];
    for (entry, title) in
        entries.iter_mut().zip(["Secrets", "No secrets in commits", "Tests first", "Formatting"])
    {
        entry["title"] = title.into();
    }
    import(&app, &project, &entries, json!({})).await;
    wait_until_indexed(&app, &project).await;
    let found = result(&app, "integrity_verify", json!({ "duplicates": true, "project_id": project })).await;
    let pairs = found["duplicates"].as_array().unwrap();
    assert_eq!(pairs.len(), 1, "{found:#}");
    assert_eq!(pairs[0]["ids"], json!(["no-keys", "secrets"]), "{found:#}");
}
