//! A file from an address that the operator configured, streamed to the disk: continued where it was cut off, asked
//! for only if it changed, and put in its place only when it is whole.
//!
//! Beside the unfinished `<name>.part` lies `<name>.part.from`: address and validator of what it is the beginning of.
//! Without both of them agreeing, a download begins anew.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Outbound, Problem, Url, is_loopback};
use crate::room::Room;
use crate::sha256::Hasher;
use contract::{ErrorCode, Fault};

/// Bytes between two reports of progress.
const REPORT_BYTES: u64 = 1 << 20;
/// Longest validator that is believed; an honest one has a few dozen characters.
const VALIDATOR_CHARS_MAX: usize = 512;

/// What is fetched, and within which bounds.
#[derive(Debug, Clone)]
pub struct Download {
    /// Where it lies.
    pub url: Url,
    /// Longest file that is taken.
    pub bytes_max: u64,
    /// Longest time over all, redirects included.
    pub timeout_ms: u64,
    /// Redirects that are followed.
    pub redirects_max: usize,
    /// Go on with the part of an earlier attempt, if the server still has the same file.
    pub resume: bool,
    /// Validator of the file that is here already: the same one is not sent again.
    pub etag: Option<String>,
    /// The same, for servers without an `ETag`.
    pub last_modified: Option<String>,
    /// The file systems that must keep room while it comes.
    pub room: Room,
}

/// How a download ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The server has what is here already; nothing was written.
    NotModified,
    /// The file lies at its target.
    New {
        /// Of the whole file, in hexadecimal.
        sha256: String,
        /// Its length.
        bytes: u64,
        /// What a later conditional download passes.
        etag: Option<String>,
        /// The same, for servers without an `ETag`.
        last_modified: Option<String>,
    },
}

