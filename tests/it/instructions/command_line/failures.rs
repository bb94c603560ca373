//! Failures in scripts, and reports about files of agents and about projects without a catalog.

use serde_json::json;

use super::{Files, entry_file, json_of, printed, program, run};
use crate::harness::project;

#[test]
fn stale_and_repeated_rules_fail_where_that_is_asked_for() {
    let source = Files::new(&[
        ("a.md", &entry_file("a", "optional", "Call `parse_config()`.")),
        ("b.md", &entry_file("b", "optional", "Call `parse_config()`.")),
    ]);
    let unindexed = project("cli-not-indexed");
    json_of(&unindexed, &["import", source.path()]);
    for arguments in [&["verify", "--stale"][..], &["verify", "--fail-on", "stale"]] {
        let unknown = run(&unindexed, arguments);
        assert_eq!(unknown.code, 1, "{}", unknown.all());
        assert!(unknown.stdout.contains("not checked: no repository is indexed"), "{}", unknown.stdout);
    }
    let project = project("cli-fail-on");
    let code = Files::new(&[("src/config.rs", "pub fn parse_config() {}\n")]);
    let index = printed(program(&["index", code.path(), "--project", &project, "--stub-embeddings"]), "");
    assert_eq!(index.code, 0, "{}", index.all());
    json_of(&project, &["import", source.path()]);
    let listed = run(&project, &["verify", "--duplicates"]);
    assert_eq!(listed.code, 0, "{}", listed.all());
    let warning = "! a (Title of a) and b (Title of b) have the same text\n";
    assert!(listed.stdout.contains(warning), "{}", listed.stdout);
    let failed = run(&project, &["verify", "--fail-on", "duplicates"]);
    assert_eq!((failed.code, failed.stdout.contains(warning)), (1, true), "{}", failed.all());
    json_of(&project, &["remove", "b"]);
    let passed = run(&project, &["verify", "--fail-on", "stale,duplicates"]);
    assert_eq!(passed.code, 0, "{}", passed.all());
    source.0.write("b.md", &entry_file("b", "optional", "Call `load_settings()` at the start."));
    json_of(&project, &["import", source.path()]);
    assert_eq!(run(&project, &["verify", "--stale"]).code, 0);
    let failed = run(&project, &["verify", "--fail-on", "stale,duplicates"]);
    assert_eq!((failed.code, failed.stdout.contains("load_settings")), (1, true), "{}", failed.all());
}

#[test]
fn a_catalog_without_gates_fails_where_they_are_required() {
    let project = project("cli-gates-required");
    let source = Files::new(&[("a.md", &entry_file("a", "optional", "A."))]);
    json_of(&project, &["import", source.path()]);
    let none = run(&project, &["gates", "--require"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, "The catalog has no gates.\n"));
    let gate = json!({ "id": "one", "severity": "error", "type": "count", "op": ">=", "value": 1 });
    source.0.write("gates.json", &json!({ "gates": [gate] }).to_string());
    json_of(&project, &["import", source.path()]);
    assert_eq!(run(&project, &["gates", "--require"]).code, 0);
    // An import sets documents and removes none, and `diff` says so.
    source.0.remove("gates.json");
    source.0.remove("a.md");
    source.0.write("b.md", &entry_file("b", "optional", "B."));
    let compared = run(&project, &["diff", source.path()]);
    assert_eq!(compared.code, 1, "{}", compared.all());
    for line in [
        "+ b  only in the folder: `import` adds it",
        "- a  only in the catalog: only `import --overwrite --prune` removes it",
        "= gates.json  only in the catalog: `import` leaves it",
    ] {
        assert!(compared.stdout.contains(line), "{line}: {}", compared.stdout);
    }
}

#[test]
fn a_project_that_does_not_exist_names_the_import() {
    let missing = run(&project("cli-no-catalog"), &["list"]);
    assert_eq!(missing.code, 1, "{}", missing.all());
    assert!(missing.stderr.contains("there is no catalog"), "{}", missing.stderr);
    assert!(missing.stderr.contains("instructions import"), "{}", missing.stderr);
    assert!(!missing.stderr.contains("build_index"), "{}", missing.stderr);
}

#[test]
fn remarks_on_files_of_agents_are_reported() {
    let project = project("cli-agent-notes");
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLE");
    let upload = format!("# Rules\n\n@docs/style.md\n\n## Never force-push\n\n## Upload\n\nUse {key}.\n");
    let source = Files::new(&[
        ("AGENTS.md", upload.as_str()),
        ("CLAUDE.md", "# CLAUDE.md\n\n@AGENTS.md\n"),
        (".cursor/rules/a.mdc", "---\nglobs: *.ts\nUse hooks.\n"),
    ]);
    let done = run(&project, &["import-agents", source.path()]);
    assert_eq!(done.code, 1, "{}", done.all());
    for line in [
        ".cursor/rules/a.mdc: The front matter has no end",
        "! AGENTS.md: Section \"Never force-push\" has no text",
        "! AGENTS.md: Lines that only include another file are left out: @docs/style.md.",
        "! AGENTS.md: agents-upload may hold a secret (aws-access-key-id",
        "! CLAUDE.md: Lines that only include another file are left out: @AGENTS.md.",
    ] {
        assert!(done.stdout.contains(line), "{line}: {}", done.stdout);
    }
    assert!(!done.all().contains(&key), "{}", done.all());
    let listed = json_of(&project, &["list"]);
    assert_eq!(super::super::ids(&listed["items"]), ["agents-never-force-push", "agents-upload"]);
}
