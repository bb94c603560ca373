//! Fuzz targets: the page of a package index, and pip's and netrc's configuration files.

use std::path::PathBuf;

use super::package_page::{NotListed, find_file};
use super::package_sources::PackageSources;
use super::pip_settings::{Environment, PipSettings};
use platform::outbound::{Page, Url};

/// Longest first line that an error may quote, in characters; escaping makes a character up to 8 times as long.
const LINE_CHARS_MAX: usize = 120 * 8;

/// Pages of both formats: the first byte chooses the media type.
#[must_use]
pub fn pages() -> Vec<Vec<u8>> {
    vec![
        b"h<!DOCTYPE html><base href='/f/'><a href=\"tool.whl?a&amp;b#sha256=00\">tool.whl</a><a href='b.whl'>".to_vec(),
        br#"j{"files":[{"filename":"tool.whl","url":"/f/tool.whl","hashes":{"sha256":"00"}}]}"#.to_vec(),
        b"h\n<html><title>Log in</title>".to_vec(),
    ]
}

/// Looks up a file on a page. Quotes of a foreign page must be bounded and printable.
///
/// # Panics
/// If a guarantee is violated.
pub fn page(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else { return };
    let Ok(url) = Url::parse("https://index.example/simple/tool/") else { return };
    let media_type = if *kind == b'j' { "application/json" } else { "text/html" }.to_owned();
    match find_file(&Page { url, media_type, body: body.to_vec() }, "tool.whl") {
        Ok(file) => assert!(file.url.fragment().is_none() || *kind == b'j'),
        Err(NotListed::NoIndexPage(line)) => {
            assert!(
                line.chars().count() <= LINE_CHARS_MAX && !line.chars().any(char::is_control),
                "{line:?}"
            );
        }
        Err(NotListed::Absent) => {}
    }
}

/// Returns seeds: a configuration file of pip and a netrc file, separated by NUL.
#[must_use]
pub fn package_settings() -> Vec<Vec<u8>> {
    vec![
        b"[global]\nindex-url = https://me:pw@a.example/simple\nextra-index-url =\n  https://b.example\n  http://localhost:1/\n\
          trusted-host = a.example:80 [::1]:8\nproxy = me:pw@p:1\n[download]\nfind-links = /w file:///x https://c.example/p\ntimeout = 2\n\
          \0machine a.example login me password pw\ndefault login x password y\n"
            .to_vec(),
        b"[install]\nno-index = yes\ncert: ~/ca.pem\nretries=1 # x\n\0".to_vec(),
    ]
}

/// Reads both files. No error and no description may show a password.
///
/// # Panics
/// If a guarantee is violated.
pub fn read_package_settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pip, netrc) = text.split_once('\0').unwrap_or((&text, ""));
    let environment = Environment::default();
    let Ok(settings) = PipSettings::parse(&environment, &[(PathBuf::from("pip.conf"), pip.to_owned())])
    else {
        return;
    };
    let Ok(sources) = PackageSources::new(None, None, &settings, Some(netrc), &environment) else { return };
    for index in &sources.indexes {
        assert!(index.username().is_empty() && index.password().is_none(), "{index}");
        assert!(index.path().ends_with('/'), "{index}");
    }
    assert!(!settings.no_index || sources.indexes.is_empty());
}
