//! Downloads a file to disk: resumes interrupted downloads, skips unchanged files, and replaces the target only by a whole file.
//!
//! Beside the unfinished `<name>.part` is `<name>.part.from`, with the URL and the validator of the file that it belongs to. A
//! download resumes only if both still match; otherwise it starts again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Url;
use super::faults::{
    display_url, interrupted, io_fault, not_downloaded, timed_out, too_large, unexpected_file,
    unexpected_status,
};
use super::file_client::{FileClient, media_type};
use crate::disk_space::DiskSpace;
use crate::sha256::Hasher;
use contract::{ErrorCode, Fault, escaped_line};

/// Bytes between two progress reports.
const PROGRESS_BYTES: u64 = 1 << 20;
/// Longest accepted validator; usual ones have a few dozen characters.
const VALIDATOR_CHARS_MAX: usize = 512;
/// Largest part of an unexpected text that is searched for its first line, which the fault quotes.
const QUOTED_BYTES_MAX: usize = 4096;
/// Longest quoted line, in characters.
const QUOTED_CHARS_MAX: usize = 120;

/// A file to download, and its limits.
#[derive(Debug, Clone)]
pub struct DownloadRequest {
    /// The address of the file.
    pub url: Url,
    /// Maximum size of the file.
    pub bytes_max: u64,
    /// The expected file, if it is known.
    pub expected: Option<ExpectedFile>,
    /// Maximum total time, redirects included.
    pub timeout_ms: u64,
    /// Maximum number of redirects.
    pub redirects_max: usize,
    /// `true` to resume an interrupted download, if the server still has the same file.
    pub resume: bool,
    /// `ETag` of the existing file, which is not downloaded again if unchanged.
    pub etag: Option<String>,
    /// `Last-Modified` of the existing file, for servers without `ETag`.
    pub last_modified: Option<String>,
    /// The file systems that must keep free space.
    pub disk_space: DiskSpace,
}

