//! Calls to the API of a forge: headers, limits, redirections, the meaning of answers, and retries.

use std::time::Duration;

use contract::config::ForgeKind;
use contract::{ErrorCode, Fault, echo_within};
use platform::outbound::{Answer, HttpError, Url, display_url, http_url, https_or_loopback_url};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Forge;
use super::faults::not_retryable;
use super::token::Token;
use crate::links::{below, server_of};
use crate::rate_limit::retry_after;

/// Largest answer.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Longest quote of a forge's refusal, in characters.
const QUOTED_CHARS_MAX: usize = 200;
/// Longest address of a pull request, in bytes.
const URL_BYTES_MAX: usize = 1000;
/// The waits before a step is tried again.
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The longest wait that a forge may ask for; after a longer one, the caller is asked to call again later.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The hint for a forge that fails temporarily.
const CALL_AGAIN: &str = "Call again; what was done already is not done twice.";
/// The hint for answers that are not those of a forge.
const CHECK_API: &str = "Check kind and api of the forge: another program may answer at this address.";
/// The hint for a token that is not accepted.
pub(super) const REPLACE_TOKEN: &str =
    "The operator writes a valid token into the token_file: this one is wrong, revoked or expired.";

/// The reason why a call did not succeed.
pub(super) enum CallError {
    /// Another attempt may succeed, after this time at the earliest.
    Again {
        /// Time that the forge asks to wait.
        wait: Duration,
        /// The fault, if there is no further attempt.
        fault: Fault,
    },
    /// No other attempt succeeds.
    Final(Fault),
}

impl From<Fault> for CallError {
    fn from(fault: Fault) -> Self {
        Self::Final(fault)
    }
}

impl CallError {
    pub(super) fn into_fault(self) -> Fault {
        match self {
            Self::Again { fault, .. } | Self::Final(fault) => fault,
        }
    }
}

/// Counts the attempts at one step.
#[derive(Default)]
pub(super) struct Retries {
    waited: usize,
}

impl Retries {
    /// Waits until the step may be tried again.
    ///
    /// # Errors
    /// The fault of the call, if there is no further attempt.
    pub(super) async fn wait_after(&mut self, error: CallError) -> Result<(), Fault> {
        let (wait, fault) = match error {
            CallError::Again { wait, fault } => (wait, fault),
            CallError::Final(fault) => return Err(fault),
        };
        match WAITS.get(self.waited) {
            Some(own) if wait <= WAIT_MAX => {
                self.waited += 1;
                tokio::time::sleep(wait.max(*own)).await;
                Ok(())
            }
            _ => Err(fault),
        }
    }
}

/// Repeats a step of an async function while the forge fails temporarily. A step that changes something checks before it acts, because a
/// failed call may still have had its effect.
macro_rules! retried {
    ($step:expr) => {{
        let mut retries = Retries::default();
        loop {
            match $step.await {
                Ok(done) => break done,
                Err(error) => retries.wait_after(error).await?,
            }
        }
    }};
}
pub(super) use retried;

/// The calls of one operation of this program.
pub(super) struct Session<'a> {
    forge: &'a Forge,
    token: Token,
    key: Option<&'a str>,
}

impl<'a> Session<'a> {
    /// Reads the token.
    ///
    /// # Errors
    /// As [`Token::read`].
    pub(super) async fn open(forge: &'a Forge, key: Option<&'a str>) -> Result<Self, Fault> {
        Ok(Self { forge, token: Token::read(&forge.settings).await?, key })
    }

