//! Generates the documents of `contracts/` from the list of tools and the types.

use serde_json::{Value, json};

use super::http;
use super::module::Modules;
use contract::{Envelope, SCHEMA_VERSION, error_table};
use gate::tools::{published, schema};

/// Returns the files of `contracts/` by name, except `versions.json`, which holds their history.
#[must_use]
pub fn documents(modules: &'static Modules) -> Vec<(&'static str, Value)> {
    vec![
        (
            "mcp-tools.schema.json",
            json!({ "schemaVersion": SCHEMA_VERSION, "tools": published::tools(modules.gate()) }),
        ),
        ("envelope.schema.json", Value::Object(schema::generate_schema::<Envelope>())),
        ("errors.json", serde_json::to_value(error_table()).unwrap_or_default()),
        ("openapi.json", http::openapi(modules)),
    ]
}

/// Computes a digest of all documents. `versions.json` pins it for each schema version, so that the public surface cannot change
/// without a new version.
#[must_use]
pub fn digest(modules: &'static Modules) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, document) in documents(modules) {
        hasher.update(name.as_bytes());
        hasher.update(document.to_string().as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
