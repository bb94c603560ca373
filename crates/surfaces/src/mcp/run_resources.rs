//! Launch runs and their artifacts as resources: `launch://{run_id}` and `launch://{run_id}/{+artifact}`.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::browse::BrowseRequest;
use super::uri::{ARTIFACT_TEMPLATE, LaunchUri, RUN_TEMPLATE};
use super::wire::{to_meta, with_uri};
use gate::tools::browse::{READ_LAUNCH_PART, READ_LAUNCH_RUN};

/// Size of the largest part of an artifact that is sent; the limit of `launch_get_artifact`.
const BYTES_MAX: u32 = 256 << 10;

/// Returns the templates of runs and of their artifacts.
pub(super) fn templates() -> [ResourceTemplate; 2] {
    let run = ResourceTemplate::new(RUN_TEMPLATE, "launch_run")
        .with_title("Launch run")
        .with_description("A launch run as `launch_get_status` shows it, as JSON.")
        .with_mime_type("application/json");
    let artifact = ResourceTemplate::new(ARTIFACT_TEMPLATE, "launch_artifact")
        .with_title("Artifact of a launch run")
        .with_description(
            "What a launch run wrote, as text or bytes: `artifact` as the run lists it. Long ones are cut; `launch_get_artifact` continues.",
        );
    [run, artifact]
}

/// The part of an answer of `launch_get_artifact` that is used.
#[derive(Deserialize)]
struct Answer {
    artifact: Artifact,
}

#[derive(Deserialize)]
struct Artifact {
    content_type: String,
    sha256: String,
    content: String,
    encoding: String,
    bytes: i64,
    version: i32,
    next_offset: Option<u32>,
}

/// `_meta` of an artifact.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactMeta<'a> {
    /// SHA-256 of the whole artifact.
    sha256: &'a str,
    /// Size of the whole artifact.
    bytes: i64,
    version: i32,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Reads a run, or one of its artifacts.
pub(super) async fn read(
    request: BrowseRequest<'_>,
    uri: String,
    named: LaunchUri,
) -> Result<ReadResourceResult, ErrorData> {
    let LaunchUri { run_id, artifact, project } = named;
    let Some(name) = artifact else {
        let arguments = json!({ "run_id": run_id, "project_id": project });
        let found: Value =
            request.run(READ_LAUNCH_RUN, arguments).await.map_err(|error| with_uri(error, &uri))?;
        let contents =
            ResourceContents::text(found["status"].to_string(), uri).with_mime_type("application/json");
        return Ok(ReadResourceResult::new(vec![contents]));
    };
    let arguments =
        json!({ "run_id": run_id, "artifact_name": name, "bytes_max": BYTES_MAX, "project_id": project });
    let Answer { artifact } =
        request.run(READ_LAUNCH_PART, arguments).await.map_err(|error| with_uri(error, &uri))?;
    let meta = ArtifactMeta {
        sha256: &artifact.sha256,
        bytes: artifact.bytes,
        version: artifact.version,
        truncated: artifact.next_offset.is_some(),
        next_offset: artifact.next_offset,
        hint: artifact.next_offset.map(|next| format!("Continue with `launch_get_artifact`, offset {next}.")),
    };
    let meta = to_meta(&meta);
    let contents = match artifact.encoding.as_str() {
        "utf-8" => ResourceContents::text(artifact.content, uri),
        _ => ResourceContents::blob(artifact.content, uri),
    };
    let contents = contents.with_mime_type(artifact.content_type).with_meta(meta);
    Ok(ReadResourceResult::new(vec![contents]))
}
