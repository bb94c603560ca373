//! Addresses from which runs are started: product pages, and repositories on GitHub. They are parsed here and never requested.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use contract::{ErrorCode, Fault, RepositoryAddress, echo};
use serde::Deserialize;
use serde_json::json;

use crate::allowed_paths::is_portable;
use crate::config::{LOCALE_DEFAULT, Platform, Section};

/// The hosts and platforms that every installation knows.
const TABLE: &str = include_str!("sites.toml");
/// Longest address that is read, in bytes.
const URL_BYTES_MAX: usize = 2000;
/// Longest name of a product in paths.
const SLUG_BYTES_MAX: usize = 64;
/// Longest names of owners and of repositories on GitHub.
const OWNER_BYTES_MAX: usize = 39;
const REPOSITORY_BYTES_MAX: usize = 100;
/// The host of repositories.
const GITHUB: &str = "github.com";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    hosts: BTreeMap<String, Section>,
    platforms: BTreeMap<String, Platform>,
}

fn table() -> &'static Table {
    static TABLE_READ: LazyLock<Table> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());
    &TABLE_READ
}

/// Returns the platform that a lower-case word names.
#[must_use]
pub fn platform_named(word: &str) -> Option<Platform> {
    table().platforms.get(word).copied()
}

/// Reads the setting `launch.product_hosts`, which maps hosts to names of sections.
///
/// # Errors
/// `INVALID_INPUT` for the first entry that cannot be used.
pub fn product_hosts(setting: &BTreeMap<String, String>) -> Result<BTreeMap<String, Section>, Fault> {
    let invalid = |host: &str, problem: String| {
        Fault::new(ErrorCode::InvalidInput, format!("launch.product_hosts: `{}`: {problem}.", echo(host)))
            .with_hint("Correct the setting, for example { \"docs.example.com\" = \"docs\" }; docs/launch.md describes it.")
    };
    let read = setting.iter().map(|(host, name)| {
        if !is_host(host) || host.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(invalid(host, "it is not the name of a host in lower case".to_owned()));
        }
        let section = Section::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Section::ALL.iter().map(|section| section.as_str()).collect();
            invalid(host, format!("its section is not one of {}", known.join(", ")))
        })?;
        Ok((host.clone(), section))
    });
    read.collect()
}

/// The facts about a product that the address of its page contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductPage {
    /// The host.
    pub site: String,
    /// The section of the host.
    pub section: Section,
    /// The product, as paths name it.
    pub product_slug: String,
    /// The platform.
    pub platform: Platform,
    /// The language.
    pub locale: String,
}

impl ProductPage {
    /// Reads the address of a page on a known host, or on one of `more`.
    ///
    /// # Errors
    /// `INVALID_URL` if it is malformed or has a different form from the pages of its host; `UNSUPPORTED_SITE` for another host.
    pub fn parse(url: &str, more: &BTreeMap<String, Section>) -> Result<Self, Fault> {
        let invalid = |problem: &str| invalid_url("url", problem);
        let PlainUrl { host, segments } = PlainUrl::parse(url).map_err(invalid)?;
        let known = &table().hosts;
        let Some(section) = more.get(&host).or_else(|| known.get(&host)).copied() else {
            let hosts: Vec<&String> = more.keys().chain(known.keys()).collect();
            let message = format!("`{}` is not a site of product pages.", echo(&host));
            return Err(Fault::new(ErrorCode::UnsupportedSite, message)
                .with_details(json!({ "field": "url", "site": echo(&host), "supported_sites": hosts }))
                .with_hint(
                    "Name a page of one of `supported_sites`; the operator adds sites as launch.product_hosts.",
                ));
        };
        let form = form_of(section);
        let (product, locale, platform, rest) = match (section, segments.as_slice()) {
            // Without a language, the platform is the second part.
            (Section::Blog, [locale, product, platform, rest @ ..])
                if is_locale(locale) && platform_named(platform).is_some() =>
            {
                (*product, *locale, *platform, rest)
            }
            (Section::Blog, [product, platform, rest @ ..]) => (*product, LOCALE_DEFAULT, *platform, rest),
            (_, [product, locale, platform, rest @ ..]) => (*product, *locale, *platform, rest),
            _ => return Err(invalid(&format!("pages of this site have the form {form}"))),
        };
        let pages_max = usize::from(!matches!(section, Section::Products | Section::Reference));
        if rest.len() > pages_max {
            return Err(invalid(&format!("pages of this site have the form {form}")));
        }
        if !is_slug(product) || !is_portable(product) {
            return Err(invalid("the product is not a word of lower-case letters, digits and single `-`"));
        }
        if !is_locale(locale) {
            return Err(invalid("the language is not one such as `en` or `pt-br`"));
        }
        let platform = platform_named(platform)
            .ok_or_else(|| invalid("the platform is not one such as `python`, `java` or `net`"))?;
        let (product_slug, locale) = (product.to_owned(), locale.to_owned());
        Ok(Self { site: host, section, product_slug, platform, locale })
    }
}

