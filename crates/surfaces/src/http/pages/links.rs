//! Addresses of the pages.

use percent_encoding::utf8_percent_encode;

use super::paths::SEARCH;
use crate::uri_encoding::{PATH, UNRESERVED};

/// A folder or file of a repository.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The project.
    pub project: &'a str,
    /// The name of the repository.
    pub repository: &'a str,
    /// The path relative to the repository.
    pub path: &'a str,
}

impl Place<'_> {
    /// Returns the page of the file.
    #[must_use]
    pub fn file(&self) -> String {
        let Self { project, repository, path } = self;
        format!("/p/{}/r/{}/-/{}", encoded(project), encoded(repository), utf8_percent_encode(path, PATH))
    }

    /// Returns the page of the file, at a line.
    #[must_use]
    pub fn line(&self, line: u32) -> String {
        line_of(&self.file(), line)
    }

    /// Returns the address of the file as plain text.
    pub(super) fn raw(&self) -> String {
        let Self { project, repository, path } = self;
        format!("/p/{}/r/{}/raw/{}", encoded(project), encoded(repository), utf8_percent_encode(path, PATH))
    }

    /// Returns the page that finds files of the repository.
    pub(super) fn find(&self) -> String {
        format!("/p/{}/r/{}/find", encoded(self.project), encoded(self.repository))
    }

    /// Returns the page of a folder; the path is empty for the repository itself.
    pub(super) fn folder(&self) -> String {
        let Self { project, repository, path } = self;
        let folder = format!("/p/{}/r/{}/tree", encoded(project), encoded(repository));
        if path.is_empty() { folder } else { format!("{folder}?path={}", encoded(path)) }
    }
}

/// The last line that the first part of a file shows, unless its lines are very long.
const LINES_OF_FIRST_PART: u32 = 1000;

/// Returns the address of a line on the page of a file, which may have parameters. A file may not fit on a page, so the address
/// of a late line also selects the part that contains it.
pub(super) fn line_of(file: &str, line: u32) -> String {
    let separator = if file.contains('?') { '&' } else { '?' };
    match line > LINES_OF_FIRST_PART {
        true => format!("{file}{separator}line={line}#L{line}"),
        false => format!("{file}#L{line}"),
    }
}

/// Returns an address with parameters; those without a value are omitted.
#[must_use]
pub fn with_parameters(path: &str, parameters: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = parameters
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// Encodes a text as one segment of a path, or as the value of a parameter.
#[must_use]
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// Encodes a text as several segments of a path; its slashes separate them.
#[must_use]
pub fn encoded_path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// Returns the project as it appears in addresses: the default workspace needs no name.
#[must_use]
pub fn shown_project(project: &str) -> &str {
    if project == "default" { "" } else { project }
}

/// Returns the address of a search for code like a chunk.
pub(super) fn similar_url(project: &str, chunk: i64) -> String {
    search_url(project, &format!("chunk:{chunk}"))
}

/// Returns the address of a search with another query.
#[must_use]
pub fn search_url(project: &str, query: &str) -> String {
    with_parameters(SEARCH, &[("q", query), ("project", shown_project(project))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_inside_their_segment() {
        let place = Place { project: "a-b", repository: "x/../y", path: "src/a?b#c/%2e\"<é>.rs" };
        assert_eq!(place.file(), "/p/a-b/r/x%2F..%2Fy/-/src/a%3Fb%23c/%252e%22%3C%C3%A9%3E.rs");
        assert_eq!(place.line(7), format!("{}#L7", place.file()));
        assert_eq!(place.line(7000), format!("{}?line=7000#L7000", place.file()));
        let at_tag = with_parameters(&place.file(), &[("revision", "v1/#")]);
        assert_eq!(line_of(&at_tag, 7000), format!("{}?revision=v1%2F%23&line=7000#L7000", place.file()));
        assert_eq!(place.folder(), "/p/a-b/r/x%2F..%2Fy/tree?path=src%2Fa%3Fb%23c%2F%252e%22%3C%C3%A9%3E.rs");
    }

    #[test]
    fn empty_parameters_are_left_out() {
        assert_eq!(with_parameters("/", &[("q", ""), ("repo", "")]), "/");
        assert_eq!(
            with_parameters("/", &[("q", "a&b=c d"), ("repo", ""), ("case", "1")]),
            "/?q=a%26b%3Dc%20d&case=1"
        );
    }
}
