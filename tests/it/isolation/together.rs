//! Two tenants at once through one server, with clients that leave in the middle: each gets its own answers alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::planted::{Planted, Two};
use crate::faults::tree_gen::rand;
use crate::harness::http;
use crate::serving::{keyed, message};

/// Calls of each tenant.
const CALLS: u64 = 150;

/// What a tenant asks; all of it has something to find.
fn question(one: &Planted, at: u64) -> (&'static str, Value) {
    let query = if at.is_multiple_of(2) { "common_name coin" } else { one.token.as_str() };
    match at % 7 {
        0 | 1 => ("search", json!({ "query": query, "output": "full", "top": 20 })),
        2 => ("search_code", json!({ "query": query, "limit": 20 })),
        3 => ("show_file", json!({ "path": one.file() })),
        4 => ("index_status", json!({})),
        5 => ("triage_context_pack", json!({ "recordId": one.finding })),
        _ => ("build_index", json!({ "repoPath": one.root() })),
    }
}

/// Sends a call and leaves before, in or after its answer.
async fn leave(address: &str, one: &Planted, at: u64) {
    let (tool, mut arguments) = question(one, at);
    arguments["project_id"] = json!(one.id);
    let body = arguments.to_string();
    let request = format!(
        "POST /tools/{tool} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        one.key,
        body.len()
    );
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let sent = usize::try_from(rand(at)).unwrap_or(0) % (request.len() * 2);
    let _ = socket.write_all(&request.as_bytes()[..sent.min(request.len())]).await;
    if sent > request.len() {
        tokio::time::sleep(std::time::Duration::from_millis(rand(at + 1) % 20)).await;
        let mut some = [0; 200];
        let _ =
            tokio::time::timeout(std::time::Duration::from_millis(rand(at + 2) % 20), socket.read(&mut some))
                .await;
    }
}

async fn asks(two: &Two, one: &Planted, other: &Planted, answered: &AtomicUsize) {
    let session = two.served.open("/mcp", Some(&one.key)).await;
    for at in 0..CALLS {
        let at = rand(at ^ one.id.len() as u64);
        if at.is_multiple_of(3) {
            leave(two.served.address(), one, at).await;
            continue;
        }
        let (tool, mut arguments) = question(one, at);
        arguments["project_id"] = json!(one.id);
        let text = if at.is_multiple_of(5) {
            session.call(at, tool, arguments).await.to_string()
        } else if at % 5 == 1 {
            let stream = keyed(http().post(two.served.at("/search/stream")), Some(&one.key));
            let asked = json!({ "query": one.token, "project_id": one.id });
            let response = stream.json(&asked).send().await.unwrap();
            message(response).await.to_string()
        } else {
            two.served.call(Some(&one.key), tool, arguments).await.1.to_string()
        };
        assert!(!text.contains(&other.token) && !text.contains(&other.id), "{tool} of {}: {text}", one.id);
        // What is refused because there is too much is no answer.
        if text.contains(&one.token) {
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_side_by_side_get_their_own_answers_alone() {
    let two = Two::new().await;
    let answered: [Arc<AtomicUsize>; 2] = Default::default();
    let (theirs, ours) = (&two.theirs, &two.ours);
    futures::join!(
        asks(&two, theirs, ours, &answered[0]),
        asks(&two, ours, theirs, &answered[1]),
        asks(&two, theirs, ours, &answered[0]),
        asks(&two, ours, theirs, &answered[1]),
    );
    for count in &answered {
        let count = count.load(Ordering::Relaxed) as u64;
        assert!(count > CALLS / 2, "{count} answers that hold one's own token");
    }
    two.served.stop().await;
}
