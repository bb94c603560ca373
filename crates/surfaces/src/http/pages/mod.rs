//! The pages: search, files, symbols, repositories, findings, instructions and launch runs for browsers.
//!
//! A page calls the gate like every other surface and renders the answer, so it contains neither rules nor SQL. Each state is a URL that
//! works without scripts; the one script adds keys and copying. Text from repositories only ever becomes text: `maud` escapes it.

mod administration;
mod answer_notes;
mod assets;
mod catalog;
mod code;
mod data;
mod facets;
mod failure;
mod file;
mod find;
mod folder;
mod form_tokens;
mod forms;
mod issuer;
mod layout;
mod line_authors;
mod links;
mod missing;
mod page_error;
mod parameters;
mod paths;
mod raw;
mod repositories;
mod repository_word;
mod result_colours;
mod results;
mod runs;
mod search;
mod sessions;
mod sign_in;
mod single_use;
mod suggest;
mod symbol;
mod symbol_graph;
mod table;
mod text;
mod triage;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{MethodFilter, on};

use super::route::{Operation, Route};

pub(super) use missing::{is_browser, no_page};
pub(super) use sessions::Sessions;
pub(super) use sign_in::redirect as redirect_to_sign_in;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// All pages. [`layout::NAVIGATION`] lists those that the head of each page links to.
pub(super) static PAGES: &[Route] = &[
    page(search::PATH, GET, |method| on(method, search::show)),
    page(suggest::PATH, GET, |method| on(method, suggest::show)),
    page(file::PATH, GET, |method| on(method, file::show)),
    page(raw::PATH, GET, |method| on(method, raw::show)),
    page(folder::PATH, GET, |method| on(method, folder::show)),
    page(find::PATH, GET, |method| on(method, find::show)),
    page(symbol::PATH, GET, |method| on(method, symbol::show)),
    page(repositories::PATH, GET, |method| on(method, repositories::show)),
    page(repositories::PATH, POST, |method| on(method, repositories::change)),
    page(administration::overview::PATH, GET, |method| on(method, administration::overview::show)),
    page(administration::keys::PATH, GET, |method| on(method, administration::keys::show)),
    page(administration::keys::PATH, POST, |method| on(method, administration::keys::change)),
    page(administration::audit::PATH, GET, |method| on(method, administration::audit::show)),
    page(catalog::entries::PATH, GET, |method| on(method, catalog::entries::show)),
    page(catalog::entry::PATH, GET, |method| on(method, catalog::entry::show)),
    page(catalog::remove::PATH, GET, |method| on(method, catalog::remove::ask)),
    page(catalog::remove::PATH, POST, |method| on(method, catalog::remove::remove)),
    page(catalog::changes::PATH, GET, |method| on(method, catalog::changes::show)),
    page(catalog::changes::PATH, POST, |method| on(method, catalog::changes::compare)),
    page(catalog::usage::PATH, GET, |method| on(method, catalog::usage::show)),
    page(catalog::gates::PATH, GET, |method| on(method, catalog::gates::show)),
    page(catalog::checks::PATH, GET, |method| on(method, catalog::checks::show)),
    page(catalog::review::PATH, GET, |method| on(method, catalog::review::show)),
    page(catalog::review::PATH, POST, |method| on(method, catalog::review::review)),
    page(triage::board::PATH, GET, |method| on(method, triage::board::show)),
    page(triage::finding::PATH, GET, |method| on(method, triage::finding::show)),
    page(triage::finding::PATH, POST, |method| on(method, triage::finding::decide)),
    page(runs::list::PATH, GET, |method| on(method, runs::list::show)),
    page(runs::run::PATH, GET, |method| on(method, runs::run::show)),
    page(runs::run::PATH, POST, |method| on(method, runs::run::change)),
    page(runs::question::CANCEL_PATH, GET, |method| on(method, runs::question::ask_cancel)),
    page(runs::question::CANCEL_PATH, POST, |method| on(method, runs::question::cancel)),
    page(runs::question::PUBLISH_PATH, GET, |method| on(method, runs::question::ask_publish)),
    page(runs::question::PUBLISH_PATH, POST, |method| on(method, runs::question::publish)),
    page(runs::artifact::PATH, GET, |method| on(method, runs::artifact::show)),
    page(runs::artifact::RAW_PATH, GET, |method| on(method, runs::artifact::send)),
    public(sign_in::PATH, GET, |method| on(method, sign_in::show)),
    public(sign_in::PATH, POST, |method| on(method, sign_in::sign_in)),
    public(issuer::PATH, GET, |method| on(method, issuer::begin)),
    public(issuer::CALLBACK_PATH, GET, |method| on(method, issuer::finish)),
    public(sign_in::OUT_PATH, POST, |method| on(method, sign_in::sign_out)),
    public(assets::PATH, GET, |method| on(method, assets::send)),
];

type Handler = fn(MethodFilter) -> axum::routing::MethodRouter<std::sync::Arc<gate::app::App>>;

const fn page(path: &'static str, method: MethodFilter, handler: Handler) -> Route {
    Route { path, method, handler, public: false, operation: Operation::Undocumented }
}

const fn public(path: &'static str, method: MethodFilter, handler: Handler) -> Route {
    Route { path, method, handler, public: true, operation: Operation::Undocumented }
}

/// Returns `true` if a route is a page that needs a key: a browser without one is asked to sign in there, and only there does the
/// cookie count.
pub(super) fn is_page(route: &str) -> bool {
    PAGES.iter().any(|page| page.path == route && !page.public)
}

/// Returns `true` if a route is a page, which accepts only what a form of this server sends.
pub(super) fn has_forms(route: &str) -> bool {
    PAGES.iter().any(|page| page.path == route)
}

/// Headers of every page: it loads nothing from elsewhere, and must not be embedded elsewhere or sniffed; other sites get no referrer.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer`, browsers would send the forms of the pages with `Origin: null`, which the server refuses.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Adds the headers of pages to their answers.
pub(super) async fn add_headers(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let is_ours = route.is_some_and(|route| PAGES.iter().any(|page| page.path == route));
    let response = next.run(request).await;
    if is_ours { with_headers(response) } else { response }
}

fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The content of a page depends on the caller and on what is indexed.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
    response
}
