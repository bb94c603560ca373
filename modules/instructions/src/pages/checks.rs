//! `GET /catalog/checks`: entries that were changed in the database, that refer to code that no longer exists, or that are duplicates.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::entry_address;
use super::frame::{CatalogFrame, refused, verdict};
use surfaces::http::pages::frame::{Answered, Asker, Parameters, project_field, table, warnings};
use surfaces::http::routing::SentQuery;

pub(super) use super::paths::CATALOG_CHECKS as PATH;

/// Checks that take longer: their parameter, and what they look for.
const FURTHER: &[(&str, &str)] = &[
    ("stale", "entries that name files, scripts or symbols that the code does not have"),
    ("duplicates", "entries that say nearly the same, or contradict each other"),
];

/// The answer of `integrity_verify`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    count: usize,
    issues: Vec<Changed>,
    catalog_hash: Option<Mismatch>,
    stale: Option<Vec<StaleEntry>>,
    stale_not_checked: Option<String>,
    duplicates: Option<Vec<SimilarPair>>,
}

/// An entry whose hash differs from the stored one.
#[derive(Debug, Deserialize)]
struct Changed {
    id: String,
    #[serde(flatten)]
    hashes: Mismatch,
}

#[derive(Debug, Deserialize)]
struct Mismatch {
    expected: String,
    actual: String,
}

/// An entry with names that the index does not have.
#[derive(Debug, Deserialize)]
struct StaleEntry {
    id: String,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    scripts: Vec<String>,
    #[serde(default)]
    symbols: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct SimilarPair {
    ids: [String; 2],
    titles: [String; 2],
    similarity: f64,
    by: String,
}

/// `GET /catalog/checks`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let parameters = match Parameters::read(&asker, sent, &["stale", "duplicates"]) {
        Ok(parameters) => parameters,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let project = parameters.project.as_str();
    let is_wanted = |check: &str| parameters.get(check).is_some();
    let arguments = json!({
        "stale": is_wanted("stale"), "duplicates": is_wanted("duplicates"), "project_id": project,
    });
    let verified = asker.tool::<Verified>("integrity_verify", arguments).await;
    let frame = CatalogFrame { asker: &asker, project, tab: PATH, title: "Checks" };
    frame.answer(verified.map(|verified| html! { (form(&parameters)) (content(project, &verified)) }))
}

/// Renders the form that selects the checks beside that of the hashes.
fn form(parameters: &Parameters) -> Markup {
    html! {
        form action=(PATH) {
            (project_field(&parameters.project))
            fieldset {
                legend { "Also look for" }
                @for (check, label) in FURTHER {
                    label { input type="checkbox" name=(check) value="1" checked[parameters.get(check).is_some()]; " " (label) }
                }
                button { "Check" }
            }
        }
    }
}

fn content(project: &str, verified: &Answered<Verified>) -> Markup {
    let result = &verified.result;
    html! {
        (warnings(&verified.meta.warnings))
        h2 { "Hashes" }
        (hashes(project, result))
        @if let Some(reason) = &result.stale_not_checked {
            h2 { "Stale entries" }
            p.note { "Not checked: " (reason) "." }
        }
        @if let Some(entries) = &result.stale { h2 { "Stale entries" } (stale(project, entries)) }
        @if let Some(pairs) = &result.duplicates { h2 { "Pairs that say nearly the same" } (duplicates(project, pairs)) }
    }
}

fn hashes(project: &str, verified: &Verified) -> Markup {
    let head = html! { th scope="col" { "Entry" } th scope="col" { "Stored hash" } th scope="col" { "Hash of the text now" } };
    let row = |name: &Markup, hashes: &Mismatch| {
        html! { tr { td { (name) } td { code { (hashes.expected) } } td { code { (hashes.actual) } } } }
    };
    let rows = html! {
        @for changed in &verified.issues { (row(&link(project, &changed.id), &changed.hashes)) }
        @if let Some(hashes) = &verified.catalog_hash { (row(&html! { "the whole catalog" }, hashes)) }
    };
    html! {
        @if verified.issues.is_empty() && verified.catalog_hash.is_none() {
            p { (verdict(true, "intact")) " · all " (verified.count) " entries have their stored hash." }
        } @else {
            p { (verdict(false, "changed in the database")) " · not by an import." }
            (table("Entries that were changed in the database", &head, &rows))
            p.dim { "If the texts are right as they are, the tool " code { "instructions_repair" } " stores their hashes." }
        }
    }
}

fn stale(project: &str, entries: &[StaleEntry]) -> Markup {
    let head = html! {
        th scope="col" { "Entry" } th scope="col" { "Files and folders" } th scope="col" { "Scripts" } th scope="col" { "Symbols" }
    };
    let rows = html! {
        @for entry in entries {
            tr {
                td { (link(project, &entry.id)) } td { (names(&entry.paths)) } td { (names(&entry.scripts)) }
                td { (names(&entry.symbols)) }
            }
        }
    };
    html! {
        @if entries.is_empty() {
            p { (verdict(true, "none")) " · everything that entries name is in the code." }
        } @else {
            p { (entries.len()) " entries name what the indexed code does not have. Decide for each which of the two is wrong." }
            (table("Stale entries", &head, &rows))
        }
    }
}

fn duplicates(project: &str, pairs: &[SimilarPair]) -> Markup {
    let head = html! {
        th scope="col" { "Entry" } th scope="col" { "Other entry" } th scope="col" { "Alike by" } th.number scope="col" { "Similarity" }
    };
    let rows = html! {
        @for SimilarPair { ids: [one, other], titles: [title, other_title], similarity, by } in pairs {
            tr {
                td { (link(project, one)) br; (title) }
                td { (link(project, other)) br; (other_title) }
                td { (by) }
                td.number { (format!("{similarity:.2}")) }
            }
        }
    };
    html! {
        @if pairs.is_empty() {
            p { (verdict(true, "none")) }
        } @else {
            p { "Whether two entries agree or contradict each other has to be read." }
            (table("Pairs that say nearly the same", &head, &rows))
        }
    }
}

fn link(project: &str, id: &str) -> Markup {
    html! { a href=(entry_address::url(project, id)) { (id) } }
}

fn names(names: &[String]) -> Markup {
    html! { @for (at, name) in names.iter().enumerate() { @if at > 0 { br; } code { (name) } } }
}
