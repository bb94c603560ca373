//! Downloads a file to disk: resumes interrupted downloads, skips unchanged files, and replaces the target only by a whole file.
//!
//! Beside the unfinished `<name>.part` is `<name>.part.from`, with the URL and the validator of the file that it belongs to. A
//! download resumes only if both still match; otherwise it starts again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{HttpClient, HttpError, Url, is_loopback};
use crate::disk_space::DiskSpace;
use crate::sha256::Hasher;
use contract::{ErrorCode, Fault};

/// Bytes between two progress reports.
const PROGRESS_BYTES: u64 = 1 << 20;
/// Longest accepted validator; usual ones have a few dozen characters.
const VALIDATOR_CHARS_MAX: usize = 512;

/// A file to download, and its limits.
#[derive(Debug, Clone)]
pub struct DownloadRequest {
    /// The address of the file.
    pub url: Url,
    /// Maximum size of the file.
    pub bytes_max: u64,
    /// Maximum total time, redirects included.
    pub timeout_ms: u64,
    /// Maximum number of redirects.
    pub redirects_max: usize,
    /// Whether to resume an interrupted download, if the server still has the same file.
    pub resume: bool,
    /// `ETag` of the existing file, which is not downloaded again if unchanged.
    pub etag: Option<String>,
    /// `Last-Modified` of the existing file, for servers without `ETag`.
    pub last_modified: Option<String>,
    /// The file systems that must keep free space.
    pub disk_space: DiskSpace,
}

/// How a download ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DownloadOutcome {
    /// The existing file is current; nothing was written.
    NotModified,
    /// The file was downloaded to its target.
    New {
        /// SHA-256 of the whole file, in hexadecimal.
        sha256: String,
        /// Size of the whole file.
        bytes: u64,
        /// Its `ETag`, for the next download.
        etag: Option<String>,
        /// Its `Last-Modified`, for the next download.
        last_modified: Option<String>,
    },
}

/// Downloads a file to `target`, whose directory must exist. `on_progress` gets the bytes so far and the total size, if known.
///
/// Redirects from HTTPS to HTTP are refused; redirects from HTTP to HTTP are followed only to the host of the request, or within
/// this machine. The caller must not run two downloads to one target at the same time. A dropped future leaves its part file for
/// the next attempt.
///
/// # Errors
/// `ARCHIVE_TOO_LARGE` over `bytes_max`, `TOOL_TIMEOUT`, `DOWNLOAD_VERIFY_FAILED` for an incomplete file, `CAPABILITY_MISSING`
/// if the server cannot be reached or sends an error status, `STORAGE_UNAVAILABLE` if the disk is too full.
pub async fn download(
    download: &DownloadRequest,
    target: &Path,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<DownloadOutcome, Fault> {
    let timeout = Duration::from_millis(download.timeout_ms);
    let client =
        HttpClient::new(timeout).map_err(|error| not_downloaded(&download.url, &error.to_string()))?.client;
    match tokio::time::timeout(timeout, fetch(&client, download, target, on_progress)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(timed_out(&download.url, download.timeout_ms)),
    }
}

async fn fetch(
    client: &Client,
    download: &DownloadRequest,
    target: &Path,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<DownloadOutcome, Fault> {
    let part = PartFile::of_target(target);
    let mut partial = if download.resume { part.read_partial(download).await? } else { None };
    let mut response = send(client, download, partial.as_ref()).await?;
    if response.status() == StatusCode::RANGE_NOT_SATISFIABLE && partial.take().is_some() {
        response = send(client, download, None).await?;
    }
    match response.status() {
        StatusCode::NOT_MODIFIED if download.etag.is_some() || download.last_modified.is_some() => {
            part.remove().await;
            return Ok(DownloadOutcome::NotModified);
        }
        StatusCode::PARTIAL_CONTENT
            if partial.as_ref().is_some_and(|partial| is_continuation(&response, partial)) => {}
        StatusCode::OK => partial = None,
        status => {
            return Err(not_downloaded(
                &download.url,
                &format!("the server sent status {}", status.as_u16()),
            ));
        }
    }
    let etag = validator(response.headers(), header::ETAG);
    let last_modified = validator(response.headers(), header::LAST_MODIFIED);
    let (mut file, hasher, bytes_done) = match partial {
        Some(partial) => (part.open_to_append().await.map_err(io_fault)?, partial.hasher, partial.bytes),
        None => {
            let validator = strong_validator(&etag, &last_modified);
            let origin = Origin { url: download.url.to_string(), validator };
            (part.create(&origin).await.map_err(io_fault)?, Hasher::default(), 0)
        }
    };
    let received = receive(download, response, &mut file, hasher, bytes_done, on_progress).await;
    let (sha256, bytes) = match received {
        Ok(received) => received,
        Err(fault) => {
            // Keep the part file for the next attempt, unless its content is wrong.
            match fault.code {
                ErrorCode::ArchiveTooLarge | ErrorCode::DownloadVerifyFailed => part.remove().await,
                _ => drop(file.flush().await),
            }
            return Err(fault);
        }
    };
    file.sync_all().await.map_err(io_fault)?;
    fs::rename(&part.path, target).await.map_err(io_fault)?;
    part.remove().await;
    Ok(DownloadOutcome::New { sha256, bytes, etag, last_modified })
}

/// Appends the response to `file`; returns the SHA-256 and the size of the whole file.
async fn receive(
    download: &DownloadRequest,
    mut response: Response,
    file: &mut File,
    mut hasher: Hasher,
    mut bytes_done: u64,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<(String, u64), Fault> {
    let total = response.content_length().map(|rest| bytes_done.saturating_add(rest));
    if total.is_some_and(|total| total > download.bytes_max) {
        return Err(too_large(&download.url, download.bytes_max));
    }
    download.disk_space.check_for(total.unwrap_or(bytes_done) - bytes_done)?;
    on_progress(bytes_done, total);
    let mut bytes_reported = bytes_done;
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) if error.is_timeout() => return Err(timed_out(&download.url, download.timeout_ms)),
            Err(error) => {
                // The next attempt resumes after these bytes.
                let _ = file.flush().await;
                return Err(not_downloaded(&download.url, &HttpError::from(error).to_string()));
            }
        };
        bytes_done += chunk.len() as u64;
        if bytes_done > download.bytes_max {
            return Err(too_large(&download.url, download.bytes_max));
        }
        hasher.update(&chunk);
        file.write_all(&chunk).await.map_err(io_fault)?;
        if bytes_done - bytes_reported >= PROGRESS_BYTES {
            bytes_reported = bytes_done;
            download.disk_space.check()?;
            on_progress(bytes_done, total);
        }
    }
    if total.is_some_and(|total| total != bytes_done) {
        return Err(Fault::new(
            ErrorCode::DownloadVerifyFailed,
            format!("`{}` did not send the announced number of bytes.", display_url(&download.url)),
        )
        .with_hint("Try again."));
    }
    file.flush().await.map_err(io_fault)?;
    on_progress(bytes_done, Some(bytes_done));
    Ok((hasher.hex(), bytes_done))
}

