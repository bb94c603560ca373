//! Reads one page: asks whether it changed, and classifies answers that are not a page.

use contract::clock::Clock;
use contract::{ErrorCode, Fault};
use platform::outbound::{Answer, HttpClient, HttpError, Url, display_url};

use crate::error::ListError;
use crate::host::{Page, Received};
use crate::page_cache::PageCache;
use crate::rate_limit::retry_after;
use crate::source::{Api, Source};

/// Reads the pages of one source.
pub(crate) struct PageReader<'a> {
    pub(crate) outbound: &'a HttpClient,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) source: &'a Source,
    pub(crate) api: &'a Api,
    /// The value of the header `authorization`.
    pub(crate) authorization: Option<String>,
    pub(crate) page_bytes_max: usize,
}

impl PageReader<'_> {
    /// Returns the page at `url`, after `entries_before` entries of the same list; `None` if there is no such list.
    pub(crate) async fn page(
        &self,
        url: &Url,
        entries_before: usize,
        cache: &mut PageCache,
    ) -> Result<Option<Page>, ListError> {
        let etag = cache.etag(url).map(str::to_owned);
        let answer = self.send(url, etag.as_deref()).await.map_err(|error| self.failed(url, &error))?;
        match answer.status {
            200 => {
                let received = Received { url, root: &self.api.root, answer: &answer, entries_before };
                let page = self.api.host.read(&received).map_err(|problem| self.not_a_page(url, &problem))?;
                cache.store(url, answer.header("etag"), &page);
                Ok(Some(page))
            }
            304 if etag.is_some() => Ok(cache.reuse(url)),
            404 | 410 => Ok(None),
            _ => Err(self.refusal(url, &answer)),
        }
    }

    async fn send(&self, url: &Url, etag: Option<&str>) -> Result<Answer, HttpError> {
        let mut headers: Vec<(&'static str, &str)> = self.api.host.headers().to_vec();
        headers.extend(etag.map(|etag| ("if-none-match", etag)));
        headers.extend(self.authorization.as_deref().map(|value| ("authorization", value)));
        self.outbound.get(url, &headers, self.page_bytes_max).await
    }

    /// Returns the error for an answer that is neither a page nor the absence of one.
    fn refusal(&self, url: &Url, answer: &Answer) -> ListError {
        if let Some(retry_after) = retry_after(answer, self.clock.now().as_second()) {
            return ListError::Limited { retry_after };
        }
        let status = answer.status;
        match status {
            408 | 500..=599 => {
                ListError::Unavailable { reason: format!("{} has status {status}", display_url(url)) }
            }
            401 | 403 => self.not_permitted(url, status).into(),
            301..=303 | 307 | 308 => {
                let message =
                    format!("`{}` redirects (status {status}), which is not followed", display_url(url));
                self.fault(ErrorCode::CapabilityMissing, &message)
                    .with_hint(
                        "Set url of the source to the new address, or correct the owner if it was renamed.",
                    )
                    .into()
            }
            _ => {
                let message = format!("`{}` has status {status}", display_url(url));
                self.fault(ErrorCode::CapabilityMissing, &message)
                    .with_hint(
                        "Check kind and url of the source: another program may answer at this address.",
                    )
                    .into()
            }
        }
    }

    /// Returns the fault for missing permission. It names the setting and never the token.
    fn not_permitted(&self, url: &Url, status: u16) -> Fault {
        let (problem, hint) = match (&self.authorization, status) {
            (None, _) => (
                "needs a token, and the source has no token_file",
                "Set token_file of the source to a file with a token that may read its repositories.",
            ),
            (Some(_), 401) => (
                "does not accept the token of token_file",
                "Write a valid token into the file of the source's token_file: this one is wrong, revoked or expired.",
            ),
            (Some(_), _) => (
                "does not let the token of token_file list these repositories",
                "Let the token read the repositories of these owners, with single sign-on if they require that, or use another one in token_file.",
            ),
        };
        self.fault(ErrorCode::InvalidInput, &format!("`{}` {problem} (status {status})", display_url(url)))
            .with_hint(hint)
    }

    fn not_a_page(&self, url: &Url, problem: &str) -> Fault {
        let message = format!("`{}` did not answer with a list of repositories: {problem}", display_url(url));
        self.fault(ErrorCode::CapabilityMissing, &message)
            .with_hint("Check kind and url of the source: another program may answer at this address.")
    }

    /// Returns a fault of this source; `problem` is a sentence without its full stop.
    pub(crate) fn fault(&self, code: ErrorCode, problem: &str) -> Fault {
        Fault::new(code, format!("The source `{}` cannot be listed: {problem}.", self.source.name()))
    }

    /// Returns the error for a request without an answer.
    fn failed(&self, url: &Url, error: &HttpError) -> ListError {
        let reason = format!("{}: {error}", display_url(url));
        match error {
            HttpError::TooLarge(_) => self
                .fault(ErrorCode::CapabilityMissing, &reason)
                .with_hint("Check url of the source: pages of its host are not that large.")
                .into(),
            _ => ListError::Unavailable { reason },
        }
    }
}
