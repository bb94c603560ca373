//! `/catalog/changes`: shows how the catalog differs from a revision, a hash, or a list of hashes that the user has.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::Entry;
use super::entries::entries;
use super::frame::{CatalogFrame, refused};
use contract::{ErrorCode, echo};
use surfaces::http::pages::frame::{
    Answered, Asker, PageError, Parameters, SentForm, failure, project_field, token_field, url, warnings,
};
use surfaces::http::routing::SentQuery;

pub(super) use super::paths::CATALOG_CHANGES as PATH;

/// Returns the page with the changes since a revision.
pub(super) fn since(project: &str, revision: i64) -> String {
    url(PATH, project, &[("since", &revision.to_string())])
}

/// The user's version of the catalog, as it was entered.
#[derive(Debug, Default)]
struct Typed {
    revision: String,
    hash: String,
    meta_hash: String,
    /// Lines of an id, its hash, and optionally the hash of its metadata.
    known: String,
    /// Shows only changes of entries after this id.
    after: String,
}

impl Typed {
    fn is_empty(&self) -> bool {
        [&self.revision, &self.hash, &self.meta_hash, &self.known].into_iter().all(String::is_empty)
    }

    /// Returns the arguments of `instructions_diff`.
    fn arguments(&self, project: &str) -> Result<Value, PageError> {
        let sent = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let mut arguments = json!({
            "clientHash": sent(&self.hash), "clientMetaHash": sent(&self.meta_hash), "cursor": sent(&self.after),
            "project_id": project,
        });
        if !self.revision.is_empty() {
            let refused = || PageError::new(ErrorCode::InvalidRequest, "A revision is a whole number.");
            arguments["sinceRevision"] = self.revision.parse::<i64>().map_err(|_| refused())?.into();
        }
        if !self.known.is_empty() {
            arguments["known"] = known(&self.known)?;
        }
        Ok(arguments)
    }
}

/// Parses the entries of a list, one on each line.
fn known(list: &str) -> Result<Value, PageError> {
    let mut entries = Vec::new();
    for (at, line) in list.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        entries.push(match fields[..] {
            [id, hash] => json!({ "id": id, "sourceHash": hash }),
            [id, hash, meta_hash] => json!({ "id": id, "sourceHash": hash, "metaHash": meta_hash }),
            _ => {
                let message = format!(
                    "Line {} of the list is not an id with one or two hashes: {}",
                    at + 1,
                    echo(line)
                );
                let hint =
                    "Separate id and hash with a space, such as `error-messages 9f86d081…`.".to_owned();
                return Err(PageError {
                    hint: Some(hint),
                    ..PageError::new(ErrorCode::InvalidRequest, message)
                });
            }
        });
    }
    Ok(entries.into())
}

/// The answer of `instructions_diff`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    hash: String,
    meta_hash: String,
    revision: i64,
    #[serde(default)]
    up_to_date: bool,
    #[serde(default)]
    added: Vec<Entry>,
    #[serde(default)]
    updated: Vec<Entry>,
    #[serde(default)]
    removed: Vec<String>,
    /// All entries, if the user's version is unknown.
    changed: Option<Vec<Entry>>,
    next_cursor: Option<String>,
}

impl Difference {
    fn has_changes(&self) -> bool {
        !(self.added.is_empty() && self.updated.is_empty() && self.removed.is_empty())
    }
}

/// The answer of `instructions_checksums`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checksums {
    hash: String,
    meta_hash: String,
    revision: i64,
    count: usize,
}

/// `GET /catalog/changes`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let parameters = match Parameters::read(&asker, sent, &["since", "hash", "meta", "after"]) {
        Ok(parameters) => parameters,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let text = |name: &str| parameters.text(name).trim().to_owned();
    let typed = Typed {
        revision: text("since"),
        hash: text("hash"),
        meta_hash: text("meta"),
        after: text("after"),
        ..Typed::default()
    };
    respond(&asker, &parameters.project, &typed).await
}

/// `POST /catalog/changes`: compares with a list, which is too long for an address. Changes nothing.
pub(super) async fn compare(form: SentForm) -> Response {
    let typed = Typed {
        known: form.text("known").to_owned(),
        after: form.text("after").to_owned(),
        ..Typed::default()
    };
    respond(&form.asker, form.project(), &typed).await
}

async fn respond(asker: &Asker, project: &str, typed: &Typed) -> Response {
    let frame = CatalogFrame { asker, project, tab: PATH, title: "What changed" };
    if typed.is_empty() {
        let checksums =
            asker.tool::<Checksums>("instructions_checksums", json!({ "project_id": project })).await;
        return frame.answer(checksums.map(|answered| {
            let Checksums { hash, meta_hash, revision, count } = &answered.result;
            html! { p.summary { (count) " entries" } (now(*revision, hash, meta_hash)) (forms(asker, project, typed)) }
        }));
    }
    match compared(asker, project, typed).await {
        Ok(answered) => {
            let content =
                html! { (difference(asker, project, typed, &answered)) (forms(asker, project, typed)) };
            frame.respond(StatusCode::OK, &content)
        }
        // Keeps the user's input.
        Err(error) if asker.may_call("instructions_diff") && !error.is_unindexed() => {
            frame.respond(error.status, &html! { (failure::note(&error)) (forms(asker, project, typed)) })
        }
        Err(error) => refused(asker, project, &error),
    }
}

