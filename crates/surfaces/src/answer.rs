//! Envelopes for answers that do not come from a tool: refusals, unreadable requests, and operations of the surfaces.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use contract::clock::iso_millis;
use contract::{Envelope, Fault, Meta, Refusal};
use gate::app::App;

/// Returns the envelope of a call that was not run.
pub fn refused(app: &App, refusal: &Refusal, request_id: Option<String>) -> Envelope {
    failed(app, &refusal.to_fault(), request_id)
}

/// Returns the envelope of a failure outside any tool.
pub(super) fn failed(app: &App, fault: &Fault, request_id: Option<String>) -> Envelope {
    Envelope::failure(fault, meta(app, request_id))
}

/// Returns the envelope of a successful answer outside any tool.
pub(super) fn succeeded(app: &App, result: Value, request_id: Option<String>) -> Envelope {
    Envelope::success(result, meta(app, request_id))
}

fn meta(app: &App, request_id: Option<String>) -> Meta {
    let mut meta = Meta::new(iso_millis(app.clock.now()));
    meta.request_id = request_id;
    meta
}

/// Serialises the envelope as JSON. This cannot fail, because envelopes contain only strings, numbers and JSON.
pub(super) fn json(envelope: &Envelope) -> Value {
    serde_json::to_value(envelope).unwrap_or_default()
}

/// Generates an unguessable id: 128 random bits in hexadecimal.
///
/// # Errors
/// If the system provides no random bytes.
pub fn unguessable_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(platform::sha256::to_hex(&bytes))
}

/// Generates a correlation id for a request without one. It is unique in this process, and the hashed worker name makes it differ
/// from those of other processes.
pub(super) fn fresh_request_id(app: &App) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let digest = blake3::hash(format!("{}/{count}", app.worker).as_bytes());
    digest.to_hex()[..16].to_owned()
}
