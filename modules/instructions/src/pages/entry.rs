//! `GET /catalog/entries/{id}`: one entry with its text, as agents receive it.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::answers::{self, Entry};
use super::entry_address::{read, url};
use super::frame::{CatalogFrame, refused, text, time};
use super::{entries, remove, review};
use surfaces::http::pages::frame::{self as pages, Asker};
use surfaces::http::routing::SentQuery;

pub(super) const PATH: &str = "/catalog/entries/{id}";

/// `GET /catalog/entries/{id}`.
pub(super) async fn show(asker: Asker, id: Result<Path<String>, PathRejection>, sent: SentQuery) -> Response {
    let (parameters, id) = match read(&asker, id, sent) {
        Ok(read) => read,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let project = parameters.project.as_str();
    match answers::entry(&asker, project, &id).await {
        Ok((entry, hash)) => {
            let frame = CatalogFrame { asker: &asker, project, tab: "", title: &entry.title };
            frame.respond(StatusCode::OK, &content(&asker, project, &entry, &hash))
        }
        Err(error) => refused(&asker, project, &error),
    }
}

fn content(asker: &Asker, project: &str, entry: &Entry, catalog_hash: &str) -> Markup {
    html! {
        p.dim { code { (entry.id) } button.copy type="button" hidden data-copy=(entry.id) { "Copy id" } }
        @if let Some(by) = &entry.deprecated_by {
            p.note { "It is deprecated. Its replacement is " a href=(url(project, by)) { code { (by) } } "." }
        }
        (text(&entry.body))
        @if let Some(rationale) = &entry.rationale { h2 { "Why" } (text(rationale)) }
        h2 { "Details" }
        (details(project, entry, catalog_hash))
        p {
            a href=(pages::url(review::PATH, project, &[("entry", &entry.id)])) { "Review this text" }
            @if asker.may_call(remove::TOOL) { " · " a href=(remove::url(project, &entry.id)) { "Remove this entry" } }
        }
    }
}

fn details(project: &str, entry: &Entry, catalog_hash: &str) -> Markup {
    html! {
        dl.facts {
            dt { "Requirement" } dd { (entry.requirement) }
            dt { "Priority" } dd { (entry.priority) " of 1 (first) to 100" }
            @if let Some(score) = entry.risk_score { dt { "Risk score" } dd { (score) } }
            @if let Some(audience) = &entry.audience { dt { "Audience" } dd { (audience) } }
            @if !entry.categories.is_empty() {
                dt { "Categories" } dd { (entries::categories(project, &entry.categories)) }
            }
            dt { "Created" } dd { (time(entry.created_at.as_deref())) }
            dt { "Changed" } dd { (time(entry.updated_at.as_deref())) }
            dt { "Used" }
            dd {
                (entry.usage_count.unwrap_or_default()) " ×"
                @if entry.last_used_at.is_some() { ", last " (time(entry.last_used_at.as_deref())) }
            }
            dt { "SHA-256 of the text" } dd { code { (entry.source_hash) } }
            dt { "SHA-256 of the catalog" } dd { code { (catalog_hash) } }
        }
    }
}