    /// The address of something below the API. A slash in a segment is encoded.
    pub(super) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        below(&self.forge.root, segments, query)
    }

    /// Requests an object; `None` if it does not exist.
    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, CallError> {
        let answer = self.ask(url).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        self.read(url, &self.accepted(url, answer)?).map(Some)
    }

    /// Adds an object. The call is idempotent.
    pub(super) async fn add<T: DeserializeOwned>(&self, url: &Url, body: &Value) -> Result<T, CallError> {
        self.post(url, body, None).await
    }

    /// Creates an object that must not be created twice: the call identifies its publication.
    pub(super) async fn create<T: DeserializeOwned>(&self, url: &Url, body: &Value) -> Result<T, CallError> {
        self.post(url, body, self.key).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        url: &Url,
        body: &Value,
        key: Option<&str>,
    ) -> Result<T, CallError> {
        let credentials = self.credentials();
        let mut headers = self.headers(&credentials);
        headers.extend(key.map(|key| ("idempotency-key", key)));
        let sent = self.forge.http.post(url, &headers, body, ANSWER_BYTES_MAX).await;
        let answer = self.received(url, sent)?;
        self.read(url, &self.accepted(url, answer)?)
    }

    /// Sends a request, and returns the answer whatever its status is, except for a redirection, which is followed or refused.
    pub(super) async fn ask(&self, url: &Url) -> Result<Answer, CallError> {
        let credentials = self.credentials();
        let sent = self.forge.http.get(url, &self.headers(&credentials), ANSWER_BYTES_MAX).await;
        let answer = self.received(url, sent)?;
        if !is_redirection(answer.status) {
            return Ok(answer);
        }
        let Some(target) = self.redirected(url, &answer) else { return Err(self.refused(url, &answer)) };
        // The token is for the forge alone.
        let sent = self.forge.http.get(&target, &[("accept", "application/json")], ANSWER_BYTES_MAX).await;
        // Errors name the requested address: the forge may have answered with any other.
        let answer = self.received(url, sent)?;
        if is_redirection(answer.status) { Err(self.refused(url, &answer)) } else { Ok(answer) }
    }

    /// Returns the target of a redirection, if it is on one of the configured hosts.
    fn redirected(&self, url: &Url, answer: &Answer) -> Option<Url> {
        let target = url.join(answer.header("location")?).ok()?;
        let target = https_or_loopback_url(target.as_str()).ok()?;
        let is_listed = self.forge.settings.redirect_hosts.contains(&server_of(&target));
        (is_listed && target.username().is_empty() && target.password().is_none()).then_some(target)
    }

    /// The value of the header with the token.
    fn credentials(&self) -> String {
        match self.forge.settings.kind {
            ForgeKind::Github => format!("Bearer {}", self.token.expose()),
            ForgeKind::Gitlab => self.token.expose().to_owned(),
        }
    }

    fn headers<'h>(&self, credentials: &'h str) -> Vec<(&'static str, &'h str)> {
        match self.forge.settings.kind {
            ForgeKind::Github => vec![
                ("accept", "application/vnd.github+json"),
                ("x-github-api-version", "2022-11-28"),
                ("authorization", credentials),
            ],
            ForgeKind::Gitlab => vec![("accept", "application/json"), ("private-token", credentials)],
        }
    }

    /// Counts a call, and returns the error if there was no answer.
    fn received(&self, url: &Url, sent: Result<Answer, HttpError>) -> Result<Answer, CallError> {
        (self.forge.on_call)(outcome(&sent));
        sent.map_err(|error| {
            let message = format!("A call to the forge at {} failed: {error}.", display_url(url));
            match error {
                HttpError::TooLarge(_) => not_retryable(message)
                    .with_hint("Check api of the forge: its answers are not that large.")
                    .into(),
                _ => CallError::Again {
                    wait: Duration::ZERO,
                    fault: Fault::new(ErrorCode::CommitServiceError, message).with_hint(CALL_AGAIN),
                },
            }
        })
    }

    /// A successful answer.
    pub(super) fn accepted(&self, url: &Url, answer: Answer) -> Result<Answer, CallError> {
        if (200..300).contains(&answer.status) { Ok(answer) } else { Err(self.refused(url, &answer)) }
    }

    /// Reads the body of a successful answer.
    pub(super) fn read<T: DeserializeOwned>(&self, url: &Url, answer: &Answer) -> Result<T, CallError> {
        serde_json::from_slice(&answer.body).map_err(|_| self.unexpected(url, "its answer has another form"))
    }

    /// Returns the error for an answer that is not one of this API.
    pub(super) fn unexpected(&self, url: &Url, problem: &str) -> CallError {
        not_retryable(format!(
            "The forge answered something other than expected at {}: {problem}.",
            display_url(url)
        ))
        .with_hint(CHECK_API)
        .into()
    }

    /// Checks the id of an object in a forge's answer.
    pub(super) fn object_id(&self, url: &Url, id: &str) -> Result<String, CallError> {
        let is_id = id.len() == 40 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_id { Ok(id.to_owned()) } else { Err(self.unexpected(url, "it names an object without an id")) }
    }

    /// Checks the address and the number of a pull request in a forge's answer.
    pub(super) fn pull_request(
        &self,
        url: &Url,
        page: String,
        number: i64,
    ) -> Result<(String, i64), CallError> {
        let is_plain = page.len() <= URL_BYTES_MAX && page.bytes().all(|byte| byte.is_ascii_graphic());
        if number > 0 && is_plain && http_url(&page).is_ok() && !self.token.may_be_in(&page) {
            Ok((page, number))
        } else {
            Err(self.unexpected(url, "it names a pull request without an address or a number"))
        }
    }

    /// Returns `true` if a text contains the token, or may contain another one, so that it must not be shown.
    pub(super) fn may_have_token(&self, text: &str) -> bool {
        self.token.may_be_in(text)
    }

    /// Returns the error for an unsuccessful answer.
    pub(super) fn refused(&self, url: &Url, answer: &Answer) -> CallError {
        let status = answer.status;
        let said = self.quoted(answer).map(|said| format!(": {said}")).unwrap_or_default();
        let message = format!("The forge answered {} with status {status}{said}.", display_url(url));
        if let Some(wait) = retry_after(answer, self.forge.clock.now().as_second()) {
            let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let fault = Fault::new(ErrorCode::CommitServiceError, message)
                .with_details(json!({ "status": status, "retryAfterMs": milliseconds }))
                .with_hint("The forge limits the rate of calls; call again after `retryAfterMs`.");
            return CallError::Again { wait, fault };
        }
        let fault = Fault::new(ErrorCode::CommitServiceError, message)
            .with_details(json!({ "status": status }))
            .with_hint(hint(status));
        if matches!(status, 408 | 500..=599) {
            CallError::Again { wait: Duration::ZERO, fault }
        } else {
            CallError::Final(Fault { retryable: false, ..fault })
        }
    }

    /// Quotes the forge's explanation of a refusal, unless it may contain a token.
    fn quoted(&self, answer: &Answer) -> Option<String> {
        let body: Value = serde_json::from_slice(&answer.body).ok()?;
        let said = match body.get("message").or_else(|| body.get("error"))? {
            Value::String(said) => said.clone(),
            other => other.to_string(),
        };
        let is_secret = self.token.may_be_in(&said);
        (!is_secret && !said.is_empty()).then(|| echo_within(said.trim_end_matches('.'), QUOTED_CHARS_MAX))
    }
}

