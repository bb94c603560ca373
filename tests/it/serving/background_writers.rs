//! The writers of the audit log and of uses: a bad entry does not keep the others from being written, and what is lost is said.

use std::sync::Arc;
use std::time::Duration;

use gate::app::App;
use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use store::audit::{self, AuditFilter, AuditRow};
use tenancy::Scope;

use super::access::issue_key;
use super::fixtures::wait_until;
use super::{TestServer, send_json, with_key};
use crate::harness::{app_with, cluster, http, modules, new_home, run_json, stub_app_in};

/// A server whose background tasks run, and a key that is the operator's.
async fn server_over(app: Arc<App>) -> (TestServer, String, String) {
    let server = TestServer::over(app, modules().tools()).await;
    server.app.start_background();
    let (id, key) = issue_key(&server.app, &[], &[Scope::Search, Scope::Admin]).await;
    wait_until("the audit table's writer", || server.app.has_embedder()).await;
    (server, format!("key:{id}"), key)
}

/// The entries of a principal, newest first.
async fn entries(server: &TestServer, principal: &str) -> Vec<AuditRow> {
    let mut control = server.app.store().await.unwrap().control_read().await.unwrap();
    let filter = AuditFilter { principal: Some(principal), ..AuditFilter::default() };
    let rows = audit::list(&mut control, filter, 500).await.unwrap();
    control.commit().await.unwrap();
    // A name may mention another principal.
    rows.into_iter().filter(|row| row.principal == principal).collect()
}

/// Waits until a principal has an entry about this tool.
async fn until_audited(server: &TestServer, principal: &str, tool: &str) -> Vec<AuditRow> {
    for _ in 0..200 {
        let rows = entries(server, principal).await;
        if rows.iter().any(|row| row.tool == tool) {
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("`{tool}` was not audited: {:?}", entries(server, principal).await);
}

async fn post(server: &TestServer, key: &str, path: &str) -> StatusCode {
    send_json(with_key(http().post(server.url_of(path)), Some(key)).json(&json!({}))).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_column_holds_does_not_stop_the_audit_log() {
    let (server, principal, key) = server_over(app_with(|config| config.server.port = 0)).await;
    for name in ["a%00b", "%00", "no_such_tool%00%F0%9F%92%A5", &"x".repeat(5_000)] {
        assert_eq!(post(&server, &key, &format!("/tools/{name}")).await, StatusCode::NOT_FOUND, "{name}");
    }
    assert_eq!(post(&server, &key, "/tools/after_it").await, StatusCode::NOT_FOUND);
    let rows = until_audited(&server, &principal, "after_it").await;
    let tools: Vec<&str> = rows.iter().map(|row| row.tool.as_str()).collect();
    assert_eq!(tools[1].len(), 64);
    assert_eq!(
        [tools[0], tools[2], tools[3], tools[4]],
        ["after_it", "no_such_tool\u{fffd}\u{1f4a5}", "\u{fffd}", "a\u{fffd}b"],
        "each is there, in a form that a column holds"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_the_database_refuses_is_dropped_alone_and_said() {
    // In a home of its own, because its tables are changed, and `doctor` reads all of them.
    let home = new_home("audit-refuses");
    let database = tokio::task::block_in_place(|| cluster(&home));
    let (server, principal, key) = server_over(stub_app_in(&home, |config| config.server.port = 0)).await;
    let mut connection = PgConnection::connect_with(&database.connect_options()).await.unwrap();
    let constraint =
        "ALTER TABLE pairofcleats.audit ADD CONSTRAINT refuses CHECK (tool NOT LIKE 'poison%') NOT VALID";
    sqlx::query(constraint).execute(&mut connection).await.unwrap();
    // In one batch, so that the bad ones have to be found among the others.
    let sent = (0..40).map(|number| {
        let tool = if matches!(number, 7 | 8 | 30) { "poison" } else { "harmless" };
        let (server, key) = (&server, &key);
        async move { post(server, key, &format!("/tools/{tool}_{number}")).await }
    });
    assert!(futures::future::join_all(sent).await.iter().all(|status| *status == StatusCode::NOT_FOUND));
    post(&server, &key, "/tools/the_last").await;
    let rows = until_audited(&server, &principal, "the_last").await;
    let mut harmless: Vec<&str> =
        rows.iter().map(|row| row.tool.as_str()).filter(|tool| tool.starts_with("harmless")).collect();
    harmless.sort_unstable();
    harmless.dedup();
    assert_eq!((harmless.len(), rows.len()), (37, 38), "each of the others, once");

    let metrics = with_key(http().get(server.url_of("/metrics")), Some(&key)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.lines().any(|line| line == "pairofcleats_audit_lost_total 3"), "{metrics}");
    let (_, report) = tokio::task::block_in_place(|| run_json(&home, &["doctor"]));
    let checks = report["result"]["checks"].as_array().unwrap();
    let said: Vec<&Value> = checks.iter().filter(|check| check["name"] == "audit log").collect();
    let message = said.first().and_then(|check| check["message"].as_str()).unwrap_or_default();
    assert!(message.starts_with("3 entries were lost") && message.contains("refuses"), "{report:#}");
    assert_eq!((said.len(), &said[0]["ok"]), (1, &json!(false)));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_write_its_audit_log_says_so() {
    // In a home of its own, because the table is away for a while.
    let home = new_home("audit-away");
    let database = tokio::task::block_in_place(|| cluster(&home));
    let (server, principal, key) = server_over(stub_app_in(&home, |config| config.server.port = 0)).await;
    let mut connection = PgConnection::connect_with(&database.connect_options()).await.unwrap();
    let rename = "ALTER TABLE pairofcleats.audit RENAME TO audit_away";
    sqlx::query(rename).execute(&mut connection).await.unwrap();
    post(&server, &key, "/tools/while_away").await;
    let behind = || server.app.writers.behind(std::time::Instant::now() + Duration::from_secs(60));
    wait_until("the writer to be behind", || behind().is_some()).await;
    let (status, answer) = send_json(http().get(server.url_of("/health/ready"))).await;
    let checks = answer["result"]["checks"].as_array().unwrap();
    let writers = checks.iter().find(|check| check["name"] == "writers").unwrap();
    assert_eq!((status.as_u16(), &writers["ok"]), (200, &json!(true)), "a moment is nothing: {answer:#}");
    let doctor = || {
        let (_, report) = tokio::task::block_in_place(|| run_json(&home, &["doctor"]));
        let checks = report["result"]["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "audit log")
    };
    let said = doctor().unwrap();
    assert!(said["message"].as_str().unwrap().starts_with("a server has been unable to write"), "{said:#}");
    let rename = "ALTER TABLE pairofcleats.audit_away RENAME TO audit";
    sqlx::query(rename).execute(&mut connection).await.unwrap();
    until_audited(&server, &principal, "while_away").await;
    wait_until("the writer to say that it works", || behind().is_none()).await;
    for attempt in 0.. {
        if doctor().is_none() {
            break;
        }
        assert!(attempt < 20, "{:#?}", doctor());
    }
    server.stop().await;
}
