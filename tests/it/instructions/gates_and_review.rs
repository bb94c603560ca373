//! Gates over the catalog, and reviews of prompts.

use serde_json::{Value, json};

use super::{entry, import, import_arguments, writable_app};
use crate::harness::{call, error, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn gates_pass_and_fail_as_the_table_says() {
    let (app, project) = (writable_app(), project("gates-table"));
    let mut mandatory = entry("must", "Do it.");
    mandatory["requirement"] = "mandatory".into();
    import(&app, &project, &[mandatory, entry("may", "Perhaps.")], json!({})).await;
    let count = |requirement: &str, op: &str, value: i64| json!({ "type": "count", "where": { "requirement": requirement }, "op": op, "value": value });
    for (gate, passes) in [
        (
            json!({ "all": [count("mandatory", ">=", 1), { "not": { "any": [count("critical", ">", 0), count("optional", ">", 0)] } }] }),
            true,
        ),
        (json!({ "all": [count("mandatory", ">=", 2), count("recommended", "==", 1)] }), false),
        (json!({ "any": [count("mandatory", ">=", 2), count("recommended", "==", 1)] }), true),
        (json!({ "not": count("recommended", "!=", 1) }), true),
    ] {
        let mut gate = gate;
        (gate["id"], gate["severity"]) = ("g".into(), "error".into());
        let set = import_arguments(&project, &[], json!({ "gates": { "gates": [gate] } }));
        assert_eq!(result(&app, "instructions_import", set).await["errors"], json!([]));
        let report = result(&app, "gates_evaluate", json!({ "project_id": project })).await;
        assert_eq!(report["results"][0]["passed"], passes, "{gate}: {report:#}");
        let failed = i64::from(!passes);
        assert_eq!(report["summary"], json!({ "errors": failed, "warnings": 0, "total": 1 }), "{report:#}");
    }
    let typo = json!({ "gates": { "gates": [{ "id": "g", "severity": "error", "type": "count", "op": "=>", "value": 1 }] } });
    let refused = error(&app, "instructions_import", import_arguments(&project, &[], typo)).await;
    assert_eq!(
        (&refused["code"], &refused["details"]["field"]),
        (&json!("INVALID_REQUEST"), &json!("gates"))
    );
    let kept = result(
        &app,
        "instructions_export",
        json!({ "gates": true, "criteria": true, "project_id": project }),
    )
    .await;
    assert_eq!(kept["gates"]["gates"][0]["id"], "g", "the gates before stay");
    assert!(kept.get("criteria").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_found_and_shown_nowhere() {
    let (app, project) = (writable_app(), project("review-secret"));
    import(&app, &project, &[entry("a", "A")], json!({})).await;
    let secret = format!("AKIA{}", "IOSFODNN7EXAMPLF");
    let prompt = format!("For all agents, mandatory: use the key {secret} to upload.");
    let reviewed = call(&app, "prompt_review", json!({ "prompt": prompt, "project_id": project })).await;
    assert!(!reviewed.to_string().contains(&secret), "{reviewed:#}");
    let review = &reviewed["result"];
    assert_eq!(review["summary"]["highestSeverity"], "critical", "{review:#}");
    let issue =
        review["issues"].as_array().unwrap().iter().find(|issue| issue["severity"] == "critical").unwrap();
    assert!(issue["match"].as_str().unwrap().starts_with("AKIA…["), "{issue}");
    assert_eq!(review["length"], prompt.chars().count());

    let fits =
        result(&app, "prompt_review", json!({ "prompt": "x".repeat(10_240), "project_id": project })).await;
    assert_eq!(fits["length"], 10_240);
    let refused =
        error(&app, "prompt_review", json!({ "prompt": "x".repeat(10_241), "project_id": project })).await;
    assert_eq!(
        (&refused["code"], &refused["details"]),
        (&json!("INVALID_REQUEST"), &json!({ "bytes": 10_241, "max": 10_240 }))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projects_criteria_add_to_the_default_ones() {
    let (app, project) = (writable_app(), project("review-criteria"));
    let rule = |pattern: &str| json!({ "id": "team/no-foo", "pattern": pattern, "severity": "medium", "description": "foo", "remediation": "Say bar." });
    let criteria = |rule: Value| json!({ "criteria": { "categories": [{ "id": "team", "rules": [rule] }] } });
    import(&app, &project, &[entry("a", "A")], criteria(rule("\\bfoo\\b"))).await;
    let reviewed =
        result(&app, "prompt_review", json!({ "prompt": "Use foo.", "project_id": project })).await;
    let found: Vec<&str> = reviewed["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue["ruleId"].as_str().unwrap())
        .collect();
    assert!(found.contains(&"team/no-foo"), "{found:?}");
    for pattern in ["(", &"x".repeat(513)] {
        let broken = import_arguments(&project, &[], criteria(rule(pattern)));
        assert_eq!(error(&app, "instructions_import", broken).await["details"]["field"], "criteria");
    }
    // A pattern that explodes in other engines.
    import(&app, &project, &[], criteria(rule("(a+)+$"))).await;
    let text = format!("{}!", "a".repeat(10_000));
    result(&app, "prompt_review", json!({ "prompt": text, "project_id": project })).await;
}
