//! The pages for browsers, and what the pages of modules are made with: [`frame`].
//!
//! A page calls the gate like every other surface and renders the answer, so it contains neither rules nor SQL. Each state is a URL that
//! works without scripts; the one script adds keys and copying. Text from repositories only ever becomes text: `maud` escapes it.

pub(crate) mod administration;
mod answer_notes;
mod assets;
mod code;
mod data;
mod external_link;
mod facets;
pub mod failure;
mod file;
mod find;
mod folder;
mod form_tokens;
mod forms;
mod found_code;
pub mod frame;
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
mod search;
mod sessions;
mod sign_in;
mod single_use;
mod suggest;
mod symbol;
mod symbol_graph;
mod table;
mod text;

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{MethodFilter, on};

use super::route::{Operation, Route, RouteTable};

pub(super) use missing::{is_browser, no_page};
pub(crate) use paths::{REPOSITORIES, SEARCH};
pub(super) use sessions::Sessions;
pub(super) use sign_in::redirect as redirect_to_sign_in;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The pages of the server itself: signing in, and the files that all pages load.
pub(super) static PAGES: &[Route] = &[
    public(sign_in::PATH, GET, |method| on(method, sign_in::show)),
    public(sign_in::PATH, POST, |method| on(method, sign_in::sign_in)),
    public(issuer::PATH, GET, |method| on(method, issuer::begin)),
    public(issuer::CALLBACK_PATH, GET, |method| on(method, issuer::finish)),
    public(sign_in::OUT_PATH, POST, |method| on(method, sign_in::sign_out)),
    public(assets::PATH, GET, |method| on(method, assets::send)),
];

/// The pages that search and show code.
pub(crate) const SEARCH_PAGES: &[Route] = &[
    page(search::PATH, GET, |method| on(method, search::show)),
    page(suggest::PATH, GET, |method| on(method, suggest::show)),
    page(file::PATH, GET, |method| on(method, file::show)),
    page(raw::PATH, GET, |method| on(method, raw::show)),
    page(folder::PATH, GET, |method| on(method, folder::show)),
    page(find::PATH, GET, |method| on(method, find::show)),
    page(symbol::PATH, GET, |method| on(method, symbol::show)),
    page(repositories::PATH, GET, |method| on(method, repositories::show)),
    page(repositories::PATH, POST, |method| on(method, repositories::change)),
];

/// A function that creates the handler of a page for a method.
type Handler = fn(MethodFilter) -> axum::routing::MethodRouter<Arc<gate::app::App>>;

/// A page that needs a key.
pub const fn page(path: &'static str, method: MethodFilter, handler: Handler) -> Route {
    Route { path, method, handler, public: false, operation: Operation::Undocumented }
}

/// A page that everyone may see.
const fn public(path: &'static str, method: MethodFilter, handler: Handler) -> Route {
    Route { path, method, handler, public: true, operation: Operation::Undocumented }
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
pub(super) async fn add_headers(
    State(table): State<Arc<RouteTable>>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let is_ours = route.is_some_and(|route| table.has_forms(route));
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
