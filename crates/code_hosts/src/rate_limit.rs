//! Recognises answers by which hosts accept no further requests for a while.

use std::time::Duration;

use platform::outbound::Answer;

/// The wait if the host names none; GitHub asks for at least this much.
const DEFAULT_SECONDS: u64 = 60;
/// The longest wait that is believed: a day.
const SECONDS_MAX: u64 = 86_400;

/// Returns the time to wait before further requests, if the answer says that there were too many. `now` is in seconds since the epoch.
pub(crate) fn retry_after(answer: &Answer, now: i64) -> Option<Duration> {
    let is_limit = match answer.status {
        429 => true,
        // GitHub answers in this way, too; other answers with this status are about permissions.
        403 => answer.header("retry-after").is_some() || is_used_up(answer) || mentions_limit(&answer.body),
        _ => false,
    };
    let seconds =
        || seconds_to_wait(answer).or_else(|| seconds_to_reset(answer, now)).unwrap_or(DEFAULT_SECONDS);
    is_limit.then(|| Duration::from_secs(seconds().clamp(1, SECONDS_MAX)))
}

fn is_used_up(answer: &Answer) -> bool {
    let remaining = answer.header("x-ratelimit-remaining").or_else(|| answer.header("ratelimit-remaining"));
    remaining.is_some_and(|remaining| remaining.trim() == "0")
}

/// Returns `true` if a message is about the secondary limits of GitHub, which some answers name in no header.
fn mentions_limit(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).to_ascii_lowercase().contains("rate limit")
}

/// Returns the header `retry-after`. It could also be a date, which no host sends.
fn seconds_to_wait(answer: &Answer) -> Option<u64> {
    answer.header("retry-after")?.trim().parse().ok()
}

/// Returns the time until the limit is reset, which is given in seconds since the epoch. `None` if that has passed: then the clocks differ.
fn seconds_to_reset(answer: &Answer, now: i64) -> Option<u64> {
    let reset = answer.header("x-ratelimit-reset").or_else(|| answer.header("ratelimit-reset"))?;
    let reset: i64 = reset.trim().parse().ok()?;
    u64::try_from(reset.saturating_sub(now)).ok().filter(|seconds| *seconds > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::answer;

    const NOW: i64 = 1_770_000_000;

    fn seconds(status: u16, headers: &[(&str, &str)], body: &str) -> Option<u64> {
        retry_after(&answer(status, headers, body), NOW).map(|wait| wait.as_secs())
    }

    #[test]
    fn the_wait_is_the_one_that_the_host_names() {
        assert_eq!(seconds(429, &[("retry-after", "30")], ""), Some(30));
        assert_eq!(seconds(403, &[("retry-after", "30")], ""), Some(30));
        let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1770000900")];
        assert_eq!(seconds(403, &used_up, ""), Some(900));
        assert_eq!(
            seconds(429, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "1770000015")], ""),
            Some(15)
        );
        let both = [("retry-after", "5"), ("x-ratelimit-reset", "1770000900")];
        assert_eq!(seconds(429, &both, ""), Some(5));
    }

    #[test]
    fn waits_that_are_missing_or_absurd_are_replaced() {
        assert_eq!(seconds(429, &[], ""), Some(60));
        assert_eq!(seconds(403, &[], "You have exceeded a secondary rate limit."), Some(60));
        for (retry_after, expected) in [("0", 1), ("99999999999", 86_400), ("-5", 60), ("soon", 60), ("", 60)]
        {
            assert_eq!(seconds(429, &[("retry-after", retry_after)], ""), Some(expected), "{retry_after}");
        }
        for (reset, expected) in
            [("1769999999", 60), ("9223372036854775807", 86_400), ("-9223372036854775808", 60), ("x", 60)]
        {
            assert_eq!(seconds(429, &[("x-ratelimit-reset", reset)], ""), Some(expected), "{reset}");
        }
    }

    #[test]
    fn other_answers_are_not_limits() {
        assert_eq!(seconds(403, &[("x-ratelimit-remaining", "59")], "Resource not accessible"), None);
        assert_eq!(seconds(401, &[("x-ratelimit-remaining", "0")], "Bad credentials"), None);
        assert_eq!(seconds(503, &[("retry-after", "30")], ""), None);
        assert_eq!(seconds(200, &[("x-ratelimit-remaining", "0")], "[]"), None);
    }
}
