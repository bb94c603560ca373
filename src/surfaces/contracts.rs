//! The public promise as documents: what `contracts/` holds, derived from the list and the types.

use serde_json::{Value, json};

use super::http;
use crate::tools::{published, schema};
use contract::{Envelope, SCHEMA_VERSION, error_table};

/// The files of `contracts/`, but for `versions.json`, which is their history.
#[must_use]
pub fn documents() -> Vec<(&'static str, Value)> {
    vec![
        ("mcp-tools.schema.json", json!({ "schemaVersion": SCHEMA_VERSION, "tools": published::tools() })),
        ("envelope.schema.json", Value::Object(schema::of::<Envelope>())),
        ("errors.json", serde_json::to_value(error_table()).unwrap_or_default()),
        ("openapi.json", http::openapi()),
    ]
}

/// A digest of the whole surface. `versions.json` pins each schema version to one, so that the
/// surface cannot change under an old version.
#[must_use]
pub fn digest() -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, document) in documents() {
        hasher.update(name.as_bytes());
        hasher.update(document.to_string().as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
