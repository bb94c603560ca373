//! The table of all error codes, and [`Fault`], the error of a call that ran and failed.

use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{escape_invisible, escaped_invisible};

/// One row of the public error table (`contracts/errors.json`).
#[derive(Debug, Clone, Serialize)]
pub struct ErrorInfo {
    /// The code, as sent to clients.
    pub code: ErrorCode,
    /// HTTP status of an answer with this code.
    pub http: u16,
    /// JSON-RPC error code, for codes of refused calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_rpc: Option<i32>,
    /// `true` if the same call can succeed later unchanged; a [`Fault`] can override this.
    pub retryable: bool,
    /// The meaning of the code.
    pub meaning: &'static str,
}

macro_rules! error_codes {
    ($($variant:ident $wire:literal $http:literal $rpc:expr, $retry:literal, $meaning:literal;)*) => {
        /// The closed set of error codes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        pub enum ErrorCode {
            $(#[doc = $meaning] #[serde(rename = $wire)] $variant,)*
        }

        impl ErrorCode {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the row of the table for this code.
            #[must_use]
            pub fn info(self) -> ErrorInfo {
                match self {
                    $(Self::$variant => ErrorInfo {
                        code: self, http: $http, json_rpc: $rpc, retryable: $retry, meaning: $meaning,
                    },)*
                }
            }

            /// Returns the code with this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
            }

            /// Returns the code, as sent to clients.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)* }
            }
        }
    };
}

// Removing a code is a new major version.
error_codes! {
    InvalidRequest "INVALID_REQUEST" 400 Some(-32602), false, "The request is malformed or breaks the schema.";
    ValidationError "VALIDATION_ERROR" 400 None, false, "A value breaks its rule; details name field, value and constraint.";
    InvalidInput "INVALID_INPUT" 400 None, false, "The input of a launch tool cannot be used.";
    SchemaValidationFailed "SCHEMA_VALIDATION_FAILED" 422 None, false, "A document does not match its schema.";
    InvalidUrl "INVALID_URL" 400 None, false, "The URL is malformed.";
    UnsupportedSite "UNSUPPORTED_SITE" 400 None, false, "The site is not supported.";
    Unauthorized "UNAUTHORIZED" 401 None, false, "No valid credentials.";
    Forbidden "FORBIDDEN" 403 Some(-32003), false, "The caller lacks permission for this operation.";
    PermissionDenied "PERMISSION_DENIED" 403 None, false, "The database login lacks a privilege; details suggest the remedy.";
    NotFound "NOT_FOUND" 404 None, false, "Not found.";
    RunNotFound "RUN_NOT_FOUND" 404 None, false, "The launch run does not exist.";
    RepoNotFound "REPO_NOT_FOUND" 404 None, false, "The repository does not exist.";
    UnknownTool "UNKNOWN_TOOL" 404 Some(-32602), false, "The tool does not exist.";
    NoIndex "NO_INDEX" 409 None, false, "Nothing has been indexed here yet.";
    IllegalState "ILLEGAL_STATE" 409 None, false, "The operation is not possible in the current state.";
    MutationDisabled "MUTATION_DISABLED" 403 Some(-32002), false, "Write operations are disabled.";
    CapabilityMissing "CAPABILITY_MISSING" 501 None, false, "A required component is not installed.";
    ToolchainMissing "TOOLCHAIN_MISSING" 501 None, false, "A required toolchain is not installed.";
    GateFailed "GATE_FAILED" 409 None, false, "A quality gate failed.";
    FixExhausted "FIX_EXHAUSTED" 409 None, false, "The allowed number of fixes is exhausted.";
    AllowedPathsViolation "ALLOWED_PATHS_VIOLATION" 409 None, false, "A change is outside the allowed paths.";
    CommitServiceError "COMMIT_SERVICE_ERROR" 502 None, true, "A git host could not be reached, or failed.";
    Cancelled "CANCELLED" 499 None, false, "The client cancelled the call.";
    ToolTimeout "TOOL_TIMEOUT" 504 None, true, "The call timed out.";
    QueueOverloaded "QUEUE_OVERLOADED" 503 Some(-32001), true, "The queue is full.";
    RateLimited "RATE_LIMITED" 429 Some(-32004), true, "Too many calls.";
    StorageUnavailable "STORAGE_UNAVAILABLE" 503 None, true, "The database cannot be reached, is full or is too old.";
    DownloadVerifyFailed "DOWNLOAD_VERIFY_FAILED" 502 None, true, "A downloaded file is not the expected one.";
    ArchiveUnsafe "ARCHIVE_UNSAFE" 422 None, false, "An archive contains an unsafe entry.";
    ArchiveTooLarge "ARCHIVE_TOO_LARGE" 422 None, false, "An archive is larger than allowed.";
    Internal "INTERNAL" 500 None, false, "A defect of the server; the log has more.";
}

/// Returns the whole table, as published.
#[must_use]
pub fn error_table() -> Vec<ErrorInfo> {
    ErrorCode::ALL.iter().map(|code| code.info()).collect()
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of a call that ran and failed: the public part, which the envelope contains, and the cause for the log.
#[derive(Debug)]
pub struct Fault {
    /// The error code.
    pub code: ErrorCode,
    /// The message for people. Never contains SQL, a stack trace, or a server path that the caller did not send.
    pub message: String,
    /// One sentence that says what to do.
    pub hint: Option<String>,
    /// The hint for a caller on this machine; may contain paths of this machine. Never sent to remote callers.
    pub local_hint: Option<String>,
    /// Structured details.
    pub details: Option<Value>,
    /// `true` if the same call can succeed later unchanged.
    pub retryable: bool,
    /// The cause, for the log only.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// Creates a fault without hint and details, retryable if its code is.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            local_hint: None,
            details: None,
            retryable: code.info().retryable,
            source: None,
        }
    }

    /// Creates an `INTERNAL` fault: `context` says what failed; the source is for the log.
    pub fn internal(context: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorCode::Internal, context)
            .with_source(source)
            .with_hint("Look at the server's log and report it with the request id.")
    }

    /// Escapes invisible and reordering characters in all texts, which may quote untrusted file names.
    pub fn escape_invisible(&mut self) {
        for text in
            [Some(&mut self.message), self.hint.as_mut(), self.local_hint.as_mut()].into_iter().flatten()
        {
            *text = escaped_invisible(text).into_owned();
        }
        self.details.as_mut().map(escape_invisible);
    }

    /// Adds a hint: one sentence that says what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint for callers on this machine, which may contain paths. Remote callers get the hint of [`Fault::with_hint`].
    #[must_use]
    pub fn with_local_hint(mut self, hint: impl Into<String>) -> Self {
        self.local_hint = Some(hint.into());
        self
    }

    /// Replaces the hint by the local one, for a caller on this machine.
    #[must_use]
    pub fn for_local_caller(mut self) -> Self {
        self.hint = self.local_hint.take().or(self.hint);
        self
    }

    /// Adds structured details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Adds the cause, for the log only.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_serialise_as_their_text() -> Result<(), serde_json::Error> {
        let mut seen = std::collections::HashSet::new();
        for code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{code} is not unique");
            assert_eq!(serde_json::to_value(code)?, code.as_str());
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
        }
        Ok(())
    }
}