/// Sends the request and follows allowed redirects.
async fn send(
    client: &Client,
    download: &DownloadRequest,
    partial: Option<&PartialContent>,
) -> Result<Response, Fault> {
    let mut url = download.url.clone();
    for _ in 0..=download.redirects_max {
        let mut request = client.get(url.clone()).header(header::ACCEPT_ENCODING, "identity");
        if let Some(etag) = &download.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &download.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        if let Some(partial) = partial {
            request = request
                .header(header::RANGE, format!("bytes={}-", partial.bytes))
                .header(header::IF_RANGE, &partial.validator);
        }
        let response = request.send().await.map_err(|error| match error.is_timeout() {
            true => timed_out(&url, download.timeout_ms),
            false => not_downloaded(&url, &HttpError::from(error).to_string()),
        })?;
        if !is_redirect(response.status()) {
            return Ok(response);
        }
        let next = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        let next = next.and_then(|location| url.join(location).ok());
        url = next.filter(|next| may_follow(&url, next, &download.url)).ok_or_else(|| {
            not_downloaded(&url, "it redirects to an address that is not allowed")
                .with_hint("If you trust that address, use it instead.")
        })?;
    }
    Err(not_downloaded(&download.url, &format!("it redirects more than {} times", download.redirects_max)))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Whether a redirect from `current` to `next` is followed; `requested` is the URL of the [`DownloadRequest`].
fn may_follow(current: &Url, next: &Url, requested: &Url) -> bool {
    match (current.scheme(), next.scheme()) {
        (_, "https") => true,
        ("http", "http") => {
            let is_same_host = (next.host_str(), requested.scheme()) == (requested.host_str(), "http");
            is_same_host || (is_loopback(current) && is_loopback(next))
        }
        _ => false,
    }
}

/// Whether the response starts where the part file ends.
fn is_continuation(response: &Response, partial: &PartialContent) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok())
        == Some(partial.bytes)
}

fn validator(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (value.len() <= VALIDATOR_CHARS_MAX).then(|| value.to_owned())
}

/// The validator for `If-Range`, which must be a strong one: it changes with every byte of the file.
fn strong_validator(etag: &Option<String>, last_modified: &Option<String>) -> Option<String> {
    etag.clone().filter(|etag| !etag.starts_with("W/")).or_else(|| last_modified.clone())
}

/// The content of `<name>.part.from`: the source of a part file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    url: String,
    validator: Option<String>,
}

/// The content of a part file that can be resumed.
struct PartialContent {
    bytes: u64,
    hasher: Hasher,
    validator: String,
}