fn is_redirection(status: u16) -> bool {
    matches!(status, 301..=303 | 307 | 308)
}

/// Returns the class of an answer, or the reason why there was none.
fn outcome(sent: &Result<Answer, HttpError>) -> &'static str {
    match sent {
        Ok(answer) => match answer.status / 100 {
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            5 => "5xx",
            _ => "other",
        },
        Err(HttpError::TooLarge(_)) => "too_large",
        Err(HttpError::Refused) => "refused",
        Err(_) => "unreachable",
    }
}

/// Returns the hint for a status.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => {
            "The address moved: the operator corrects api or repo, or lists the host in redirect_hosts."
        }
        401 => REPLACE_TOKEN,
        403 => "The operator lets the token write to the repository and open pull requests.",
        404 => {
            "The operator corrects repo of the site, or lets the token see the repository: forges hide what is private."
        }
        400 | 409 | 422 => "Look at the branch and the pull requests of the repository, and call again.",
        408 | 500..=599 => CALL_AGAIN,
        _ => CHECK_API,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_the_class_of_their_answer() {
        let with = |status| Ok(Answer { status, ..Answer::default() });
        let seen = [with(200), with(201), with(302), with(422), with(503)].map(|sent| outcome(&sent));
        assert_eq!(seen, ["2xx", "2xx", "3xx", "4xx", "5xx"]);
        assert_eq!(outcome(&Err(HttpError::TooLarge(1))), "too_large");
        assert_eq!(outcome(&Err(HttpError::Unreachable(String::new()))), "unreachable");
    }

    #[tokio::test]
    async fn nothing_is_tried_again_that_cannot_succeed_soon() {
        let fault = || Fault::new(ErrorCode::CommitServiceError, "m");
        let mut retries = Retries::default();
        assert!(retries.wait_after(CallError::Final(fault())).await.is_err());
        let long = CallError::Again { wait: WAIT_MAX + Duration::from_secs(1), fault: fault() };
        assert!(retries.wait_after(long).await.is_err_and(|fault| fault.retryable));
        let mut used_up = Retries { waited: WAITS.len() };
        let short = CallError::Again { wait: Duration::ZERO, fault: fault() };
        assert!(used_up.wait_after(short).await.is_err());
    }
}
