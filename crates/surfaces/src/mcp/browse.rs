//! Runs the operations behind prompts, resources and completion through the gate.

use std::sync::Arc;

use rmcp::ErrorData;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::wire;
use contract::{Fault, Refusal, Violation};
use gate::app::App;
use gate::tools::browse::browse;
use gate::tools::{Caller, Request, ToolSpec};

/// A request for prompts, resources or completion.
pub(super) struct BrowseRequest<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) caller: Caller,
    /// Fires when the client cancels.
    pub(super) cancel: CancellationToken,
}

impl BrowseRequest<'_> {
    /// Runs an operation and deserialises its result. Results of these methods cannot report a failure, so every failure is a
    /// JSON-RPC error.
    pub(super) async fn run<T: DeserializeOwned>(
        self,
        operation: &ToolSpec,
        arguments: impl Serialize,
    ) -> Result<T, ErrorData> {
        let arguments = serde_json::to_value(arguments).unwrap_or_default();
        let Self { app, caller, cancel } = self;
        let request = Request { cancel, ..Request::new(operation.name, arguments, caller) };
        let envelope = browse(app, request).await.map_err(|refusal| wire::refusal_error(&refusal))?;
        if let Some(error) = envelope.error {
            return Err(wire::failed_call_error(error));
        }
        let result = envelope.result.unwrap_or_default();
        serde_json::from_value(result)
            .map_err(|error| wire::fault_error(&Fault::internal("The answer could not be read.", error)))
    }
}

/// A violated rule of a parameter.
pub(super) struct ParameterViolation {
    /// The parameters of the rule, for example the allowed values.
    pub(super) params: Value,
    /// One sentence, without the value.
    pub(super) message: String,
    /// The value, shortened for display.
    pub(super) value: Option<String>,
}

/// Returns the error for an invalid parameter, in the same form as the gate's for an invalid argument.
pub(super) fn invalid_parameter(parameter: &str, keyword: &str, wrong: ParameterViolation) -> ErrorData {
    wire::refusal_error(&Refusal::InvalidArguments(vec![Violation {
        instance_path: format!("/{parameter}"),
        schema_path: format!("#/properties/{}/{keyword}", parameter.replace('/', "/properties/")),
        keyword: keyword.to_owned(),
        params: wrong.params,
        message: wrong.message,
        value: wrong.value,
    }]))
}
