//! Renders a page, or a part of one, that cannot be shown.

use axum::response::Response;
use maud::{Markup, html};

use super::data::{Asker, PageError};
use super::layout::Frame;
use super::text::message;

/// Responds with a whole page that shows an error.
pub fn page(asker: &Asker, project: &str, section: &str, error: &PageError) -> Response {
    let frame = Frame { section, ..Frame::new(asker, project, "Not shown") };
    frame.respond(error.status, &html! { h1 { "This page cannot be shown" } (note(error)) })
}

/// Renders the error in place of the content.
#[must_use]
pub fn note(error: &PageError) -> Markup {
    html! {
        div.note.bad role="alert" {
            p { (message(&error.message)) " " code { (error.code) } }
            @if let Some(hint) = &error.hint { p.dim { (message(hint)) } }
        }
    }
}
