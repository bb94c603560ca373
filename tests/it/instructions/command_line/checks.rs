//! Reading and checking: lists, gates, reviews, search by meaning.

use serde_json::{Value, json};

use super::{Files, entry_file, json_of, printed, program, run};
use crate::harness::project;

#[test]
fn gates_decide_the_exit_code() {
    let project = project("cli-gates");
    let source = Files::new(&[("a.md", &entry_file("a", "optional", "A."))]);
    json_of(&project, &["import", source.path()]);
    let none = run(&project, &["gates"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, "The catalog has no gates.\n"));
    for (severity, code) in [("error", 1), ("warn", 0)] {
        let gate = json!({ "id": "must", "description": "One is mandatory", "severity": severity, "type": "count",
            "where": { "requirement": "mandatory" }, "op": ">=", "value": 1 });
        source.0.write("gates.json", &json!({ "gates": [gate] }).to_string());
        json_of(&project, &["import", source.path(), "--overwrite"]);
        let failed = run(&project, &["gates"]);
        assert_eq!(failed.code, code, "{}", failed.all());
        assert!(failed.stdout.contains("must: One is mandatory (0, must be >= 1)"), "{}", failed.stdout);
        assert_eq!(run(&project, &["gates", "--json"]).code, code);
    }
    source.0.write("b.md", &entry_file("b", "mandatory", "B."));
    json_of(&project, &["import", source.path()]);
    let passed = run(&project, &["gates"]);
    assert_eq!((passed.code, passed.stdout.starts_with("✓ must")), (0, true), "{}", passed.all());
    source.0.write(
        "gates.json",
        r#"{"gates": [{"id": "g", "severity": "error", "type": "count", "op": "=>", "value": 1}]}"#,
    );
    let refused = run(&project, &["import", source.path(), "--overwrite"]);
    assert_eq!((refused.code, refused.stderr.contains("`op`")), (1, true), "{}", refused.all());
    assert_eq!(run(&project, &["gates"]).code, 0, "the gates before stay");
}

#[test]
fn a_review_fails_on_a_secret_and_never_shows_it() {
    let project = project("cli-review");
    let source = Files::new(&[("a.md", &entry_file("a", "optional", "A."))]);
    json_of(&project, &["import", source.path()]);
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLE");
    let review = |text: &str, extra: &[&str]| {
        let arguments = [&["instructions", "review", "-", "--project", &project], extra].concat();
        printed(program(&arguments), text)
    };
    for extra in [&[][..], &["--json"]] {
        let found = review(&format!("You MUST use {key} to log in. For agents."), extra);
        assert_eq!(found.code, 1, "{}", found.all());
        assert!(
            found.stdout.contains("aws-access-key-id") && found.stdout.contains("AKIA…"),
            "{}",
            found.stdout
        );
        assert!(!found.all().contains(&key), "{}", found.all());
    }
    let harmless =
        review("Agents MUST run the tests of a package before they propose a change of it.", &["--json"]);
    let counts = &harmless.result()["summary"]["counts"];
    assert_eq!(harmless.code, 0, "{counts}");
    let long = review(&"x ".repeat(5121), &[]);
    assert_eq!((long.code, long.stderr.contains("INVALID_REQUEST")), (1, true), "{}", long.all());
    assert_eq!(run(&project, &["review", "/no/such/file"]).code, 2);
}

#[test]
fn entries_are_read_as_text_and_as_envelopes() {
    let project = project("cli-read");
    let source = Files::new(&[
        ("keys.md", &entry_file("keys", "critical", "Never commit keys.")),
        ("style.md", &entry_file("style", "optional", "Be brief.")),
    ]);
    json_of(&project, &["import", source.path()]);
    let listed = run(&project, &["list"]);
    assert!(
        listed.stdout.contains("keys   critical") && listed.stdout.contains("2 entries"),
        "{}",
        listed.stdout
    );
    assert_eq!(json_of(&project, &["list", "--category", "none"])["count"], 0);
    assert!(json_of(&project, &["list"])["items"][0]["body"].is_string());
    assert_eq!(json_of(&project, &["search", "COMMIT KEYS"])["items"][0]["id"], "keys");
    let shown = run(&project, &["get", "keys"]);
    assert!(
        shown.stdout.starts_with("Title of keys\n") && shown.stdout.contains("\nNever commit keys.\n"),
        "{}",
        shown.stdout
    );
    let missing = run(&project, &["get", "nobody"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, "✗ There is no entry nobody.\n"));
    let verified = run(&project, &["verify"]);
    assert_eq!((verified.code, verified.stdout.as_str()), (0, "✓ 2 entries, each as it was stored\n"));
    assert_eq!(run(&project, &["hot"]).stdout, "No entry was used yet.\n");
    let applied =
        run(&project, &["apply", "write a login", "--path", "src/login.rs", "--max-tokens", "1000"]);
    assert_eq!(applied.code, 0, "{}", applied.all());
    assert!(
        applied.stdout.starts_with("write a login\n")
            && applied.stdout.contains("(`keys`, critical, always required)")
    );
    assert!(!applied.stdout.contains("`style`"), "{}", applied.stdout);
}

#[test]
fn writes_need_the_operators_permission() {
    let project = project("cli-closed");
    let source = Files::new(&[("a.md", &entry_file("a", "optional", "A."))]);
    let mut command = program(&["instructions", "import", source.path(), "--project", &project]);
    // As it is by default; the homes of tests allow writes.
    command.env_remove("MCP_ENABLE_MUTATION").env("PAIROFCLEATS_INSTRUCTIONS__MUTATION", "false");
    let refused = printed(command, "");
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(
        refused.stderr.contains("Mutation disabled. Set MCP_ENABLE_MUTATION=1 to enable."),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("hint:"), "{}", refused.stderr);
    assert_eq!(run(&project, &["list"]).code, 1, "no project was made");
}

#[test]
fn an_imported_entry_is_found_by_meaning_at_once() {
    let project = project("cli-semantic");
    let source = Files::new(&[
        (
            "credentials.md",
            &entry_file(
                "credentials",
                "critical",
                "Never write credentials into code; read them from the vault.",
            ),
        ),
        ("commits.md", &entry_file("commits", "optional", "Write commit messages in the imperative mood.")),
    ]);
    let semantic = |arguments: &[&str]| {
        let arguments = [&["instructions"], arguments, &["--project", &project, "--json"]].concat();
        let mut command = program(&arguments);
        command.env_remove("PAIROFCLEATS_INSTRUCTIONS__SEMANTIC");
        let done = printed(command, "");
        assert_eq!(done.code, 0, "{arguments:?}: {}", done.all());
        done.envelopes().remove(0)
    };
    semantic(&["import", source.path()]);
    let found = semantic(&["search", "how do we treat passwords", "--semantic"]);
    assert_eq!(found["result"]["items"][0]["id"], "credentials", "{found:#}");
    assert_eq!(found["_meta"]["warnings"], Value::Null, "nothing is pending: {found:#}");
    semantic(&["remove", "credentials"]);
    let found = semantic(&["search", "how do we treat passwords", "--semantic"]);
    assert!(
        found["result"]["items"].as_array().unwrap().iter().all(|item| item["id"] != "credentials"),
        "{found:#}"
    );
}
