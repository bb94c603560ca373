//! The effect of each argument of `triage_decision` on the stored record, and of a decision on its finding.

use std::sync::Arc;

use contract::clock::FixedClock;
use gate::app::App;
use serde_json::{Value, json};

use super::{GENERIC, ingest, record_id, record_ids_with_meta, record_text};
use crate::harness::{app, app_at, error, project, result};

async fn decide(app: &Arc<App>, project: &str, finding: &str, status: &str, extra: Value) -> Value {
    let mut arguments = json!({ "finding": finding, "status": status, "project_id": project });
    for (name, value) in extra.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    result(app, "triage_decision", arguments).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_a_searchable_record_of_all_its_fields() {
    let (app, project) = (app(), project("decided"));
    let meta = json!({ "meta": { "service": "checkout", "env": "prod", "team": "pay", "owner": "ada", "repo": "shop" } });
    let ingested = ingest(&app, &project, "generic", GENERIC, meta).await;
    let finding = record_id(&ingested, 0);
    let extra = json!({
        "justification": "The padding is bounded by the form.", "reviewer": "grace", "expires": "2999-12-31",
        "codes": ["vulnerable_code_not_in_execute_path"], "evidence": ["https://example.com/review/1"],
        "meta": { "env": "staging", "ticket": "SEC-9" }
    });
    let decision = decide(&app, &project, &finding, "not_affected", extra).await;
    assert_eq!((&decision["findingId"], &decision["status"]), (&json!(finding), &json!("not_affected")));
    assert_eq!(decision["expiresAt"], "3000-01-01T00:00:00.000Z");
    let record = decision["recordId"].as_str().unwrap().to_owned();
    assert_eq!(decision["path"], format!("triage/records/{record}.md"));
    for pair in [
        "recordType=decision",
        "source=manual",
        "service=checkout",
        "env=staging",
        "team=pay",
        "owner=ada",
        "repo=shop",
        "vuln.cve=cve-2024-0001",
        "package.name=leftpad",
        "decision.status=not_affected",
        "decision.reviewer=grace",
        "decision.justificationCodes=vulnerable_code_not_in_execute_path",
        "decision.evidenceRefs=https://example.com/review/1",
        "ticket=sec-9",
        "decision.expiresAt=3000-01-01T00:00:00.000Z",
    ] {
        let found = record_ids_with_meta(&app, &project, json!(["recordType=decision", pair])).await;
        assert_eq!(found, std::slice::from_ref(&record), "{pair}");
    }
    assert_eq!(
        record_ids_with_meta(&app, &project, json!(["status=not_affected", "recordType=finding"])).await,
        std::slice::from_ref(&finding)
    );
    assert_eq!(record_ids_with_meta(&app, &project, json!("status=open")).await, [record_id(&ingested, 1)]);
    let arguments = json!({ "query": "padding bounded by the form", "mode": "records", "ann": false, "top": 1, "project_id": project });
    let found = result(&app, "search", arguments).await;
    assert_eq!(found["hits"][0]["file"], decision["path"], "{found:#}");
    let page = record_text(&app, &project, &record).await;
    assert!(
        page.starts_with("# Decision not_affected CVE-2024-0001 (leftpad@1.2.0) [checkout / staging] [high]"),
        "{page}"
    );
    assert!(
        page.contains("- Reviewer: grace") && page.contains("\nThe padding is bounded by the form."),
        "{page}"
    );
    let finding_page = record_text(&app, &project, &finding).await;
    assert!(finding_page.starts_with("# Finding not_affected CVE-2024-0001"), "{finding_page}");
    // A repeated scanner report does not undo the decision.
    ingest(&app, &project, "generic", GENERIC, json!({})).await;
    assert_eq!(
        record_ids_with_meta(&app, &project, json!(["status=not_affected", "recordType=finding"])).await,
        [finding]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_decision_holds_until_it_expires() {
    let clock = Arc::new(FixedClock::at_millis(1_900_000_000_000));
    let (app, project) = (app_at(clock.clone()), project("expiry"));
    let finding =
        record_id(&ingest(&app, &project, "manual", r#"{"title": "Open door"}"#, json!({})).await, 0);
    let status = async || {
        let found = record_ids_with_meta(&app, &project, json!("recordType=finding")).await;
        assert_eq!(found, std::slice::from_ref(&finding));
        let page = current_text(&app, &project, &finding).await;
        page.split(' ').nth(2).unwrap().to_owned()
    };
    assert_eq!(status().await, "open");
    decide(&app, &project, &finding, "accept", json!({})).await;
    clock.advance_millis(1000);
    assert_eq!(status().await, "accept");
    decide(&app, &project, &finding, "defer", json!({ "expires": "2030-03-20" })).await;
    assert_eq!(status().await, "defer");
    clock.advance_millis(10 * 86_400_000);
    assert_eq!(status().await, "accept", "the latest decision that has not expired holds");
    // The indexed text follows with the next run.
    assert_eq!(
        record_ids_with_meta(&app, &project, json!(["recordType=finding", "status=defer"])).await.len(),
        1
    );
    ingest(&app, &project, "manual", "[]", json!({})).await;
    assert_eq!(
        record_ids_with_meta(&app, &project, json!(["recordType=finding", "status=defer"])).await.len(),
        0
    );
    assert_eq!(
        record_ids_with_meta(&app, &project, json!(["recordType=finding", "status=accept"])).await.len(),
        1
    );
    decide(&app, &project, &finding, "fix", json!({})).await;
    decide(&app, &project, &finding, "fix", json!({ "reviewer": "at the same moment" })).await;
    assert_eq!(
        record_ids_with_meta(&app, &project, json!("decision.status=fix")).await.len(),
        2,
        "no decision is lost"
    );
}

/// The current text of a record, which may be newer than the indexed one.
async fn current_text(app: &Arc<App>, project: &str, id: &str) -> String {
    let path = format!("triage/records/{id}.md");
    let shown = result(app, "show_file", json!({ "path": path, "project_id": project })).await;
    shown["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_decisions_are_refused() {
    let (app, project) = (app(), project("undecided"));
    let none = json!({ "finding": "0".repeat(40), "status": "fix", "project_id": project });
    assert_eq!(error(&app, "triage_decision", none.clone()).await["code"], "NO_INDEX");
    let finding =
        record_id(&ingest(&app, &project, "manual", r#"{"title": "Open door"}"#, json!({})).await, 0);
    assert_eq!(error(&app, "triage_decision", none).await["code"], "NOT_FOUND");
    let decision = decide(&app, &project, &finding, "accept", json!({})).await;
    for (named, code) in [
        ("", "INVALID_REQUEST"),
        ("../../etc/passwd", "INVALID_REQUEST"),
        (&finding[1..], "INVALID_REQUEST"),
        (&finding.to_uppercase(), "INVALID_REQUEST"),
        (decision["recordId"].as_str().unwrap(), "INVALID_REQUEST"),
    ] {
        let arguments = json!({ "finding": named, "status": "fix", "project_id": project });
        assert_eq!(error(&app, "triage_decision", arguments).await["code"], code, "{named}");
    }
    for expires in ["yesterday", "2001-01-01", "2030-02-30", ""] {
        let arguments =
            json!({ "finding": finding, "status": "fix", "expires": expires, "project_id": project });
        let fault = error(&app, "triage_decision", arguments).await;
        assert_eq!(
            (&fault["code"], &fault["details"]["field"]),
            (&json!("INVALID_REQUEST"), &json!("expires")),
            "{expires}"
        );
    }
    assert_eq!(
        record_ids_with_meta(&app, &project, json!("recordType=decision")).await.len(),
        1,
        "nothing was stored"
    );
    let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let arguments = json!({ "justification": format!("see\u{0} {token}") });
    let decision = decide(&app, &project, &finding, "false_positive", arguments).await;
    let page = record_text(&app, &project, decision["recordId"].as_str().unwrap()).await;
    assert!(page.contains("see [REDACTED:github_token]"), "{page}");
}
