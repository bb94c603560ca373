//! The hits of a search as a part of a page about something else.

use maud::{Markup, html};
use serde_json::json;

use super::data::{Asker, PageError};
use super::links::search_url;
use super::result_colours::colours;
use super::results::{Results, ResultsView};
use crate::marks::Marks;
use gate::tools::browse::SEARCH_PAGE;

/// Searches code and documents of a project, and renders the best `top` hits; `None` if there are none. A hit that names no
/// repository is from `repository`.
///
/// # Errors
/// The error of the search.
pub async fn find_code(
    asker: &Asker,
    project: &str,
    repository: &str,
    query: &str,
    top: usize,
) -> Result<Option<Markup>, PageError> {
    let arguments = json!({ "query": query, "project_id": project, "repoPath": "*", "top": top });
    let results = asker.operation::<Results>(SEARCH_PAGE, arguments).await?.result;
    if results.hits.is_empty() {
        return Ok(None);
    }
    let colours = colours(asker, &results.parts(), &results.sources).await;
    let marks = Marks::of_query(query);
    let view = ResultsView { project, repository, marks: &marks, colours: &colours };
    Ok(Some(html! {
        p { a href=(search_url(project, query)) { "All places that name it" } }
        (view.hits(&results.hits))
    }))
}