/// The paths of an unfinished download.
struct PartFile {
    path: PathBuf,
    origin_path: PathBuf,
}

impl PartFile {
    fn of_target(target: &Path) -> Self {
        let with_suffix = |suffix: &str| {
            let mut name = target.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        Self { path: with_suffix(".part"), origin_path: with_suffix(".part.from") }
    }

    /// Reads and hashes what an earlier attempt downloaded from the same URL, if it can be resumed.
    async fn read_partial(&self, download: &DownloadRequest) -> Result<Option<PartialContent>, Fault> {
        let Ok(origin) = fs::read(&self.origin_path).await else { return Ok(None) };
        let Ok(Origin { url, validator: Some(validator) }) = serde_json::from_slice(&origin) else {
            return Ok(None);
        };
        let Ok(mut file) = File::open(&self.path).await else { return Ok(None) };
        if url != download.url.as_str() {
            return Ok(None);
        }
        let (mut hasher, mut block) = (Hasher::default(), vec![0; 1 << 20]);
        loop {
            let read = file.read(&mut block).await.map_err(io_fault)?;
            if read == 0 {
                break;
            }
            hasher.update(&block[..read]);
        }
        let bytes = hasher.bytes();
        Ok((bytes > 0 && bytes <= download.bytes_max).then_some(PartialContent { bytes, hasher, validator }))
    }

    async fn create(&self, origin: &Origin) -> io::Result<File> {
        // A new part file must never have the origin of an older one.
        self.remove().await;
        let file = File::create(&self.path).await?;
        fs::write(&self.origin_path, serde_json::to_vec(origin)?).await?;
        Ok(file)
    }

    async fn open_to_append(&self) -> io::Result<File> {
        fs::OpenOptions::new().append(true).open(&self.path).await
    }

    /// Removes both files. Ignores errors: the next attempt validates what it finds.
    async fn remove(&self) {
        for path in [&self.origin_path, &self.path] {
            let _ = fs::remove_file(path).await;
        }
    }
}

/// The URL without user, password and query, which may be secret.
fn display_url(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn not_downloaded(url: &Url, reason: &str) -> Fault {
    let message = format!("`{}` could not be downloaded: {reason}.", display_url(url));
    let mut fault = Fault::new(ErrorCode::CapabilityMissing, message)
        .with_hint("Check the URL and whether this machine can reach it, and try again.");
    fault.retryable = true;
    fault
}

fn too_large(url: &Url, bytes_max: u64) -> Fault {
    Fault::new(
        ErrorCode::ArchiveTooLarge,
        format!("`{}` is larger than the limit of {bytes_max} bytes for a download.", display_url(url)),
    )
    .with_hint("Use a smaller file, or raise the limit in the configuration.")
    .with_details(json!({ "bytesMax": bytes_max }))
}

fn timed_out(url: &Url, timeout_ms: u64) -> Fault {
    Fault::new(ErrorCode::ToolTimeout, format!("The download of `{}` timed out.", display_url(url)))
        .with_hint("Call again: the download resumes, if the server supports that.")
        .with_details(json!({ "timeoutMs": timeout_ms }))
}

fn io_fault(error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::StorageFull {
        return Fault::new(ErrorCode::StorageUnavailable, "The disk is full.")
            .with_hint("Free disk space and call again: the download resumes, if the server supports that.")
            .with_source(error);
    }
    Fault::internal(format!("The download could not be written: {}.", error.kind()), error)
        .with_hint("Check that the disk has free space and that this user may write to it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_never_leave_https_and_http_stays_on_the_requested_host() {
        let follows = |current: &str, next: &str, requested: &str| {
            let url = |text: &str| Url::parse(text).unwrap();
            may_follow(&url(current), &url(next), &url(requested))
        };
        for (current, next, requested) in [
            ("https://a/x", "https://b/y", "https://a/x"),
            ("http://a/x", "https://b/y", "http://a/x"),
            ("http://a/x", "http://a/y", "http://a/x"),
            ("http://127.0.0.1:1/x", "http://localhost:2/y", "http://127.0.0.1:1/x"),
        ] {
            assert!(follows(current, next, requested), "{current} {next}");
        }
        for (current, next, requested) in [
            ("https://a/x", "http://a/x", "https://a/x"),
            ("https://a/x", "http://127.0.0.1/x", "https://a/x"),
            ("https://b/x", "http://a/y", "http://a/x"),
            ("http://a/x", "http://b/y", "http://a/x"),
            ("http://a/x", "http://127.0.0.1/y", "http://a/x"),
            ("http://127.0.0.1/x", "http://a/y", "http://127.0.0.1/x"),
            ("https://a/x", "file:///etc/passwd", "https://a/x"),
        ] {
            assert!(!follows(current, next, requested), "{current} {next}");
        }
    }
}