/// The size and the hash of a file that is known beforehand. A part of it is resumed even if it came from another address, because the hash
/// shows whether the whole file is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedFile {
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// The outcome of a download.
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
/// `ARCHIVE_TOO_LARGE` over `bytes_max`, `TOOL_TIMEOUT`, `DOWNLOAD_VERIFY_FAILED` for an incomplete file or one that is not the
/// expected one, `CAPABILITY_MISSING` if the server cannot be reached or sends an error status, `STORAGE_UNAVAILABLE` if the disk
/// is too full.
pub async fn download(
    download: &DownloadRequest,
    target: &Path,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<DownloadOutcome, Fault> {
    let client = FileClient::direct(Duration::from_millis(download.timeout_ms))
        .map_err(|error| not_downloaded(&download.url, &error.to_string()))?;
    client.download(download, target, on_progress).await
}

impl FileClient {
    /// Like [`download()`], with the connection of this client.
    ///
    /// # Errors
    /// See [`download()`].
    pub async fn download(
        &self,
        download: &DownloadRequest,
        target: &Path,
        on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
    ) -> Result<DownloadOutcome, Fault> {
        let timeout = Duration::from_millis(download.timeout_ms);
        match tokio::time::timeout(timeout, fetch(self, download, target, on_progress)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(timed_out(&download.url, download.timeout_ms)),
        }
    }
}

/// Downloads the file. If a resumed file is not the expected one, its part was damaged, so it is downloaded once more as a whole.
async fn fetch(
    client: &FileClient,
    download: &DownloadRequest,
    target: &Path,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<DownloadOutcome, Fault> {
    let part = PartFile::of_target(target);
    let partial = if download.resume { part.read_partial(download).await? } else { None };
    let resumes = partial.is_some();
    match fetch_rest(client, download, target, partial, on_progress).await {
        Err(fault)
            if resumes && fault.code == ErrorCode::DownloadVerifyFailed && download.expected.is_some() =>
        {
            fetch_rest(client, download, target, None, on_progress).await
        }
        outcome => outcome,
    }
}

async fn fetch_rest(
    client: &FileClient,
    download: &DownloadRequest,
    target: &Path,
    mut partial: Option<PartialContent>,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<DownloadOutcome, Fault> {
    let part = PartFile::of_target(target);
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
        // The server sent a different range from the requested one.
        StatusCode::PARTIAL_CONTENT if partial.take().is_some() => {
            response = send(client, download, None).await?;
            if response.status() != StatusCode::OK {
                return Err(unexpected_status(&download.url, response.status()));
            }
        }
        StatusCode::OK => partial = None,
        status => return Err(unexpected_status(&download.url, status)),
    }
    let bytes_done = partial.as_ref().map_or(0, |partial| partial.bytes);
    let total = response.content_length().map(|rest| bytes_done.saturating_add(rest));
    if let Some(expected) = &download.expected
        && (total.is_some_and(|total| total != expected.bytes) || media_type(&response) == "text/html")
    {
        return Err(unexpected_response(download, response, total, expected.bytes).await);
    }
    let etag = validator(response.headers(), header::ETAG);
    let last_modified = validator(response.headers(), header::LAST_MODIFIED);
    let failed = |error| io_fault(error, total.map(|total| total - bytes_done));
    let (mut file, hasher) = match partial {
        Some(partial) => (part.open_to_append().await.map_err(failed)?, partial.hasher),
        None => {
            let validator = strong_validator(&etag, &last_modified);
            let origin = Origin { source: download.source(), validator };
            (part.create(&origin).await.map_err(failed)?, Hasher::default())
        }
    };
    let received = receive(client, download, response, &mut file, (hasher, bytes_done, total), on_progress);
    let (sha256, bytes) = match received.await.and_then(|received| check(download, received)) {
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
    file.sync_all().await.map_err(failed)?;
    fs::rename(&part.path, target).await.map_err(failed)?;
    part.remove().await;
    Ok(DownloadOutcome::New { sha256, bytes, etag, last_modified })
}

/// Sends the request, for the rest of a part file if there is one.
async fn send(
    client: &FileClient,
    download: &DownloadRequest,
    partial: Option<&PartialContent>,
) -> Result<Response, Fault> {
    let mut headers = HeaderMap::new();
    // Values come from earlier responses, so they are valid; an invalid one is omitted, and the whole file is downloaded.
    let mut insert =
        |name, value: &str| HeaderValue::from_str(value).map(|value| headers.insert(name, value)).is_ok();
    insert(header::ACCEPT_ENCODING, "identity");
    if let Some(etag) = &download.etag {
        insert(header::IF_NONE_MATCH, etag);
    }
    if let Some(date) = &download.last_modified {
        insert(header::IF_MODIFIED_SINCE, date);
    }
    if let Some(partial) = partial
        && partial.validator.as_ref().is_none_or(|validator| insert(header::IF_RANGE, validator))
    {
        insert(header::RANGE, &format!("bytes={}-", partial.bytes));
    }
    let (response, _) =
        client.get(&download.url, &headers, download.redirects_max, download.timeout_ms).await?;
    Ok(response)
}

/// Appends the response to `file`; returns the SHA-256 and the size of the whole file. `progress` has the bytes received before, and the
/// total size if the server announced it.
async fn receive(
    client: &FileClient,
    download: &DownloadRequest,
    mut response: Response,
    file: &mut File,
    progress: (Hasher, u64, Option<u64>),
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<(String, u64), Fault> {
    let (mut hasher, mut bytes_done, announced) = progress;
    let bytes_max = download.expected.as_ref().map_or(download.bytes_max, |expected| expected.bytes);
    let total = announced.or(download.expected.as_ref().map(|expected| expected.bytes));
    if total.is_some_and(|total| total > bytes_max) {
        return Err(too_large(&download.url, bytes_max));
    }
    download.disk_space.check_for(total.unwrap_or(bytes_done).saturating_sub(bytes_done))?;
    on_progress(bytes_done, total);
    let mut bytes_reported = bytes_done;
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                // The next attempt resumes after these bytes.
                let _ = file.flush().await;
                return Err(client.failed(&download.url, error, download.timeout_ms));
            }
        };
        let missing = total.map(|total| total.saturating_sub(bytes_done));
        bytes_done += chunk.len() as u64;
        if bytes_done > bytes_max {
            return Err(match &download.expected {
                Some(expected) => {
                    let reason = format!("it is longer than the {} bytes of that", expected.bytes);
                    unexpected_file(&download.url, &reason)
                }
                None => too_large(&download.url, bytes_max),
            });
        }
        hasher.update(&chunk);
        file.write_all(&chunk).await.map_err(|error| io_fault(error, missing))?;
        if bytes_done - bytes_reported >= PROGRESS_BYTES {
            bytes_reported = bytes_done;
            download.disk_space.check()?;
            on_progress(bytes_done, total);
        }
    }
    file.flush().await.map_err(|error| io_fault(error, None))?;
    if let Some(total) = announced.filter(|total| *total != bytes_done) {
        let message =
            format!("`{}` sent {bytes_done} of the {total} announced bytes.", display_url(&download.url));
        return Err(Fault::new(ErrorCode::DownloadVerifyFailed, message).with_hint("Try again."));
    }
    on_progress(bytes_done, Some(bytes_done));
    Ok((hasher.hex(), bytes_done))
}

/// Compares the received file with the expected one, if that is known.
fn check(download: &DownloadRequest, received: (String, u64)) -> Result<(String, u64), Fault> {
    let Some(expected) = &download.expected else { return Ok(received) };
    let (sha256, bytes) = &received;
    if *bytes < expected.bytes {
        // Without an announced size, a cut connection looks like the end of the file.
        let reason = format!("the connection ended after {bytes} of {} bytes", expected.bytes);
        return Err(interrupted(&download.url, &reason));
    }
    if *sha256 != expected.sha256 {
        let details = serde_json::json!({ "expected": expected.sha256, "actual": sha256 });
        return Err(unexpected_file(&download.url, "its sha256 differs").with_details(details));
    }
    Ok(received)
}

/// Returns the fault for a response that is a page, or that announces a different size from the expected one. Quotes the first line of a
/// text, because a proxy's page says there why it interferes.
async fn unexpected_response(
    download: &DownloadRequest,
    mut response: Response,
    total: Option<u64>,
    expected: u64,
) -> Fault {
    let mut reasons = Vec::new();
    if let Some(total) = total.filter(|total| *total != expected) {
        reasons.push(format!("it has {total} bytes instead of {expected}"));
    }
    if media_type(&response).starts_with("text/") {
        let mut text = Vec::new();
        while text.len() < QUOTED_BYTES_MAX
            && let Ok(Some(chunk)) = response.chunk().await
        {
            text.extend_from_slice(&chunk);
        }
        reasons.push(format!("it is a text that begins with: {}", first_line(&text)));
    }
    unexpected_file(&download.url, &reasons.join("; "))
}

/// Returns the first line of a text with anything visible in it, bounded and without control characters.
#[must_use]
pub fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(QUOTED_BYTES_MAX)]);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    escaped_line(&line.chars().take(QUOTED_CHARS_MAX).collect::<String>())
}

