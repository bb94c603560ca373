//! The address of a finding's page, which the board and the form for decisions need as well.

use surfaces::http::pages::frame::{shown_project, with_parameters};

pub(super) const PATH: &str = "/triage/finding";

/// Returns the page of a finding.
pub(super) fn url(project: &str, id: &str) -> String {
    with_parameters(PATH, &[("project", shown_project(project)), ("id", id)])
}
