//! [`Refusal`]: the reason why a call was not run.

use serde::Serialize;

use super::echo::{echo, truncate_chars};
use super::{ErrorCode, Fault};

/// One violation of a tool's input schema, in the JSON form of the validator Ajv.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// JSON pointer to the offending value; empty for the arguments object itself.
    pub instance_path: String,
    /// JSON pointer to the rule in the input schema.
    pub schema_path: String,
    /// The JSON Schema keyword that failed.
    pub keyword: String,
    /// Parameters of the keyword, with the names that Ajv uses: `allowedValues`, `limit`, `type`, `pattern` …
    pub params: serde_json::Value,
    /// One sentence for people and models, without the wrong value; may suggest the nearest valid field name.
    pub message: String,
    /// The wrong value, truncated to [`super::ECHO_CHARS_MAX`] characters. Only the summary contains the value, so that it occurs
    /// once in an answer.
    #[serde(skip)]
    pub value: Option<String>,
}

/// Maximum number of violations that an answer lists; further ones are only counted.
const VIOLATIONS_MAX: usize = 16;
/// Maximum length of a summary of violations, in characters.
const SUMMARY_CHARS_MAX: usize = 4000;

/// The reason why a call was not run. Reported as a JSON-RPC error over MCP, as status 4xx or 503 over HTTP, and as exit code 2
/// by the CLI.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// The tool does not exist.
    UnknownTool {
        /// The unknown name.
        name: String,
        /// The most similar tool name, if one is similar enough to suggest.
        nearest: Option<&'static str>,
    },
    /// The arguments break the tool's input schema.
    InvalidArguments(Vec<Violation>),
    /// The queue is full.
    QueueOverloaded {
        /// Calls that the queue can hold.
        max: usize,
        /// Calls waiting or running now.
        size: usize,
    },
    /// The caller exceeded its rate limit.
    RateLimited {
        /// The caller's rate limit.
        calls_per_minute: u32,
        /// Milliseconds until the same call is accepted.
        retry_after_ms: u64,
    },
    /// The tool exists but is disabled, for the given reason: read-only mode or its toolset.
    Disabled(String),
    /// The caller lacks permission, for the given reason.
    Forbidden(String),
}

impl Refusal {
    /// Returns the error code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownTool { .. } => ErrorCode::UnknownTool,
            Self::InvalidArguments(_) => ErrorCode::InvalidRequest,
            Self::QueueOverloaded { .. } => ErrorCode::QueueOverloaded,
            Self::RateLimited { .. } => ErrorCode::RateLimited,
            Self::Disabled(_) => ErrorCode::MutationDisabled,
            Self::Forbidden(_) => ErrorCode::Forbidden,
        }
    }

    /// Converts the refusal to a fault with message, hint and details.
    #[must_use]
    pub fn to_fault(&self) -> Fault {
        match self {
            Self::UnknownTool { name, nearest } => {
                let fault = Fault::new(ErrorCode::UnknownTool, format!("Unknown tool `{}`.", echo(name)));
                match nearest {
                    Some(nearest) => fault.with_hint(format!("Did you mean `{nearest}`?")),
                    None => fault
                        .with_hint("List the tools with `tools/list`, GET /tools or `pairofcleats tools`."),
                }
            }
            Self::InvalidArguments(violations) => {
                let listed = &violations[..violations.len().min(VIOLATIONS_MAX)];
                Fault::new(ErrorCode::InvalidRequest, summary(listed, violations.len(), true))
                    .with_details(serde_json::to_value(listed).unwrap_or_default())
                    .with_hint("Correct what the message names, and send it again.")
            }
            Self::QueueOverloaded { max, size } => {
                Fault::new(ErrorCode::QueueOverloaded, "The server is busy and its queue is full.")
                    .with_details(serde_json::json!({ "queue": { "max": max, "size": size } }))
                    .with_hint("Try again in a second, with fewer calls at a time.")
            }
            Self::RateLimited { calls_per_minute, retry_after_ms } => Fault::new(
                ErrorCode::RateLimited,
                format!("More than {calls_per_minute} calls a minute."),
            )
            .with_details(
                serde_json::json!({ "callsPerMinute": calls_per_minute, "retryAfterMs": retry_after_ms }),
            )
            .with_hint("Wait as long as retryAfterMs says, or ask the operator for a higher limit."),
            Self::Disabled(reason) => Fault::new(self.code(), reason.clone()).with_hint(
                "The operator can enable it in the configuration; a limit of your own connection ends with it.",
            ),
            Self::Forbidden(reason) => Fault::new(self.code(), reason.clone()),
        }
    }

    /// Returns the message without the caller's values, for the second copy of the message in an answer.
    #[must_use]
    pub fn message_without_values(&self) -> String {
        match self {
            Self::UnknownTool { .. } => "Unknown tool.".to_owned(),
            Self::InvalidArguments(violations) => {
                let listed = &violations[..violations.len().min(VIOLATIONS_MAX)];
                summary(listed, violations.len(), false)
            }
            other => other.to_fault().message,
        }
    }
}

/// Joins the messages of the `listed` violations; `count` is the number of all violations.
fn summary(listed: &[Violation], count: usize, with_values: bool) -> String {
    let mut sentences: Vec<String> = listed
        .iter()
        .map(|violation| match violation.value.as_deref().filter(|_| with_values) {
            Some(value) => format!("{} It was {value}.", violation.message),
            None => violation.message.clone(),
        })
        .collect();
    if count > listed.len() {
        sentences.push(format!("{} more rules are broken.", count - listed.len()));
    }
    truncate_chars(sentences.join(" "), SUMMARY_CHARS_MAX)
}
