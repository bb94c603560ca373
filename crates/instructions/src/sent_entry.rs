//! An entry as clients send it, before it is checked.

use contract::unescaped;
use platform::sha256;
use serde::Deserialize;
use serde_json::Value;

use crate::canonical::{normalised_text, parse_hash};

/// The fields of an entry as clients send them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SentEntry {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) rationale: Option<String>,
    pub(crate) priority: i64,
    pub(crate) audience: String,
    pub(crate) requirement: String,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    pub(crate) deprecated_by: Option<String>,
    pub(crate) schema_version: Option<String>,
    pub(crate) source_hash: Option<String>,
    pub(crate) created_at: Option<String>,
    // Set by the server; accepted because clients send back the entries that they received.
    #[serde(rename = "updatedAt")]
    _updated_at: Option<Value>,
    #[serde(rename = "usageCount")]
    _usage_count: Option<Value>,
    #[serde(rename = "lastUsedAt")]
    _last_used_at: Option<Value>,
    #[serde(rename = "riskScore")]
    _risk_score: Option<Value>,
}

impl SentEntry {
    /// Undoes the escaping of invisible characters in answers, such as the joiners of emoji and Persian, which become `\u{200d}`. Only
    /// if that makes the hash of the body right is the entry known to come from an answer, and is anything changed.
    pub(crate) fn without_escapes(mut self) -> Self {
        let Some(hash) = self.source_hash.as_deref().and_then(parse_hash) else { return self };
        let has_hash = |body: &str| sha256::digest(normalised_text(body).as_bytes()) == hash;
        if !has_hash(&self.body)
            && let Some(body) = unescaped(&self.body).filter(|body| has_hash(body))
        {
            self.body = body;
            let texts = self.categories.iter_mut().chain(&mut self.rationale).chain([&mut self.title]);
            for text in texts {
                if let Some(written) = unescaped(text) {
                    *text = written;
                }
            }
        }
        self
    }
}
