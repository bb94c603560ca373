//! What `triage_decision` keeps of each of its fields, and what a decision does to its finding.

use std::sync::Arc;

use contract::clock::FixedClock;
use pairofcleats::app::App;
use serde_json::{Value, json};

use super::{GENERIC, id, ingest, text, with_meta};
use crate::harness::{app, app_at, error, project, result};

async fn decide(app: &Arc<App>, project: &str, finding: &str, status: &str, more: Value) -> Value {
    let mut arguments = json!({ "finding": finding, "status": status, "project_id": project });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    result(app, "triage_decision", arguments).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_a_record_with_everything_that_was_said() {
    let (app, project) = (app(), project("decided"));
    let meta = json!({ "meta": { "service": "checkout", "env": "prod", "team": "pay", "owner": "ada", "repo": "shop" } });
    let ingested = ingest(&app, &project, "generic", GENERIC, meta).await;
    let finding = id(&ingested, 0);
    let more = json!({
        "justification": "The padding is bounded by the form.", "reviewer": "grace", "expires": "2999-12-31",
        "codes": ["vulnerable_code_not_in_execute_path"], "evidence": ["https://example.com/review/1"],
        "meta": { "env": "staging", "ticket": "SEC-9" }
    });
    let decision = decide(&app, &project, &finding, "not_affected", more).await;
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
        let found = with_meta(&app, &project, json!(["recordType=decision", pair])).await;
        assert_eq!(found, std::slice::from_ref(&record), "{pair}");
    }
    assert_eq!(
        with_meta(&app, &project, json!(["status=not_affected", "recordType=finding"])).await,
        std::slice::from_ref(&finding)
    );
    assert_eq!(with_meta(&app, &project, json!("status=open")).await, [id(&ingested, 1)]);
    let asked = json!({ "query": "padding bounded by the form", "mode": "records", "ann": false, "top": 1, "project_id": project });
    let found = result(&app, "search", asked).await;
    assert_eq!(found["hits"][0]["file"], decision["path"], "{found:#}");
    let page = text(&app, &project, &record).await;
    assert!(
        page.starts_with("# Decision not_affected CVE-2024-0001 (leftpad@1.2.0) [checkout / staging] [high]"),
        "{page}"
    );
    assert!(
        page.contains("- Reviewer: grace") && page.contains("\nThe padding is bounded by the form."),
        "{page}"
    );
    let of_finding = text(&app, &project, &finding).await;
    assert!(of_finding.starts_with("# Finding not_affected CVE-2024-0001"), "{of_finding}");
    // What a scanner says again takes nothing back.
    ingest(&app, &project, "generic", GENERIC, json!({})).await;
    assert_eq!(
        with_meta(&app, &project, json!(["status=not_affected", "recordType=finding"])).await,
        [finding]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_decision_holds_until_it_expires() {
    let clock = Arc::new(FixedClock::at_millis(1_900_000_000_000));
    let (app, project) = (app_at(clock.clone()), project("expiry"));
    let finding = id(&ingest(&app, &project, "manual", r#"{"title": "Open door"}"#, json!({})).await, 0);
    let status = async || {
        let found = with_meta(&app, &project, json!("recordType=finding")).await;
        assert_eq!(found, std::slice::from_ref(&finding));
        let page = text_now(&app, &project, &finding).await;
        page.split(' ').nth(2).unwrap().to_owned()
    };
    assert_eq!(status().await, "open");
    decide(&app, &project, &finding, "accept", json!({})).await;
    clock.advance_millis(1000);
    assert_eq!(status().await, "accept");
    decide(&app, &project, &finding, "defer", json!({ "expires": "2030-03-20" })).await;
    assert_eq!(status().await, "defer");
    clock.advance_millis(10 * 86_400_000);
    assert_eq!(status().await, "accept", "what holds is what has not ended");
    // The text that search has follows with the next run.
    assert_eq!(with_meta(&app, &project, json!(["recordType=finding", "status=defer"])).await.len(), 1);
    ingest(&app, &project, "manual", "[]", json!({})).await;
    assert_eq!(with_meta(&app, &project, json!(["recordType=finding", "status=defer"])).await.len(), 0);
    assert_eq!(with_meta(&app, &project, json!(["recordType=finding", "status=accept"])).await.len(), 1);
    decide(&app, &project, &finding, "fix", json!({})).await;
    decide(&app, &project, &finding, "fix", json!({ "reviewer": "at the same moment" })).await;
    assert_eq!(with_meta(&app, &project, json!("decision.status=fix")).await.len(), 2, "no decision is lost");
}

/// The text of a record as it is now, which may be ahead of what was indexed.
async fn text_now(app: &Arc<App>, project: &str, id: &str) -> String {
    let path = format!("triage/records/{id}.md");
    let shown = result(app, "show_file", json!({ "path": path, "project_id": project })).await;
    shown["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_decided_is_refused() {
    let (app, project) = (app(), project("undecided"));
    let none = json!({ "finding": "0".repeat(40), "status": "fix", "project_id": project });
    assert_eq!(error(&app, "triage_decision", none.clone()).await["code"], "NO_INDEX");
    let finding = id(&ingest(&app, &project, "manual", r#"{"title": "Open door"}"#, json!({})).await, 0);
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
    assert_eq!(with_meta(&app, &project, json!("recordType=decision")).await.len(), 1, "nothing was stored");
    let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let said = json!({ "justification": format!("see\u{0} {token}") });
    let decision = decide(&app, &project, &finding, "false_positive", said).await;
    let page = text(&app, &project, decision["recordId"].as_str().unwrap()).await;
    assert!(page.contains("see [REDACTED:github_token]"), "{page}");
}
