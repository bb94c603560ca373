//! `GET /suggest`: suggests completions of the last word in the search box, as the options of a list that the script shows below it.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde_json::json;

use super::data::{Asker, PageError};
use super::failure;
use crate::http::query::{SentQuery, unique_parameters};
use gate::tools::browse::{COMPLETE_QUERY, QuerySuggestion, Suggestions};

pub(super) const PATH: &str = "/suggest";

/// Definitions and values of facts are counted up to this number.
const COUNTED_MAX: i64 = store::suggestions::COUNTED_MAX;

/// `GET /suggest`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    match load(&asker, sent).await {
        Ok(found) => Html(options(&found.suggestions).into_string()).into_response(),
        Err(error) => (error.status, Html(failure::note(&error).into_string())).into_response(),
    }
}

async fn load(asker: &Asker, sent: SentQuery) -> Result<Suggestions, PageError> {
    let mut parameters = unique_parameters(sent)?;
    let mut arguments = json!({ "query": parameters.remove("q").unwrap_or_default() });
    for (parameter, argument) in [("project", "project_id"), ("repo", "repository")] {
        if let Some(value) = parameters.remove(parameter).filter(|value| !value.is_empty()) {
            arguments[argument] = value.into();
        }
    }
    match asker.operation::<Suggestions>(COMPLETE_QUERY, arguments).await {
        Ok(answered) => Ok(answered.result),
        Err(error) if error.status == StatusCode::NOT_FOUND => Ok(Suggestions::default()),
        Err(error) => Err(error),
    }
}

fn options(suggestions: &[QuerySuggestion]) -> Markup {
    html! {
        @for (at, found) in suggestions.iter().enumerate() {
            li role="option" id=(format!("suggestion-{at}")) data-query=(found.query) aria-selected="false" {
                bdi { code { (found.word) } }
                span.dim {
                    " "
                    @match (&found.help, found.count) {
                        (Some(help), _) => (help),
                        (None, Some(count)) => (counted(&found.kind, count)),
                        (None, None) => (found.kind),
                    }
                }
            }
        }
    }
}

fn counted(kind: &str, count: i64) -> String {
    let unit = match (kind, count) {
        ("definition", 1) => "definition",
        ("definition", _) => "definitions",
        (_, 1) => "chunk",
        _ => "chunks",
    };
    if count == COUNTED_MAX { format!("at least {count} {unit}") } else { format!("{count} {unit}") }
}
