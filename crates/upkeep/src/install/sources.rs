//! Download sources: URLs that the settings allow, and any URL that the operator gives locally.

use contract::config::{AllowedDownload, Downloads};
use contract::{ErrorCode, Fault};
use platform::disk_space::DiskSpace;
use platform::outbound::{DownloadRequest, Url, http_url, https_or_loopback_url};

/// Longest name of a source, in bytes.
const NAME_BYTES_MAX: usize = 50;
/// Maximum number of sources in one call.
const SOURCES_MAX: usize = 16;

/// A file that may be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name under which it is installed.
    pub name: String,
    /// Its address.
    pub url: Url,
    /// The sha256 that the operator pinned, if any, hexadecimal.
    pub sha256: Option<String>,
}

impl Source {
    /// Returns the download request, without a limit on free disk space. `resume` continues an interrupted download.
    #[must_use]
    pub fn download(&self, settings: &Downloads, resume: bool) -> DownloadRequest {
        DownloadRequest {
            url: self.url.clone(),
            bytes_max: settings.bytes_max,
            expected: None,
            timeout_ms: settings.timeout_ms,
            redirects_max: settings.redirects_max,
            resume,
            etag: None,
            last_modified: None,
            disk_space: DiskSpace::default(),
        }
    }

    /// Compares the hash of a download with the pinned one; false if none is pinned.
    ///
    /// # Errors
    /// `DOWNLOAD_VERIFY_FAILED` if the hashes differ.
    pub fn verify(&self, sha256: &str) -> Result<bool, Fault> {
        let Some(expected) = &self.sha256 else { return Ok(false) };
        if expected.eq_ignore_ascii_case(sha256) {
            return Ok(true);
        }
        let message = format!("The download `{}` is not the expected file: its sha256 differs.", self.name);
        Err(Fault::new(ErrorCode::DownloadVerifyFailed, message)
            .with_hint(
                "Check the address; if the file was replaced on purpose, update its sha256 in `downloads.allow`.",
            )
            .with_details(serde_json::json!({ "name": self.name, "expected": expected, "actual": sha256 })))
    }
}

/// Parses `sources`: each is `name=url` or the name of an allowed source. `is_operator` is true for the operator on the
/// command line or over stdio, who may name any HTTPS URL and any URL of this machine.
///
/// # Errors
/// `INVALID_REQUEST`, `INVALID_URL`; `FORBIDDEN` for a URL that is not allowed; `DOWNLOAD_VERIFY_FAILED` if the
/// settings require a hash and none is pinned.
pub fn parse_sources(
    settings: &Downloads,
    sources: &[String],
    is_operator: bool,
) -> Result<Vec<Source>, Fault> {
    if sources.len() > SOURCES_MAX {
        return Err(invalid(format!("A call may name at most {SOURCES_MAX} addresses.")));
    }
    sources.iter().map(|text| parse_source(settings, text.trim(), is_operator)).collect()
}

fn parse_source(settings: &Downloads, text: &str, is_operator: bool) -> Result<Source, Fault> {
    let (name, address) =
        text.split_once('=').map_or((text, None), |(name, url)| (name.trim(), Some(url.trim())));
    check_name(name)?;
    let is_requested = |allowed: &&AllowedDownload| match address {
        Some(address) => allowed.url == address && allowed.name == name,
        None => allowed.name == name,
    };
    let invalid_url = |problem: platform::outbound::HttpError| {
        Fault::new(ErrorCode::InvalidUrl, format!("`{name}`: {problem}."))
            .with_hint("Write name=https://… ; plain http is allowed only to this machine.")
    };
    if let Some(allowed) = settings.allow.iter().find(is_requested) {
        let url = http_url(&allowed.url).map_err(invalid_url)?;
        let source = Source { name: name.to_owned(), url, sha256: allowed.sha256.clone() };
        return require_hash(settings, source);
    }
    let Some(address) = address else {
        return Err(invalid(format!("`{name}` is not an allowed download."))
            .with_hint("Write name=https://…, or list it in `downloads.allow` of the configuration."));
    };
    if !is_operator {
        let message = format!("The address of `{name}` is not among the allowed downloads.");
        return Err(Fault::new(ErrorCode::Forbidden, message).with_hint(
            "Ask the operator to list it in `downloads.allow`, or to download it on the command line.",
        ));
    }
    let url = https_or_loopback_url(address).map_err(invalid_url)?;
    require_hash(settings, Source { name: name.to_owned(), url, sha256: None })
}

