//! Notes about an answer: its warnings, where it looked, and what to do if nothing is indexed.

use maud::{Markup, html};

use super::text::message;
use contract::{Coverage, Warning};

/// Renders warnings about the answer.
pub fn warnings(warnings: &[Warning]) -> Markup {
    html! { @for warning in warnings { p.note { (message(&warning.message)) } } }
}

/// Renders where an empty or partial answer looked, and what is not indexed there.
pub(super) fn coverage(coverage: Option<&Coverage>) -> Markup {
    html! { @if let Some(coverage) = coverage { p.note { (message(&coverage.sentence())) } } }
}

/// Explains how to index the first repository.
pub(super) fn nothing_indexed() -> Markup {
    html! {
        p { "Nothing is indexed yet. On the machine of the server:" }
        pre.command { "pairofcleats index PATH" }
    }
}
