//! Loads the content of the dashboard: answers of the gate to the local operator.

use std::sync::Arc;

use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::page;
use contract::{Envelope, ErrorCode, Fault, echo};
use gate::app::App;
use gate::tools::{Caller, Surface};
use surfaces::http::routing::{SentQuery, call_tool, unique_parameters};

/// Maximum number of entries on a page; fewer if they are large, because answers have a size limit.
const ENTRIES_MAX: usize = 200;
/// Maximum number of most used entries.
const HOT_MAX: usize = 10;

/// The parameters of the page.
#[derive(Debug, Default)]
pub(super) struct PageRequest {
    /// The project; `None` for the default workspace.
    pub(super) project: Option<String>,
    /// Only entries of this category.
    pub(super) category: Option<String>,
    /// Only entries after this id.
    pub(super) after: Option<String>,
}

impl PageRequest {
    /// Reads the query string. An empty parameter counts as absent, because a form sends its empty fields.
    pub(super) fn read(query: SentQuery) -> Result<Self, Fault> {
        let mut asked = Self::default();
        for (name, value) in unique_parameters(query)? {
            let field = match name.as_str() {
                "project" => &mut asked.project,
                "category" => &mut asked.category,
                "after" => &mut asked.after,
                _ => {
                    let message = format!("The page has no parameter `{}`.", echo(&name));
                    return Err(Fault::new(ErrorCode::InvalidRequest, message));
                }
            };
            *field = Some(value).filter(|value| !value.is_empty());
        }
        Ok(asked)
    }

    fn arguments(&self, mut arguments: Value) -> Value {
        if let Some(project) = &self.project {
            arguments["project_id"] = project.as_str().into();
        }
        arguments
    }
}

/// A page of the catalog.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entries {
    pub(super) hash: String,
    /// The number of matching entries on all pages.
    pub(super) count: usize,
    pub(super) items: Vec<Entry>,
    pub(super) next_cursor: Option<String>,
}

/// An entry of the catalog.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) rationale: Option<String>,
    pub(super) priority: u8,
    pub(super) audience: String,
    pub(super) requirement: String,
    pub(super) categories: Vec<String>,
    pub(super) deprecated_by: Option<String>,
    pub(super) updated_at: String,
    pub(super) source_hash: String,
    pub(super) usage_count: Option<u64>,
}

/// The entries that are used most.
#[derive(Debug, Default, Deserialize)]
pub(super) struct HotEntries {
    pub(super) items: Vec<HotEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HotEntry {
    pub(super) id: String,
    pub(super) usage_count: u64,
    pub(super) last_used_at: String,
}

/// The gates; without results if the catalog has none.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GateResults {
    #[serde(default)]
    pub(super) results: Vec<GateResult>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct GateResult {
    pub(super) id: String,
    pub(super) description: Option<String>,
    pub(super) passed: bool,
    pub(super) count: usize,
    pub(super) op: String,
    pub(super) value: usize,
    pub(super) severity: String,
}

/// Entries that were changed behind the server's back.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Integrity {
    pub(super) count: usize,
    pub(super) issues: Vec<Issue>,
    pub(super) catalog_hash: Option<Mismatch>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Issue {
    pub(super) id: String,
    pub(super) expected: String,
    pub(super) actual: String,
}

/// A stored hash, and the one computed from the entries.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Mismatch {
    pub(super) expected: String,
    pub(super) actual: String,
}

/// The content of a part of the page: an answer, or the reason why it is missing.
pub(super) type Part<T> = Result<T, String>;

/// The content of the whole page.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) entries: Entries,
    pub(super) hot: Part<HotEntries>,
    pub(super) gates: Part<GateResults>,
    pub(super) integrity: Part<Integrity>,
}

/// Loads and renders the page.
pub(super) async fn load_page(
    app: &Arc<App>,
    asked: &PageRequest,
    request_id: &str,
    nonce: &str,
) -> (StatusCode, String) {
    let listed =
        json!({ "fields": "full", "limit": ENTRIES_MAX, "category": asked.category, "cursor": asked.after });
    let envelope = call(app, "instructions_list", asked.arguments(listed), request_id).await;
    let status = envelope.error.as_ref().map_or(200, |error| error.code.info().http);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let entries = match part(envelope) {
        Ok(entries) => entries,
        Err(message) => return (status, page::failure(asked, &message, nonce)),
    };
    let part_of =
        async |tool: &str, arguments: Value| call(app, tool, asked.arguments(arguments), request_id).await;
    let (hot, gates, integrity) = tokio::join!(
        part_of("usage_hotset", json!({ "limit": HOT_MAX })),
        part_of("gates_evaluate", json!({})),
        part_of("integrity_verify", json!({})),
    );
    let contents = Contents { entries, hot: part(hot), gates: part(gates), integrity: part(integrity) };
    (status, page::catalog(asked, &contents, nonce))
}

/// Returns the names of the catalog's methods.
///
/// # Errors
/// The failed envelope.
pub(super) async fn method_names(app: &Arc<App>, request_id: &str) -> Result<Vec<String>, Envelope> {
    let envelope = call(app, "meta_tools", json!({}), request_id).await;
    let Some(result) = &envelope.result else { return Err(envelope) };
    let methods = result["tools"].as_array().into_iter().flatten();
    Ok(methods.filter_map(|tool| tool["method"].as_str().map(str::to_owned)).collect())
}

async fn call(app: &Arc<App>, tool: &str, arguments: Value, request_id: &str) -> Envelope {
    let caller = Caller { request_id: Some(request_id.to_owned()), ..Caller::local(Surface::Http) };
    call_tool(app, tool, arguments, caller).await
}

fn part<T: DeserializeOwned>(envelope: Envelope) -> Part<T> {
    match (envelope.result, envelope.error) {
        (Some(result), _) => {
            serde_json::from_value(result).map_err(|error| format!("The answer cannot be shown: {error}."))
        }
        (None, Some(error)) => Err(match error.hint {
            Some(hint) => format!("{} {hint}", error.message),
            None => error.message,
        }),
        (None, None) => Err("There is no answer.".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::Query;
    use axum::http::Uri;

    #[test]
    fn the_page_has_three_parameters() {
        let read = |query: &str| {
            let uri: Uri = format!("/?{query}").parse().unwrap();
            PageRequest::read(Query::try_from_uri(&uri))
        };
        let asked = read("project=a&category=b%20c&after=").unwrap();
        assert_eq!((asked.project.as_deref(), asked.category.as_deref()), (Some("a"), Some("b c")));
        assert_eq!(asked.after, None, "a form sends its empty fields");
        assert_eq!(asked.arguments(json!({ "limit": 1 })), json!({ "limit": 1, "project_id": "a" }));
        assert_eq!(PageRequest::default().arguments(json!({})), json!({}));
        for query in ["nonsense=1", "project=a&project=a"] {
            assert_eq!(read(query).unwrap_err().code, ErrorCode::InvalidRequest, "{query}");
        }
    }
}