async fn compared(asker: &Asker, project: &str, typed: &Typed) -> Result<Answered<Difference>, PageError> {
    asker.tool("instructions_diff", typed.arguments(project)?).await
}

/// Renders the current version of the catalog.
fn now(revision: i64, hash: &str, meta_hash: &str) -> Markup {
    html! {
        dl.facts {
            dt { "Revision" } dd { (revision) }
            dt { "Hash" } dd { code { (hash) } }
            dt { "Metadata hash" } dd { code { (meta_hash) } }
        }
    }
}

fn difference(asker: &Asker, project: &str, typed: &Typed, answered: &Answered<Difference>) -> Markup {
    let found = &answered.result;
    html! {
        p.summary role="status" {
            @if found.up_to_date || (found.changed.is_none() && !found.has_changes()) {
                "Nothing changed."
            } @else if found.changed.is_some() {
                "The catalog has another hash. A hash does not show which entries differ, so these are all."
            } @else {
                (found.added.len()) " added, " (found.updated.len()) " changed, " (found.removed.len()) " removed"
                @if found.next_cursor.is_some() || !typed.after.is_empty() { " on this page" }
            }
        }
        (warnings(&answered.meta.warnings))
        @for (label, changed) in [
            ("Added", found.added.as_slice()),
            ("Changed", found.updated.as_slice()),
            ("All entries", found.changed.as_deref().unwrap_or_default()),
        ] {
            @if !changed.is_empty() { h2 { (label) } (entries(project, label, changed)) }
        }
        @if !found.removed.is_empty() {
            h2 { "Removed" }
            ul.plain { @for id in &found.removed { li { code { (id) } } } }
        }
        @if let Some(last) = &found.next_cursor { (further(asker, project, typed, last)) }
        h2 { "The catalog now" }
        (now(found.revision, &found.hash, &found.meta_hash))
    }
}

/// Renders the control that leads to the next page of a difference. A list is sent again, because an address cannot hold it.
fn further(asker: &Asker, project: &str, typed: &Typed, last: &str) -> Markup {
    let Typed { revision, hash, meta_hash, known, .. } = typed;
    let state = [("since", revision.as_str()), ("hash", hash), ("meta", meta_hash), ("after", last)];
    html! {
        @if known.is_empty() {
            nav.pages aria-label="Pages of changes" {
                a rel="next" href=(url(PATH, project, &state)) { "Further changes →" }
            }
        } @else {
            form method="post" action=(PATH) {
                (token_field(asker))
                (project_field(project))
                input type="hidden" name="known" value=(known);
                input type="hidden" name="after" value=(last);
                button { "Further changes" }
            }
        }
    }
}

fn forms(asker: &Asker, project: &str, typed: &Typed) -> Markup {
    html! {
        h2 { "Compare with a revision or a hash" }
        form.stacked action=(PATH) {
            (project_field(project))
            label for="since" { "Revision" }
            input id="since" name="since" inputmode="numeric" value=(typed.revision);
            label for="hash" { "Hash of the catalog" }
            input id="hash" name="hash" maxlength="64" spellcheck="false" autocomplete="off" value=(typed.hash);
            label for="meta" { "Hash of its metadata, if you have it" }
            input id="meta" name="meta" maxlength="64" spellcheck="false" autocomplete="off" value=(typed.meta_hash);
            button { "Compare" }
        }
        h2 { "Compare with a list of hashes" }
        form.stacked method="post" action=(PATH) {
            (token_field(asker))
            (project_field(project))
            label for="known" { "One entry on each line: its id, its hash, and perhaps the hash of its metadata" }
            textarea id="known" name="known" rows="8" spellcheck="false" required { (typed.known) }
            button { "Compare" }
        }
        p.dim { "A folder is compared on the command line: " code { "pairofcleats instructions diff DIR" } "." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_one_entry_on_each_line() {
        let read = |list| known(list).map_err(|error| error.message);
        assert_eq!(
            read("a 12\n\n  b\t34  56 \r\n"),
            Ok(
                json!([{ "id": "a", "sourceHash": "12" }, { "id": "b", "sourceHash": "34", "metaHash": "56" }])
            )
        );
        for bad in ["a", "a 1\nb 2 3 4"] {
            let message = read(bad).unwrap_err();
            assert!(message.contains(&format!("Line {}", bad.lines().count())), "{message}");
        }
    }
}