/// Checks whether the response starts where the part file ends.
fn is_continuation(response: &Response, partial: &PartialContent) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok())
        == Some(partial.bytes)
}

fn validator(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (value.len() <= VALIDATOR_CHARS_MAX).then(|| value.to_owned())
}

/// Returns the validator for `If-Range`, which must be a strong one: it changes with every byte of the file.
fn strong_validator(etag: &Option<String>, last_modified: &Option<String>) -> Option<String> {
    etag.clone().filter(|etag| !etag.starts_with("W/")).or_else(|| last_modified.clone())
}

impl DownloadRequest {
    /// Identifies the file of a part file: by its hash if that is known, else by its URL.
    fn source(&self) -> String {
        match &self.expected {
            Some(expected) => format!("sha256:{}", expected.sha256),
            None => self.url.to_string(),
        }
    }
}

/// The content of `<name>.part.from`: the source of a part file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    source: String,
    validator: Option<String>,
}

/// The content of a part file that can be resumed.
struct PartialContent {
    bytes: u64,
    hasher: Hasher,
    validator: Option<String>,
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

    /// Reads and hashes the part that an earlier attempt downloaded from the same source, if it can be resumed.
    async fn read_partial(&self, download: &DownloadRequest) -> Result<Option<PartialContent>, Fault> {
        let Ok(origin) = fs::read(&self.origin_path).await else { return Ok(None) };
        let Ok(Origin { source, validator }) = serde_json::from_slice(&origin) else { return Ok(None) };
        let Ok(mut file) = File::open(&self.path).await else { return Ok(None) };
        // Without a validator, only a known hash can confirm that the rest belongs to the part.
        if source != download.source() || (validator.is_none() && download.expected.is_none()) {
            return Ok(None);
        }
        let (mut hasher, mut block) = (Hasher::default(), vec![0; 1 << 20]);
        loop {
            let read = file.read(&mut block).await.map_err(|error| io_fault(error, None))?;
            if read == 0 {
                break;
            }
            hasher.update(&block[..read]);
        }
        let bytes = hasher.bytes();
        let bytes_max = download
            .expected
            .as_ref()
            .map_or(download.bytes_max, |expected| expected.bytes.saturating_sub(1));
        Ok((bytes > 0 && bytes <= bytes_max).then_some(PartialContent { bytes, hasher, validator }))
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
