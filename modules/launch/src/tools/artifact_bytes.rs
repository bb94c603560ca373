//! A whole artifact, for the route that sends its bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_artifact::artifact_part;
use super::run_call::RunCall;
use super::spec::reading;
use contract::Fault;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};
use platform::sha256;

pub(crate) const TOOL: ToolSpec = reading(
    ("launch/artifact", "Send an artifact of a launch run", "All bytes of an artifact of a launch run."),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<ArtifactBytes>,
    |call, arguments| run_typed(call, arguments, artifact_bytes),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the run.
    run_id: String,
    /// Name of the artifact.
    artifact_name: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// A whole artifact.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ArtifactBytes {
    /// Media type.
    pub(crate) content_type: String,
    /// Hash of the bytes.
    pub(crate) sha256: String,
    /// The bytes, in base64.
    pub(crate) content: String,
}

async fn artifact_bytes(call: Call, input: Input) -> Result<ArtifactBytes, Fault> {
    let run = RunCall::for_reading(call, &input.run_id, input.project_id.as_deref()).await?;
    // Artifacts are limited when they are written.
    let part = artifact_part(&run, &input.artifact_name, (0, u32::MAX)).await?;
    Ok(ArtifactBytes {
        content_type: part.row.content_type,
        sha256: sha256::to_hex(&part.row.sha256),
        content: STANDARD.encode(&part.content),
    })
}
