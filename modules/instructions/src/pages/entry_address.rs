//! The address of an entry's page, which other pages of the catalog link to.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::paths::CATALOG;
use surfaces::http::pages::frame::{self as pages, Asker, PageError, Parameters, encoded, no_such_address};
use surfaces::http::routing::SentQuery;

/// Returns the page of an entry.
pub(super) fn url(project: &str, id: &str) -> String {
    pages::url(&path(id), project, &[])
}

/// Returns the path of an entry's page.
pub(super) fn path(id: &str) -> String {
    format!("{CATALOG}/entries/{}", encoded(id))
}

/// Reads the address of a page about an entry.
pub(super) fn read(
    asker: &Asker,
    id: Result<Path<String>, PathRejection>,
    sent: SentQuery,
) -> Result<(Parameters, String), PageError> {
    let Path(id) = id.map_err(|_| no_such_address())?;
    Ok((Parameters::read(asker, sent, &[])?, id))
}
