//! Resource URIs of indexed files: `repo://{repository}/{+path}{?project}`.

use std::fmt;

use percent_encoding::utf8_percent_encode;

use crate::uri_encoding::{PATH, UNRESERVED};
use gate::module::uri_decoded;

/// The template for files in the session's project, or else in the default workspace.
pub(super) const TEMPLATE: &str = "repo://{repository}/{+path}";
/// The template for files in a named project.
pub(super) const TEMPLATE_WITH_PROJECT: &str = "repo://{repository}/{+path}{?project}";

/// The template for symbols in the session's project, or else in the default workspace.
pub(super) const SYMBOL_TEMPLATE: &str = "symbol://{repository}/{+symbol}";

const SCHEME: &str = "repo://";
const SYMBOL_SCHEME: &str = "symbol://";
const PROJECT: &str = "?project=";

/// The parts of a URI; their values are validated where they are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceUri {
    /// Name of the repository.
    pub(super) repository: String,
    /// Path relative to the repository.
    pub(super) path: String,
    /// Project, if the URI names one.
    pub(super) project: Option<String>,
}

impl ResourceUri {
    /// Parses a URI.
    ///
    /// An unencoded `#` or `?` belongs to the path unless it begins `?project=`, because clients expand `{+path}` differently and
    /// file names may contain these characters.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(super) fn parse(uri: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = uri.split_at_checked(SCHEME.len()).unwrap_or((uri, ""));
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err("The URI does not start with `repo://`.");
        }
        let (repository, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (path, project) = match rest.rsplit_once(PROJECT) {
            Some((path, project)) => (path, Some(uri_decoded(project)?)),
            None => (rest, None),
        };
        if repository.is_empty() || path.is_empty() {
            return Err("The URI has no repository or no path.");
        }
        Ok(Self { repository: uri_decoded(repository)?, path: uri_decoded(path)?, project })
    }
}

/// Parses the repository and the symbol of a `symbol://` URI; `None` for other URIs.
///
/// # Errors
/// The reason, as a sentence.
pub(super) fn parse_symbol(uri: &str) -> Option<Result<(String, String), &'static str>> {
    let (scheme, rest) = uri.split_at_checked(SYMBOL_SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SYMBOL_SCHEME) {
        return None;
    }
    let (repository, symbol) = rest.split_once('/').unwrap_or((rest, ""));
    if repository.is_empty() || symbol.is_empty() {
        return Some(Err("The URI has no repository or no symbol."));
    }
    Some(uri_decoded(repository).and_then(|repository| Ok((repository, uri_decoded(symbol)?))))
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (repository, path) =
            (utf8_percent_encode(&self.repository, UNRESERVED), utf8_percent_encode(&self.path, PATH));
        write!(f, "{SCHEME}{repository}/{path}")?;
        match &self.project {
            Some(project) => write!(f, "{PROJECT}{}", utf8_percent_encode(project, UNRESERVED)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn uri(repository: &str, path: &str, project: Option<&str>) -> ResourceUri {
        ResourceUri { repository: repository.into(), path: path.into(), project: project.map(str::to_owned) }
    }

    #[test]
    fn what_clients_expand_is_read() {
        for (text, expected) in [
            ("repo://shop/src/main.rs", uri("shop", "src/main.rs", None)),
            ("REPO://shop/a?project=client-a", uri("shop", "a", Some("client-a"))),
            ("repo://my%20shop/a%20b/%C3%BC.md", uri("my shop", "a b/ü.md", None)),
            ("repo://my shop/a b/ü.md", uri("my shop", "a b/ü.md", None)),
            ("repo://shop/what?.md", uri("shop", "what?.md", None)),
            ("repo://shop/c#/x?.cs?project=p", uri("shop", "c#/x?.cs", Some("p"))),
            ("repo://shop/%2e%2e/x", uri("shop", "../x", None)),
            ("repo://shop//etc/passwd", uri("shop", "/etc/passwd", None)),
        ] {
            assert_eq!(ResourceUri::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn symbols_are_read_in_every_spelling() {
        let pair = |repository: &str, symbol: &str| Some(Ok((repository.to_owned(), symbol.to_owned())));
        assert_eq!(parse_symbol("symbol://shop/Till.open"), pair("shop", "Till.open"));
        assert_eq!(
            parse_symbol("symbol://my%20shop/src/a.py:Till%23open"),
            pair("my shop", "src/a.py:Till#open")
        );
        assert_eq!(parse_symbol("repo://shop/a"), None);
        for text in ["symbol://", "symbol://shop", "symbol://shop/", "symbol:///x", "symbol://shop/%zz"] {
            assert!(parse_symbol(text).is_some_and(|parsed| parsed.is_err()), "{text}");
        }
    }

    #[test]
    fn invalid_uris_are_refused() {
        for text in
            ["", "repo:", "repo://", "repo://shop", "repo://shop/", "repo:///x", "file:///x", "repö://a/b"]
        {
            assert!(ResourceUri::parse(text).is_err(), "{text}");
        }
        for text in
            ["repo://shop/100%", "repo://shop/%zz", "repo://shop/%ff", "repo://%/a", "repo://a/b?project=%"]
        {
            assert!(ResourceUri::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_name_and_path_comes_back(repository in "[^/]{1,9}|\\PC{1,9}", path in ".{1,20}", project in "[a-z0-9-]{1,9}") {
            for project in [None, Some(project.as_str())] {
                let given = uri(&repository, &path, project);
                let text = given.to_string();
                prop_assert!(text.is_ascii());
                prop_assert_eq!(ResourceUri::parse(&text), Ok(given));
            }
        }

        #[test]
        fn nothing_makes_it_panic(text in ".{0,40}") {
            let _ = ResourceUri::parse(&text);
            let _ = ResourceUri::parse(&format!("repo://{text}"));
        }
    }
}
