//! The JSON envelope around every answer, on every surface.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Coverage, ErrorCode, Fault, SCHEMA_VERSION, TOOLING_VERSION, truncate_chars};

/// Success or failure of one call. Nothing else is ever merged into the top level.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Envelope {
    /// True when `result` is present, false when `error` is.
    pub ok: bool,
    /// What the tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Identifies a launch run; only for run-scoped tools (L).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// About the answer.
    #[serde(rename = "_meta")]
    pub meta: Meta,
}

/// The public form of a [`Fault`].
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// A code of `contracts/errors.json`.
    pub code: ErrorCode,
    /// What happened, for people.
    pub message: String,
    /// True only when the same call can succeed later unchanged.
    pub retryable: bool,
    /// One sentence that says what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Structured facts about the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Facts about the answer itself.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Meta {
    /// Version of this contract (SemVer).
    #[serde(rename = "schemaVersion")]
    pub schema_version: String,
    /// Version of the server.
    #[serde(rename = "toolingVersion")]
    pub tooling_version: String,
    /// When the answer was made, UTC, ISO-8601 with milliseconds.
    pub ts: String,
    /// Correlation id of the request.
    #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The repository the call was about, as the caller named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The project the call was about; null is the default workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Value>,
    /// Which rule chose the project: argument, session, workflow-mcp or default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_decided_by: Option<String>,
    /// Which repositories were searched, and which rule chose them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<SearchScope>,
    /// Where an empty or partial answer looked, and what is not indexed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// How long the call took, in milliseconds.
    #[serde(rename = "durationMs", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What the caller should know although the call succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<Warning>,
    /// The call that helps most now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
}

/// A call to make: it fits the tool's input schema, and the caller may make it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Next {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// The repositories that a search was limited to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchScope {
    /// Names of the repositories; `*` stands for all of the project.
    pub repositories: Vec<String>,
    /// The rule: argument, roots (the client's), directory (where the caller works) or default.
    #[serde(rename = "decidedBy")]
    pub decided_by: String,
}

/// A structured warning.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier, snake case.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// Structured facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Warning {
    /// Creates a warning without details.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), details: None }
    }
}

impl Meta {
    /// Creates metadata with only the required fields; `ts` is the time of the answer.
    #[must_use]
    pub fn new(ts: String) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            tooling_version: TOOLING_VERSION.to_owned(),
            ts,
            request_id: None,
            repo: None,
            project_id: None,
            project_decided_by: None,
            scope: None,
            coverage: None,
            duration_ms: None,
            warnings: Vec::new(),
            next: None,
        }
    }
}

impl Envelope {
    /// Creates the envelope of a result.
    #[must_use]
    pub fn success(result: Value, meta: Meta) -> Self {
        Self { ok: true, result: Some(result), error: None, run_id: None, meta }
    }

    /// Returns the same envelope with the id of a launch run, if there is one.
    #[must_use]
    pub fn with_run_id(self, run_id: Option<String>) -> Self {
        Self { run_id, ..self }
    }

    /// Creates the envelope of an error.
    #[must_use]
    pub fn failure(fault: &Fault, meta: Meta) -> Self {
        Self { ok: false, result: None, error: Some(ErrorBody::from(fault)), run_id: None, meta }
    }
}

/// Maximum length of an error message, in characters.
const MESSAGE_CHARS_MAX: usize = 4000;
/// Maximum length of a hint, and of each text in the details, in characters.
const TEXT_CHARS_MAX: usize = 2000;

impl From<&Fault> for ErrorBody {
    /// Returns the public part of a fault, with truncated texts, so that no answer grows with its request.
    fn from(fault: &Fault) -> Self {
        let mut details = fault.details.clone();
        details.as_mut().into_iter().for_each(truncate_texts);
        Self {
            code: fault.code,
            message: truncate_chars(fault.message.clone(), MESSAGE_CHARS_MAX),
            retryable: fault.retryable,
            hint: fault.hint.clone().map(|hint| truncate_chars(hint, TEXT_CHARS_MAX)),
            details,
        }
    }
}

/// Truncates the texts in `value` to [`TEXT_CHARS_MAX`].
fn truncate_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = truncate_chars(std::mem::take(text), TEXT_CHARS_MAX),
        Value::Array(items) => items.iter_mut().for_each(truncate_texts),
        Value::Object(fields) => fields.values_mut().for_each(truncate_texts),
        _ => {}
    }
}
