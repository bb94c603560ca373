//! The answer to a browser for an address without a page, or a method that a page does not support. Programs get JSON there.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::html;

use super::data::Asker;
use super::layout::Frame;
use super::{repositories, search};
use gate::app::App;

/// Checks whether the client is a browser, which accepts HTML and says so.
pub(in super::super) fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("text/html")
    })
}

/// Responds with a page that reports the error, with the status of the answer.
pub(in super::super) async fn no_page(app: &Arc<App>, request: Request, status: StatusCode) -> Response {
    let mut parts = request.into_parts().0;
    let asker = match Asker::from_request_parts(&mut parts, app).await {
        Ok(asker) => asker,
        Err(rejection) => return rejection.into_response(),
    };
    let title = if status == StatusCode::NOT_FOUND {
        "There is no such page"
    } else {
        "This page cannot be asked for in this way"
    };
    let content = html! {
        h1 { (title) }
        p { "Go on with the " a href=(search::PATH) { "search" } " or the " a href=(repositories::PATH) { "repositories" } "." }
    };
    super::with_headers(Frame::new(&asker, asker.default_project(), title).respond(status, &content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_client_that_accepts_html_is_a_browser() {
        let asks = |accept: &'static str| {
            is_browser(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(asks("text/html,application/xhtml+xml,*/*;q=0.8") && asks("a/b, Text/HTML;q=0.9"));
        assert!(!asks("*/*") && !asks("application/json, text/event-stream") && !asks("text/htmlx"));
        assert!(!is_browser(&HeaderMap::new()));
    }
}
