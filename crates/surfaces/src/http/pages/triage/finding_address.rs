//! The address of a finding's page, which the board and the form for decisions need as well.

use super::super::layout::shown_project;
use super::super::links::with_parameters;

pub(in super::super) const PATH: &str = "/triage/finding";

/// Returns the page of a finding.
pub(super) fn url(project: &str, id: &str) -> String {
    with_parameters(PATH, &[("project", shown_project(project)), ("id", id)])
}