/// The form of the addresses of pages.
fn form_of(section: Section) -> &'static str {
    match section {
        Section::Products | Section::Reference => "https://HOST/PRODUCT/LOCALE/PLATFORM/",
        Section::Docs | Section::Kb => "https://HOST/PRODUCT/LOCALE/PLATFORM/PAGE/, where PAGE may be absent",
        Section::Blog => "https://HOST/LOCALE/PRODUCT/PLATFORM/POST/, where LOCALE and POST may be absent",
    }
}

/// A repository on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubRepository {
    /// Its owner.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// Its address, in the one spelling that it has everywhere.
    pub address: RepositoryAddress,
}

impl GithubRepository {
    /// Reads `https://github.com/OWNER/NAME`, also with `.git` or `/` at the end.
    ///
    /// # Errors
    /// `INVALID_URL` for everything else.
    pub fn parse(url: &str) -> Result<Self, Fault> {
        let invalid = |problem: &str| invalid_url("github_repo_url", problem);
        let PlainUrl { host, segments } = PlainUrl::parse(url).map_err(invalid)?;
        if host != GITHUB {
            return Err(invalid("its host is not github.com"));
        }
        let [owner, name] = segments.as_slice() else {
            return Err(invalid("it does not have the form https://github.com/OWNER/NAME"));
        };
        let name = name.strip_suffix(".git").unwrap_or(name);
        let address = RepositoryAddress::parse(&format!("https://{GITHUB}/{owner}/{name}"));
        let is_named = is_owner(owner) && is_repository_name(name);
        let address = address.and_then(Result::ok).filter(|_| is_named);
        let address = address
            .ok_or_else(|| invalid("its owner or its repository has a name that GitHub does not allow"))?;
        Ok(Self { owner: (*owner).to_owned(), name: name.to_owned(), address })
    }
}

/// An address of plain parts: nothing in it can mean something else to another program.
struct PlainUrl<'a> {
    /// In lower case.
    host: String,
    /// The parts of the path.
    segments: Vec<&'a str>,
}

impl<'a> PlainUrl<'a> {
    fn parse(url: &'a str) -> Result<Self, &'static str> {
        const SCHEME: &str = "https://";
        if url.len() > URL_BYTES_MAX {
            return Err("it is longer than 2,000 bytes");
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err("it has spaces, backslashes or characters beyond ASCII");
        }
        let rest = match url.split_at_checked(SCHEME.len()) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => rest,
            _ => return Err("it does not begin with https://"),
        };
        if rest.contains(['?', '#']) {
            return Err("it has a query or a fragment");
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err("it contains a user or a password");
        }
        if authority.contains(':') {
            return Err("it names a port");
        }
        if !is_host(authority) {
            return Err("its host is not the name of a host");
        }
        if path.contains(['%', ';']) {
            return Err("its path has encoded characters or `;`");
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('/').collect() };
        if segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
            return Err("its path has an empty part, `.` or `..`");
        }
        Ok(Self { host: authority.to_ascii_lowercase(), segments })
    }
}

/// The fault of an address that cannot be used. It does not repeat the address, which may contain a password by mistake.
fn invalid_url(field: &str, problem: &str) -> Fault {
    Fault::new(ErrorCode::InvalidUrl, format!("The address cannot be used: {problem}."))
        .with_details(json!({ "field": field, "problem": problem }))
        .with_hint("Correct the address, or start the run with `launch_start_run`.")
}

/// Returns `true` if a text consists of labels of letters, digits and `-`, separated by dots.
fn is_host(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(is_plain)
    };
    text.len() <= 253 && text.contains('.') && text.split('.').all(is_part)
}

/// Returns `true` if a text can name a product or a family in paths.
pub(crate) fn is_slug(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= SLUG_BYTES_MAX && text.split('-').all(|part| !part.is_empty() && part.bytes().all(is_plain))
}

/// Returns `true` if a text is a language with an optional region or script.
fn is_locale(text: &str) -> bool {
    let (language, region) =
        text.split_once('-').map_or((text, None), |(language, region)| (language, Some(region)));
    let is_region = |region: &str| {
        (2..=8).contains(&region.len()) && region.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    language.len() == 2
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && region.is_none_or(is_region)
}

fn is_owner(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=OWNER_BYTES_MAX).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_plain)
}

fn is_repository_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=REPOSITORY_BYTES_MAX).contains(&text.len())
        && !matches!(text, "." | "..")
        && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests;
