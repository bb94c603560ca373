//! Two tenants use one server at the same time, and some clients disconnect early: each tenant gets only its own answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::tenants::{Tenant, TwoTenants};
use crate::faults::tree_gen::rand;
use crate::harness::http;
use crate::serving::{last_message, with_key};

/// Number of calls by each client.
const CALLS: u64 = 150;

/// A tool call on the tenant's own data.
fn tool_call(tenant: &Tenant, seed: u64) -> (&'static str, Value) {
    let query = if seed.is_multiple_of(2) { "common_name coin" } else { tenant.token.as_str() };
    match seed % 7 {
        0 | 1 => ("search", json!({ "query": query, "output": "full", "top": 20 })),
        2 => ("search_code", json!({ "query": query, "limit": 20 })),
        3 => ("show_file", json!({ "path": tenant.file() })),
        4 => ("index_status", json!({})),
        5 => ("triage_context_pack", json!({ "recordId": tenant.finding })),
        _ => ("build_index", json!({ "repoPath": tenant.root() })),
    }
}

/// Sends a call and disconnects before, during or after the answer.
async fn call_and_disconnect(address: &str, tenant: &Tenant, seed: u64) {
    let (tool, mut arguments) = tool_call(tenant, seed);
    arguments["project_id"] = json!(tenant.id);
    let body = arguments.to_string();
    let request = format!(
        "POST /tools/{tool} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        tenant.key,
        body.len()
    );
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let sent = usize::try_from(rand(seed)).unwrap_or(0) % (request.len() * 2);
    let _ = socket.write_all(&request.as_bytes()[..sent.min(request.len())]).await;
    if sent > request.len() {
        tokio::time::sleep(std::time::Duration::from_millis(rand(seed + 1) % 20)).await;
        let mut buffer = [0; 200];
        let _ = tokio::time::timeout(
            std::time::Duration::from_millis(rand(seed + 2) % 20),
            socket.read(&mut buffer),
        )
        .await;
    }
}

async fn run_calls(tenants: &TwoTenants, tenant: &Tenant, other: &Tenant, answer_count: &AtomicUsize) {
    let session = tenants.server.open("/mcp", Some(&tenant.key)).await;
    for number in 0..CALLS {
        let seed = rand(number ^ tenant.id.len() as u64);
        if seed.is_multiple_of(3) {
            call_and_disconnect(tenants.server.address(), tenant, seed).await;
            continue;
        }
        let (tool, mut arguments) = tool_call(tenant, seed);
        arguments["project_id"] = json!(tenant.id);
        let text = if seed.is_multiple_of(5) {
            session.call(seed, tool, arguments).await.to_string()
        } else if seed % 5 == 1 {
            let stream = with_key(http().post(tenants.server.url_of("/search/stream")), Some(&tenant.key));
            let query = json!({ "query": tenant.token, "project_id": tenant.id });
            let response = stream.json(&query).send().await.unwrap();
            last_message(response).await.to_string()
        } else {
            tenants.server.call(Some(&tenant.key), tool, arguments).await.1.to_string()
        };
        assert!(!text.contains(&other.token) && !text.contains(&other.id), "{tool} of {}: {text}", tenant.id);
        // Calls refused for overload do not count as answers.
        if text.contains(&tenant.token) {
            answer_count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_tenants_get_only_their_own_answers() {
    let tenants = TwoTenants::new().await;
    let answer_count: [Arc<AtomicUsize>; 2] = Default::default();
    let (theirs, ours) = (&tenants.theirs, &tenants.ours);
    futures::join!(
        run_calls(&tenants, theirs, ours, &answer_count[0]),
        run_calls(&tenants, ours, theirs, &answer_count[1]),
        run_calls(&tenants, theirs, ours, &answer_count[0]),
        run_calls(&tenants, ours, theirs, &answer_count[1]),
    );
    for count in &answer_count {
        let count = count.load(Ordering::Relaxed) as u64;
        assert!(count > CALLS / 2, "{count} answers contain the tenant's own token");
    }
    tenants.server.stop().await;
}
