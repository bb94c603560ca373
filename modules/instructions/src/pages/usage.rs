//! `GET /catalog/usage`: shows which entries agents follow, and how the catalog's methods are called.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::entry_address;
use super::frame::{CatalogFrame, refused, time};
use surfaces::http::pages::frame::{Asker, PageError, Parameters, failure, table};
use surfaces::http::routing::SentQuery;

pub(super) use super::paths::CATALOG_USAGE as PATH;

/// Number of entries on the page.
const ENTRIES: usize = 100;

/// The answer of `usage_hotset`.
#[derive(Debug, Deserialize)]
struct UsedEntries {
    items: Vec<UsedEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsedEntry {
    id: String,
    usage_count: u64,
    last_used_at: String,
}

/// The answer of `metrics_snapshot`.
#[derive(Debug, Deserialize)]
struct Metrics {
    methods: Vec<Method>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Method {
    method: String,
    count: u64,
    avg_ms: f64,
    max_ms: f64,
}

/// `GET /catalog/usage`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let parameters = match Parameters::read(&asker, sent, &[]) {
        Ok(parameters) => parameters,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let project = parameters.project.as_str();
    let (used, metrics) = tokio::join!(
        asker.tool::<UsedEntries>("usage_hotset", json!({ "limit": ENTRIES, "project_id": project })),
        asker.tool::<Metrics>("metrics_snapshot", json!({ "project_id": project })),
    );
    let frame = CatalogFrame { asker: &asker, project, tab: PATH, title: "How instructions are used" };
    frame.answer(used.map(|used| content(project, &used.result.items, metrics.map(|metrics| metrics.result))))
}

fn content(project: &str, used: &[UsedEntry], metrics: Result<Metrics, PageError>) -> Markup {
    html! {
        h2 { "Most used entries" }
        @if used.is_empty() {
            p { "No entry was used yet. Agents say that they followed one with the tool " code { "usage_track" } "." }
        } @else {
            (used_entries(project, used))
        }
        h2 { "Calls of this server" }
        @match metrics {
            Ok(metrics) => (methods(&metrics.methods)),
            Err(error) => (failure::note(&error)),
        }
    }
}

fn used_entries(project: &str, used: &[UsedEntry]) -> Markup {
    let most = used.iter().map(|entry| entry.usage_count).max().unwrap_or(1);
    let head = html! {
        th scope="col" { "Entry" } th.number scope="col" { "Uses" } td {} th scope="col" { "Last used" }
    };
    let rows = html! {
        @for used in used {
            tr {
                td { a href=(entry_address::url(project, &used.id)) { (used.id) } }
                td.number { (used.usage_count) }
                // The number beside it conveys the same.
                td { meter min="0" max=(most) value=(used.usage_count) aria-hidden="true" {} }
                td { (time(Some(&used.last_used_at))) }
            }
        }
    };
    table("Most used entries", &head, &rows)
}

fn methods(methods: &[Method]) -> Markup {
    let head = html! {
        th scope="col" { "Method" } th.number scope="col" { "Calls" } th.number scope="col" { "Mean" }
        th.number scope="col" { "Longest" }
    };
    let rows = html! {
        @for method in methods {
            tr {
                td { code { (method.method) } } td.number { (method.count) } td.number { (method.avg_ms) " ms" }
                td.number { (method.max_ms) " ms" }
            }
        }
    };
    html! {
        p.dim { "Since this process started, for this project." }
        @if methods.is_empty() { p { "None yet." } } @else { (table("Calls of this server", &head, &rows)) }
    }
}