/// Brings one file to `target`, whose folder must exist. `on_progress` hears bytes done and bytes in all.
///
/// HTTPS never leads to plain HTTP, and plain HTTP only to the host that the operator wrote, or within this machine.
/// One download of a target at a time; a future that is dropped leaves its part for the next attempt.
///
/// # Errors
/// `ARCHIVE_TOO_LARGE` over `bytes_max`, `TOOL_TIMEOUT`, `DOWNLOAD_VERIFY_FAILED` for an answer that is no whole file,
/// `CAPABILITY_MISSING` when nobody answers or with another status, `STORAGE_UNAVAILABLE` without room on disk.
pub async fn download(
    wanted: &Download,
    target: &Path,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<Fetched, Fault> {
    let limit = Duration::from_millis(wanted.timeout_ms);
    let client =
        Outbound::new(limit).map_err(|problem| not_fetched(&wanted.url, &problem.to_string()))?.client;
    let whole = fetch(&client, wanted, target, on_progress);
    match tokio::time::timeout(limit, whole).await {
        Ok(ended) => ended,
        Err(_) => Err(late(&wanted.url, wanted.timeout_ms)),
    }
}

async fn fetch(
    client: &Client,
    wanted: &Download,
    target: &Path,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<Fetched, Fault> {
    let part = Part::beside(target);
    let mut begun = if wanted.resume { part.begun(wanted).await? } else { None };
    let mut answer = ask(client, wanted, begun.as_ref()).await?;
    if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE && begun.take().is_some() {
        answer = ask(client, wanted, None).await?;
    }
    match answer.status() {
        StatusCode::NOT_MODIFIED if wanted.etag.is_some() || wanted.last_modified.is_some() => {
            part.remove().await;
            return Ok(Fetched::NotModified);
        }
        StatusCode::PARTIAL_CONTENT if begun.as_ref().is_some_and(|begun| continues(&answer, begun)) => {}
        StatusCode::OK => begun = None,
        status => {
            return Err(not_fetched(&wanted.url, &format!("it answers with status {}", status.as_u16())));
        }
    }
    let etag = validator(answer.headers(), header::ETAG);
    let last_modified = validator(answer.headers(), header::LAST_MODIFIED);
    let (mut file, hasher, done) = match begun {
        Some(begun) => (part.open().await.map_err(io_fault)?, begun.hasher, begun.bytes),
        None => {
            let from = Origin { url: wanted.url.to_string(), validator: strong(&etag, &last_modified) };
            (part.create(&from).await.map_err(io_fault)?, Hasher::default(), 0)
        }
    };
    let (sha256, bytes) = match receive(wanted, answer, &mut file, hasher, done, on_progress).await {
        Ok(received) => received,
        Err(fault) => {
            // What is there is kept for the next attempt, unless it is what was wrong.
            match fault.code {
                ErrorCode::ArchiveTooLarge | ErrorCode::DownloadVerifyFailed => part.remove().await,
                _ => drop(file.flush().await),
            }
            return Err(fault);
        }
    };
    file.sync_all().await.map_err(io_fault)?;
    fs::rename(&part.file, target).await.map_err(io_fault)?;
    part.remove().await;
    Ok(Fetched::New { sha256, bytes, etag, last_modified })
}

/// Writes the answer behind what is there, and gives the sha256 and the length of the whole.
async fn receive(
    wanted: &Download,
    mut answer: Response,
    file: &mut File,
    mut hasher: Hasher,
    mut done: u64,
    on_progress: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<(String, u64), Fault> {
    let total = answer.content_length().map(|rest| done.saturating_add(rest));
    if total.is_some_and(|total| total > wanted.bytes_max) {
        return Err(too_large(&wanted.url, wanted.bytes_max));
    }
    wanted.room.check_for(total.unwrap_or(done) - done)?;
    on_progress(done, total);
    let mut reported = done;
    loop {
        let piece = match answer.chunk().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(error) if error.is_timeout() => return Err(late(&wanted.url, wanted.timeout_ms)),
            Err(error) => {
                // The pieces before it stay; they are what the next attempt goes on from.
                let _ = file.flush().await;
                return Err(not_fetched(&wanted.url, &Problem::from(error).to_string()));
            }
        };
        done += piece.len() as u64;
        if done > wanted.bytes_max {
            return Err(too_large(&wanted.url, wanted.bytes_max));
        }
        hasher.update(&piece);
        file.write_all(&piece).await.map_err(io_fault)?;
        if done - reported >= REPORT_BYTES {
            reported = done;
            wanted.room.check()?;
            on_progress(done, total);
        }
    }
    if total.is_some_and(|total| total != done) {
        return Err(Fault::new(
            ErrorCode::DownloadVerifyFailed,
            format!("`{}` sent another length than it announced.", place(&wanted.url)),
        )
        .with_hint("Try again."));
    }
    file.flush().await.map_err(io_fault)?;
    on_progress(done, Some(done));
    Ok((hasher.hex(), done))
}

/// Sends the request and follows redirects to where that is allowed.
async fn ask(client: &Client, wanted: &Download, begun: Option<&Begun>) -> Result<Response, Fault> {
    let mut url = wanted.url.clone();
    for _ in 0..=wanted.redirects_max {
        let mut request = client.get(url.clone()).header(header::ACCEPT_ENCODING, "identity");
        if let Some(etag) = &wanted.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &wanted.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        if let Some(begun) = begun {
            request = request
                .header(header::RANGE, format!("bytes={}-", begun.bytes))
                .header(header::IF_RANGE, &begun.validator);
        }
        let answer = request.send().await.map_err(|error| match error.is_timeout() {
            true => late(&url, wanted.timeout_ms),
            false => not_fetched(&url, &Problem::from(error).to_string()),
        })?;
        if !is_redirect(answer.status()) {
            return Ok(answer);
        }
        let next = answer.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        let next = next.and_then(|location| url.join(location).ok());
        url = next.filter(|next| may_follow(&url, next, &wanted.url)).ok_or_else(|| {
            not_fetched(&url, "it redirects to where a download may not go")
                .with_hint("Name the address it redirects to, if you trust it.")
        })?;
    }
    Err(not_fetched(&wanted.url, &format!("it redirects more than {} times", wanted.redirects_max)))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Whether a redirect from `here` to `next` is followed; `written` is what the operator wrote.
fn may_follow(here: &Url, next: &Url, written: &Url) -> bool {
    match (here.scheme(), next.scheme()) {
        (_, "https") => true,
        ("http", "http") => {
            let to_itself = (next.host_str(), written.scheme()) == (written.host_str(), "http");
            to_itself || (is_loopback(here) && is_loopback(next))
        }
        _ => false,
    }
}

/// Whether the answer is the rest of what is there.
fn continues(answer: &Response, begun: &Begun) -> bool {
    let range = answer.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok())
        == Some(begun.bytes)
}

fn validator(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (value.len() <= VALIDATOR_CHARS_MAX).then(|| value.to_owned())
}

/// A validator that tells every byte, which `If-Range` wants.
fn strong(etag: &Option<String>, last_modified: &Option<String>) -> Option<String> {
    etag.clone().filter(|etag| !etag.starts_with("W/")).or_else(|| last_modified.clone())
}

/// What a part file is the beginning of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    url: String,
    validator: Option<String>,
}

/// A part file that may be continued.
struct Begun {
    bytes: u64,
    hasher: Hasher,
    validator: String,
}

/// The unfinished file and the note beside it.
struct Part {
    file: PathBuf,
    note: PathBuf,
}

impl Part {
    fn beside(target: &Path) -> Self {
        let with = |suffix: &str| {
            let mut name = target.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        Self { file: with(".part"), note: with(".part.from") }
    }

    /// What an earlier attempt left of this address, if anything.
    async fn begun(&self, wanted: &Download) -> Result<Option<Begun>, Fault> {
        let Ok(note) = fs::read(&self.note).await else { return Ok(None) };
        let Ok(Origin { url, validator: Some(validator) }) = serde_json::from_slice(&note) else {
            return Ok(None);
        };
        let Ok(mut file) = File::open(&self.file).await else { return Ok(None) };
        if url != wanted.url.as_str() {
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
        Ok((bytes > 0 && bytes <= wanted.bytes_max).then_some(Begun { bytes, hasher, validator }))
    }

    async fn create(&self, from: &Origin) -> io::Result<File> {
        // The note of an older part must never stand beside a newer one.
        self.remove().await;
        let file = File::create(&self.file).await?;
        fs::write(&self.note, serde_json::to_vec(from)?).await?;
        Ok(file)
    }

    async fn open(&self) -> io::Result<File> {
        fs::OpenOptions::new().append(true).open(&self.file).await
    }

    /// That there is none is fine; one that cannot be removed is found and judged by the next attempt.
    async fn remove(&self) {
        for file in [&self.note, &self.file] {
            let _ = fs::remove_file(file).await;
        }
    }
}

/// The address without user, password and query, which may be secret.
fn place(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn not_fetched(url: &Url, why: &str) -> Fault {
    let mut fault =
        Fault::new(ErrorCode::CapabilityMissing, format!("`{}` could not be fetched: {why}.", place(url)))
            .with_hint("Look at the address and at whether this machine can reach it, and try again.");
    fault.retryable = true;
    fault
}

fn too_large(url: &Url, bytes_max: u64) -> Fault {
    Fault::new(
        ErrorCode::ArchiveTooLarge,
        format!("`{}` is larger than the {bytes_max} bytes that a download may have.", place(url)),
    )
    .with_hint("Use a smaller file, or raise the limit in the configuration.")
    .with_details(json!({ "bytesMax": bytes_max }))
}

fn late(url: &Url, timeout_ms: u64) -> Fault {
    Fault::new(ErrorCode::ToolTimeout, format!("`{}` took longer than a download may.", place(url)))
        .with_hint("Call again: a download goes on where it stopped, if the server can do that.")
        .with_details(json!({ "timeoutMs": timeout_ms }))
}

fn io_fault(error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::StorageFull {
        return Fault::new(ErrorCode::StorageUnavailable, "The disk is full.")
            .with_hint("Free disk space and call again: a download goes on where it stopped, if the server can do that.")
            .with_source(error);
    }
    Fault::internal(format!("Could not write a download: {}.", error.kind()), error)
        .with_hint("Check that the disk has room and that this user may write there.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_never_loses_what_the_operator_trusted() {
        let follows = |here: &str, next: &str, written: &str| {
            let url = |text: &str| Url::parse(text).unwrap();
            may_follow(&url(here), &url(next), &url(written))
        };
        for (here, next, written) in [
            ("https://a/x", "https://b/y", "https://a/x"),
            ("http://a/x", "https://b/y", "http://a/x"),
            ("http://a/x", "http://a/y", "http://a/x"),
            ("http://127.0.0.1:1/x", "http://localhost:2/y", "http://127.0.0.1:1/x"),
        ] {
            assert!(follows(here, next, written), "{here} {next}");
        }
        for (here, next, written) in [
            ("https://a/x", "http://a/x", "https://a/x"),
            ("https://a/x", "http://127.0.0.1/x", "https://a/x"),
            ("https://b/x", "http://a/y", "http://a/x"),
            ("http://a/x", "http://b/y", "http://a/x"),
            ("http://a/x", "http://127.0.0.1/y", "http://a/x"),
            ("http://127.0.0.1/x", "http://a/y", "http://127.0.0.1/x"),
            ("https://a/x", "file:///etc/passwd", "https://a/x"),
        ] {
            assert!(!follows(here, next, written), "{here} {next}");
        }
    }
}
