//! `/administration/keys`: the API keys, a form that creates a key and shows it once, and their revocation.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde_json::json;

use super::super::data::{Asker, PageError};
use super::super::failure;
use super::super::forms::{SentForm, token_field};
use super::super::layout::Frame;
use super::super::parameters::Parameters;
use super::super::single_use;
use super::super::table::table;
use super::super::text::moment;
use super::tabs;
use crate::http::query::SentQuery;
use contract::ErrorCode;
use gate::tools::admin::keys::{CreatedKey, KeyList, KeySummary, RevokedKey};
use gate::tools::browse::{CREATE_KEY, LIST_KEYS, REVOKE_KEY};
use tenancy::Scope;

pub(in super::super) const PATH: &str = "/administration/keys";

/// The message when the form for a new key is sent a second time.
const CREATED: &str = "The key was created already. It was shown then, and is never shown again: if you do not have it, \
                       revoke it and create another.";

/// Lifetimes that the form offers, the most common one first.
const LIFETIMES: [(&str, &str); 6] = [
    ("90d", "90 days"),
    ("1d", "one day"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("365d", "one year"),
    ("never", "no end"),
];

/// The permissions of each scope.
const SCOPES: [(Scope, &str); 8] = [
    (Scope::Search, "search and read code"),
    (Scope::Index, "build and refresh indexes"),
    (Scope::Triage, "security findings and decisions"),
    (Scope::Admin, "keys, maintenance, metrics"),
    (Scope::Instructions, "read the instruction catalog"),
    (Scope::Curate, "write the instruction catalog"),
    (Scope::Launch, "start launch runs and advance them"),
    (Scope::Publish, "publish the pages of launch runs"),
];

/// `GET /administration/keys`.
pub(in super::super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    match Parameters::read(&asker, sent, &[]) {
        Ok(_) => respond(&asker, StatusCode::OK, None, &NewKeyForm::default()).await,
        Err(error) => failure::page(&asker, asker.default_project(), PATH, &error),
    }
}

/// `POST /administration/keys`: creates a key, or revokes the one that `revoke` names.
pub(in super::super) async fn change(form: SentForm) -> Response {
    let asker = &form.asker;
    if let Some(id) = form.optional("revoke") {
        return match asker.operation::<RevokedKey>(REVOKE_KEY, json!({ "id": id })).await {
            Ok(_) => Redirect::to(PATH).into_response(),
            Err(error) => {
                respond(asker, error.status, Some(&failure::note(&error)), &NewKeyForm::default()).await
            }
        };
    }
    let typed = NewKeyForm::read(&form);
    match form.once(CREATED, create(asker, &typed)).await {
        Ok(key) => respond_created(asker, &key).await,
        Err(error) => respond(asker, error.status, Some(&failure::note(&error)), &typed).await,
    }
}

async fn create(asker: &Asker, typed: &NewKeyForm) -> Result<CreatedKey, PageError> {
    let mut arguments = json!({ "name": typed.name, "scopes": typed.scopes, "expires": typed.expires });
    if !typed.all_projects {
        let ids: Vec<&str> = typed.projects.split([',', ' ']).filter(|id| !id.is_empty()).collect();
        if ids.is_empty() {
            let message = "Name the projects that the key may use, or choose all.";
            return Err(PageError::new(ErrorCode::InvalidRequest, message));
        }
        arguments["projects"] = ids.into();
    }
    Ok(asker.operation::<CreatedKey>(CREATE_KEY, arguments).await?.result)
}

/// The form for a new key, as it was submitted.
#[derive(Debug)]
struct NewKeyForm {
    name: String,
    projects: String,
    all_projects: bool,
    scopes: Vec<String>,
    expires: String,
}

impl Default for NewKeyForm {
    fn default() -> Self {
        Self {
            name: String::new(),
            projects: String::new(),
            all_projects: false,
            scopes: vec![Scope::Search.to_string()],
            expires: LIFETIMES[0].0.to_owned(),
        }
    }
}

impl NewKeyForm {
    fn read(form: &SentForm) -> Self {
        Self {
            name: form.text("name").to_owned(),
            projects: form.text("projects").to_owned(),
            all_projects: form.is_ticked("all_projects"),
            scopes: form.ticked("scope_").map(str::to_owned).collect(),
            expires: form.text("expires").to_owned(),
        }
    }
}

async fn respond(
    asker: &Asker,
    status: StatusCode,
    message: Option<&Markup>,
    typed: &NewKeyForm,
) -> Response {
    match asker.operation::<KeyList>(LIST_KEYS, json!({})).await {
        Ok(answered) => page(asker, status, message, &keys(asker, &answered.result), typed),
        Err(error) => failure::page(asker, asker.default_project(), PATH, &error),
    }
}

/// Shows a new key, even if the keys cannot be listed: no other answer contains it.
async fn respond_created(asker: &Asker, key: &CreatedKey) -> Response {
    let list = match asker.operation::<KeyList>(LIST_KEYS, json!({})).await {
        Ok(answered) => keys(asker, &answered.result),
        Err(error) => failure::note(&error),
    };
    page(asker, StatusCode::OK, Some(&created(key)), &list, &NewKeyForm::default())
}

fn page(
    asker: &Asker,
    status: StatusCode,
    message: Option<&Markup>,
    list: &Markup,
    typed: &NewKeyForm,
) -> Response {
    let frame =
        Frame { section: super::overview::PATH, ..Frame::new(asker, asker.default_project(), "API keys") };
    let content = html! {
        h1 { "API keys" }
        (tabs(asker, PATH))
        @if let Some(message) = message { (message) }
        (list)
        (new_key(asker, typed))
    };
    frame.respond(status, &content)
}

/// Renders the only answer that ever shows the key.
fn created(key: &CreatedKey) -> Markup {
    html! {
        div.note role="status" {
            p { "This is the key. It is shown only now: store it where its user keeps secrets." }
            p { code.secret { (key.key) } " " button.copy type="button" hidden data-copy=(key.key) { "Copy" } }
            @if !key.projects_absent.is_empty() {
                p.dim {
                    "Not yet created: " (key.projects_absent.join(", ")) ". The first index run into a project creates it."
                }
            }
        }
    }
}

fn keys(asker: &Asker, list: &KeyList) -> Markup {
    html! {
        @if list.keys.is_empty() {
            p { "There are no keys. A server that only this machine reaches needs none." }
        } @else {
            // The newest keys are the ones that users look for.
            (table("Keys", &head(), &html! { @for key in list.keys.iter().rev() { (row(asker, key)) } }))
        }
    }
}

fn head() -> Markup {
    html! {
        th scope="col" { "Name" } th scope="col" { "State" } th scope="col" { "Projects" } th scope="col" { "Scopes" }
        th scope="col" { "Last used" } th scope="col" { "Expires" } th scope="col" { span.unseen { "Revoke" } }
    }
}

fn row(asker: &Asker, key: &KeySummary) -> Markup {
    html! {
        tr {
            th scope="row" { bdi { (key.name) } br; code.dim { (key.id) } }
            td { (key.state) }
            td { @match &key.projects { Some(ids) => (ids.join(", ")), None => "all" } }
            td { (key.scopes.join(", ")) }
            td { @match &key.last_used_at { Some(at) => (moment(at)), None => "never" } }
            td { @match &key.expires_at { Some(at) => (moment(at)), None => "never" } }
            td {
                @if key.state == "live" {
                    details {
                        summary { "Revoke" }
                        form method="post" action=(PATH) {
                            (token_field(asker))
                            input type="hidden" name="revoke" value=(key.id);
                            button { "Revoke " bdi { (key.name) } " permanently" }
                        }
                    }
                }
            }
        }
    }
}

fn new_key(asker: &Asker, typed: &NewKeyForm) -> Markup {
    html! {
        h2 { "New key" }
        form.fields method="post" action=(PATH) {
            (token_field(asker))
            (single_use::field())
            label for="name" { "Name" }
            input id="name" name="name" value=(typed.name) required maxlength="100" autocomplete="off"
                placeholder="Who uses it, and from where";
            label for="projects" { "Projects" }
            div {
                input id="projects" name="projects" value=(typed.projects) autocomplete="off" spellcheck="false"
                    placeholder="client-a, client-b";
                label { input type="checkbox" name="all_projects" value="1" checked[typed.all_projects]; " all, also future ones" }
            }
            span id="scopes" { "Scopes" }
            div role="group" aria-labelledby="scopes" {
                @for (scope, meaning) in SCOPES {
                    label.line {
                        input type="checkbox" name=(format!("scope_{scope}")) value="1"
                            checked[typed.scopes.iter().any(|chosen| chosen == scope.as_str())];
                        " " (scope.as_str()) span.dim { ": " (meaning) }
                    }
                }
            }
            label for="expires" { "Lifetime" }
            select id="expires" name="expires" {
                @for (value, label) in LIFETIMES { option value=(value) selected[value == typed.expires] { (label) } }
            }
            button { "Create the key" }
        }
    }
}
