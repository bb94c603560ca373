//! Addresses of pages: those that are requested, and those to which a page links.

use platform::outbound::Url;

/// The place of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// This page is the last one.
    End,
    /// At this address of the configured server.
    At(Url),
    /// The link leads to another server and is not followed: it would get the token, and could be inside our network.
    Elsewhere,
}

impl Next {
    /// Returns the page to which a page at `url` links, if that is on the server of `root`.
    pub(crate) fn linked(target: &str, url: &Url, root: &Url) -> Self {
        match url.join(target) {
            Ok(mut next) if is_same_server(&next, root) => {
                next.set_fragment(None);
                Self::At(next)
            }
            _ => Self::Elsewhere,
        }
    }
}

/// Returns `true` if two URLs have scheme, host and port in common, and the first has no user and password.
fn is_same_server(url: &Url, root: &Url) -> bool {
    let server =
        |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    server(url) == server(root) && url.username().is_empty() && url.password().is_none()
}

/// Returns the target of the first link with the relation `next` in a `Link` header (RFC 8288).
pub(crate) fn next_link(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some(start) = rest.find('<') {
        let (target, after) = rest[start + 1..].split_once('>')?;
        let parameters = after.split('<').next().unwrap_or_default();
        if parameters.split([';', ',']).any(is_relation_next) {
            return Some(target);
        }
        rest = after;
    }
    None
}

fn is_relation_next(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        name.trim().eq_ignore_ascii_case("rel") && relations.any(|name| name.eq_ignore_ascii_case("next"))
    })
}

/// Returns an address below `root`. A slash in a segment is encoded.
pub(crate) fn below(root: &Url, segments: &[&str], query: &[(&str, &str)]) -> Url {
    let mut url = root.clone();
    // Fails only for URLs without a host, which the settings may not contain.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    // Without pairs, this would still add a `?`.
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

/// Returns the host of `url`, with a port if it is not the usual one; empty without a host.
pub(crate) fn server_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns `url` with another page number.
pub(crate) fn with_page(url: &Url, page: u64) -> Url {
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != "page")
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let mut url = url.clone();
    url.query_pairs_mut().clear().extend_pairs(others).append_pair("page", &page.to_string());
    url
}

/// Returns the page number in `url`; 1 if it has none.
pub(crate) fn page_number(url: &Url) -> u64 {
    let page = url.query_pairs().find(|(name, _)| name == "page");
    page.and_then(|(_, number)| number.parse().ok()).unwrap_or(1)
}

/// Returns the root of an API whose path ends with `suffix`, which the settings may omit.
pub(crate) fn with_suffix(mut configured: Url, suffix: &str) -> Url {
    let path = configured.path().trim_end_matches('/');
    let path = if path.ends_with(suffix) { path.to_owned() } else { format!("{path}{suffix}") };
    configured.set_path(&path);
    configured
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_next_link_is_found() {
        for (header, expected) in [
            (
                r#"<https://h/?page=2>; rel="next", <https://h/?page=9>; rel="last""#,
                Some("https://h/?page=2"),
            ),
            (
                r#"<https://h/?page=1>; rel="prev", <https://h/?page=3>; rel="next""#,
                Some("https://h/?page=3"),
            ),
            (r#"<https://h/?a=1,2>;title="a, b";REL=next"#, Some("https://h/?a=1,2")),
            (r#"<https://h/?page=2>; rel="last next""#, Some("https://h/?page=2")),
            (r#"<https://h/?page=1>; rel="first""#, None),
            (r#"<https://h/?page=2>; rel="nextish""#, None),
            (r#"<https://h/?rel=next>; rel="last""#, None),
            ("<https://h/?page=2", None),
            ("next", None),
            ("", None),
        ] {
            assert_eq!(next_link(header), expected, "{header}");
        }
    }

    #[test]
    fn links_stay_on_the_configured_server() {
        let (root, page) =
            (url("https://git.example/api/v4"), url("https://git.example/api/v4/groups/a/projects"));
        for (target, expected) in [
            ("https://git.example/api/v4/x?page=2#top", "https://git.example/api/v4/x?page=2"),
            ("https://GIT.example:443/x", "https://git.example/x"),
            ("/api/v4/x?page=2", "https://git.example/api/v4/x?page=2"),
            ("?page=2", "https://git.example/api/v4/groups/a/projects?page=2"),
        ] {
            assert_eq!(Next::linked(target, &page, &root), Next::At(url(expected)), "{target}");
        }
        for target in [
            "http://git.example/x",
            "https://git.example:8443/x",
            "https://git.example.evil/x",
            "https://evil@git.example/x",
            "https://u:p@git.example/x",
            "//evil.example/x",
            "https://git.example@evil.example/x",
            "https://169.254.169.254/x",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
        ] {
            assert_eq!(Next::linked(target, &page, &root), Next::Elsewhere, "{target}");
        }
    }

    #[test]
    fn addresses_are_made_of_segments() {
        let root = url("https://git.example/gitlab/api/v4");
        let made =
            below(&root, &["groups", "acme/team", "projects"], &[("per_page", "100"), ("archived", "false")]);
        assert_eq!(
            made.as_str(),
            "https://git.example/gitlab/api/v4/groups/acme%2Fteam/projects?per_page=100&archived=false"
        );
        assert_eq!(
            below(&url("https://git.example"), &["a"], &[("b", "c")]).as_str(),
            "https://git.example/a?b=c"
        );
        assert_eq!(below(&root, &["a"], &[]).as_str(), "https://git.example/gitlab/api/v4/a");
        let third = with_page(&url("https://git.example/x?limit=50&page=2"), 3);
        assert_eq!(third.as_str(), "https://git.example/x?limit=50&page=3");
        assert_eq!((page_number(&third), page_number(&root)), (3, 1));
    }

    #[test]
    fn the_path_of_the_api_may_be_left_out() {
        for configured in ["https://git.example", "https://git.example/", "https://git.example/api/v4/"] {
            assert_eq!(with_suffix(url(configured), "/api/v4").as_str(), "https://git.example/api/v4");
        }
        let below_a_path = with_suffix(url("https://git.example/gitlab/"), "/api/v4");
        assert_eq!(below_a_path.as_str(), "https://git.example/gitlab/api/v4");
    }
}