/// Refuses a source without a pinned hash if the settings require one.
fn require_hash(settings: &Downloads, source: Source) -> Result<Source, Fault> {
    if source.sha256.is_none() && settings.require_hash {
        let message = format!("The sha256 of `{}` is not known, and the operator requires one.", source.name);
        return Err(Fault::new(ErrorCode::DownloadVerifyFailed, message)
            .with_hint("List it with its sha256 in `downloads.allow`, or unset `downloads.require_hash`."));
    }
    Ok(source)
}

/// Checks that a name is safe as a file name.
///
/// # Errors
/// `INVALID_REQUEST`.
fn check_name(name: &str) -> Result<(), Fault> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts && name.len() <= NAME_BYTES_MAX && name.chars().all(fits) {
        return Ok(());
    }
    Err(invalid(format!("`{}` is not a valid name.", name.escape_debug()))
        .with_hint("A name has up to 50 lower-case letters, digits, `-` and `_`: medicine=https://…"))
}

fn invalid(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(require_hash: bool) -> Downloads {
        let allowed = |name: &str, url: &str, sha256: Option<&str>| AllowedDownload {
            name: name.into(),
            url: url.into(),
            sha256: sha256.map(str::to_owned),
        };
        Downloads {
            allow: vec![
                allowed("medicine", "https://words.example/m.txt", Some("AB")),
                allowed("inside", "http://intranet/w.txt", None),
            ],
            require_hash,
            bytes_max: 1,
            timeout_ms: 1,
            redirects_max: 1,
            unpacked_bytes_max: 1,
            entry_bytes_max: 1,
            entries_max: 1,
            probe_ms: 1,
        }
    }

    fn code(require_hash: bool, text: &str, is_operator: bool) -> Option<ErrorCode> {
        parse_sources(&settings(require_hash), &[text.to_owned()], is_operator).err().map(|fault| fault.code)
    }

    #[test]
    fn only_the_operator_may_name_urls_that_are_not_allowed() {
        for is_operator in [true, false] {
            for text in ["medicine", "medicine=https://words.example/m.txt", " inside "] {
                assert_eq!(code(false, text, is_operator), None, "{text}");
            }
            for text in ["", "=https://x", "UP=https://x", "../x=https://x", "a/b=https://x", "other"] {
                assert_eq!(code(false, text, is_operator), Some(ErrorCode::InvalidRequest), "{text}");
            }
        }
        for text in [
            "medicine=https://words.example/other",
            "other=https://words.example/m.txt",
            "x=http://127.0.0.1/w",
        ] {
            assert_eq!(code(false, text, true), None, "{text}");
            assert_eq!(code(false, text, false), Some(ErrorCode::Forbidden), "{text}");
        }
        for text in ["x=http://intranet/other", "x=file:///etc/passwd", "x=no"] {
            assert_eq!(code(false, text, true), Some(ErrorCode::InvalidUrl), "{text}");
        }
        let many: Vec<String> = (0..17).map(|i| format!("a{i}=https://x")).collect();
        assert!(parse_sources(&settings(false), &many, true).is_err());
    }

    #[test]
    fn a_hash_can_be_required_and_is_compared() {
        assert_eq!(code(true, "medicine", true), None);
        for text in ["inside", "x=https://x"] {
            assert_eq!(code(true, text, true), Some(ErrorCode::DownloadVerifyFailed));
        }
        let source = &parse_sources(&settings(false), &["medicine".into()], false).unwrap()[0];
        assert!(source.verify("ab").unwrap());
        assert_eq!(source.verify("ac").unwrap_err().code, ErrorCode::DownloadVerifyFailed);
        let source = &parse_sources(&settings(false), &["inside".into()], false).unwrap()[0];
        assert!(!source.verify("anything").unwrap(), "not known, so not verified");
    }
}
