//! Asks the gate for what stands behind prompts, resources and completion.

use std::sync::Arc;

use rmcp::ErrorData;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::wire;
use crate::app::App;
use crate::tools::browse::browse;
use crate::tools::{Caller, Progress, Request, ToolSpec};
use contract::{Fault, Refusal, Violation};

/// One request, as the handlers of this surface share it.
pub(super) struct Asked<'a> {
    /// The application.
    pub(super) app: &'a Arc<App>,
    /// Who asks.
    pub(super) caller: Caller,
    /// Fires when the client cancels.
    pub(super) cancel: CancellationToken,
}

impl Asked<'_> {
    /// Runs an operation and reads its answer. These methods have no results that say what failed, so every failure is
    /// a JSON-RPC error.
    pub(super) async fn run<T: DeserializeOwned>(
        self,
        operation: &ToolSpec,
        arguments: impl Serialize,
    ) -> Result<T, ErrorData> {
        let arguments = serde_json::to_value(arguments).unwrap_or_default();
        let Self { app, caller, cancel } = self;
        let request = Request {
            tool: operation.name.to_owned(),
            arguments,
            caller,
            cancel,
            progress: Progress::default(),
        };
        let envelope = browse(app, request).await.map_err(|refusal| wire::refusal(&refusal))?;
        if let Some(error) = envelope.error {
            return Err(wire::failure(error));
        }
        let result = envelope.result.unwrap_or_default();
        serde_json::from_value(result)
            .map_err(|error| wire::fault(&Fault::internal("The answer could not be read.", error)))
    }
}

/// What is wrong with a parameter.
pub(super) struct Broken {
    /// What its rule demands.
    pub(super) params: Value,
    /// One sentence, without the value.
    pub(super) message: String,
    /// The value as it may be shown.
    pub(super) value: Option<String>,
}

/// A parameter that breaks its rule, refused as the gate refuses an argument.
pub(super) fn broken(parameter: &str, keyword: &str, wrong: Broken) -> ErrorData {
    wire::refusal(&Refusal::InvalidArguments(vec![Violation {
        instance_path: format!("/{parameter}"),
        schema_path: format!("#/properties/{}/{keyword}", parameter.replace('/', "/properties/")),
        keyword: keyword.to_owned(),
        params: wrong.params,
        message: wrong.message,
        value: wrong.value,
    }]))
}
