//! The reason why a page cannot be shown, with the status that it is answered with.

use axum::http::StatusCode;

use contract::{ErrorBody, ErrorCode};

/// The reason why a page, or a part of it, cannot be shown.
#[derive(Debug)]
pub struct PageError {
    /// The status of the answer.
    pub status: StatusCode,
    /// The error code.
    pub code: &'static str,
    /// One sentence: the reason.
    pub message: String,
    /// A proposal for what to do next.
    pub hint: Option<String>,
}

impl PageError {
    /// Creates the error of a code, with the status of that code.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: status(code), code: code.as_str(), message: message.into(), hint: None }
    }

    /// Returns `true` if nothing was done because the request cannot be carried out as it is. After other errors something may
    /// have been done all the same: at the time limit, for example, a call may just have finished.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.status.is_client_error() && self.code != ErrorCode::Cancelled.as_str()
    }

    /// Returns `true` if nothing was indexed yet, which is the initial state of every project.
    pub fn is_unindexed(&self) -> bool {
        self.code == ErrorCode::NoIndex.as_str()
    }
}

impl From<ErrorBody> for PageError {
    fn from(error: ErrorBody) -> Self {
        let (status, code) = (status(error.code), error.code.as_str());
        Self { status, code, message: error.message, hint: error.hint }
    }
}

impl From<contract::Fault> for PageError {
    fn from(fault: contract::Fault) -> Self {
        Self { hint: fault.hint, ..Self::new(fault.code, fault.message) }
    }
}

fn status(code: ErrorCode) -> StatusCode {
    // A page about a project or repository that is not indexed does not exist.
    if code == ErrorCode::NoIndex {
        return StatusCode::NOT_FOUND;
    }
    StatusCode::from_u16(code.info().http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_is_sure_to_have_changed_nothing() {
        let is_refusal = |code| PageError::new(code, "").is_refusal();
        for code in [ErrorCode::InvalidRequest, ErrorCode::Forbidden, ErrorCode::IllegalState] {
            assert!(is_refusal(code), "{code}");
        }
        for code in
            [ErrorCode::ToolTimeout, ErrorCode::Cancelled, ErrorCode::StorageUnavailable, ErrorCode::Internal]
        {
            assert!(!is_refusal(code), "{code}");
        }
    }
}
