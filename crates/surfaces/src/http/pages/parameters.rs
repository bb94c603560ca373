//! The parameters of a page about a project, and addresses with them.

use std::collections::BTreeMap;

use super::data::{Asker, PageError};
use super::layout::shown_project;
use super::links::with_parameters;
use crate::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, echo};

/// The parameters of a page. An empty one counts as absent, because a form sends its empty fields.
#[derive(Debug)]
pub struct Parameters {
    /// The project that the page is about.
    pub project: String,
    values: BTreeMap<String, String>,
}

impl Parameters {
    /// Reads the query string of a page that has the parameters `known` and `project`.
    ///
    /// # Errors
    /// `INVALID_REQUEST` for other parameters, and for one that is sent twice.
    pub fn read(asker: &Asker, sent: SentQuery, known: &[&str]) -> Result<Self, PageError> {
        let mut values = unique_parameters(sent)?;
        values.retain(|_, value| !value.is_empty());
        let project = values.remove("project").unwrap_or_else(|| asker.default_project().to_owned());
        if let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) {
            let message = format!("The page has no parameter `{}`.", echo(name));
            return Err(PageError::new(ErrorCode::InvalidRequest, message));
        }
        Ok(Self { project, values })
    }

    /// Returns the value of a parameter; `None` if it was not sent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns the value of a parameter; empty if it was not sent.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}

/// Returns the address of a page about a project.
#[must_use]
pub fn url(path: &str, project: &str, parameters: &[(&str, &str)]) -> String {
    with_parameters(path, &[&[("project", shown_project(project))], parameters].concat())
}
