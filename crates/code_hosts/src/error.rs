//! The reasons why the repositories of a source could not be listed.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use contract::{ErrorCode, Fault};

/// A failure to list the repositories of a source. Pages that were read are in the page cache, so another attempt costs less.
#[derive(Debug)]
pub enum ListError {
    /// The host limits the rate of requests and accepts further ones after this time.
    Limited {
        /// From 1 second to a day.
        retry_after: Duration,
    },
    /// The host cannot be reached, is too slow or failed: another attempt may succeed.
    Unavailable {
        /// The cause, without credentials.
        reason: String,
    },
    /// The settings, the token or the host have to change first.
    Fault(Fault),
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited { retry_after } => {
                write!(f, "the host accepts further requests after {} s", retry_after.as_secs())
            }
            Self::Unavailable { reason } => f.write_str(reason),
            Self::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for ListError {}

impl From<Fault> for ListError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<ListError> for Fault {
    /// The fault for a caller who waits for the list.
    fn from(error: ListError) -> Self {
        match error {
            ListError::Fault(fault) => fault,
            ListError::Limited { retry_after } => {
                let seconds = retry_after.as_secs();
                Self::new(ErrorCode::RateLimited, "The code host limits the rate of requests.")
                    .with_hint(format!(
                        "Try again after {seconds} s; a token raises the limit of most hosts."
                    ))
                    .with_details(json!({ "retryAfterMs": seconds * 1000 }))
            }
            ListError::Unavailable { reason } => {
                let message = format!("The code host did not answer: {reason}.");
                let mut fault = Self::new(ErrorCode::CapabilityMissing, message)
                    .with_hint("Check whether this machine can reach the host, and try again.");
                fault.retryable = true;
                fault
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_learns_whether_and_when_to_try_again() {
        let limited = Fault::from(ListError::Limited { retry_after: Duration::from_secs(90) });
        assert_eq!((limited.code, limited.retryable), (ErrorCode::RateLimited, true));
        assert_eq!(limited.details, Some(json!({ "retryAfterMs": 90_000 })));
        let away = ListError::Unavailable { reason: "the connection was refused".into() };
        assert!(Fault::from(away).retryable);
        let final_fault = Fault::new(ErrorCode::InvalidInput, "The token is not accepted.");
        assert!(!Fault::from(ListError::from(final_fault)).retryable);
    }
}
