//! Launch runs and their artifacts as MCP resources: `launch://{run_id}` and `launch://{run_id}/{+artifact}`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{READ_LAUNCH_PART, READ_LAUNCH_RUN};
use contract::Fault;
use gate::module::{
    ResourceBody, ResourceKind, ResourceRequest, ResourceTemplate, ResourceText, uri_decoded,
};

/// The resources of launch runs, in the session's project, or else in the default workspace.
pub(crate) static RUNS: ResourceKind = ResourceKind {
    scheme: "launch://",
    templates: &[
        ResourceTemplate {
            uri: "launch://{run_id}",
            name: "launch_run",
            title: "Launch run",
            description: "A launch run as `launch_get_status` shows it, as JSON.",
            mime_type: Some("application/json"),
            arguments: &["run_id"],
        },
        ResourceTemplate {
            uri: "launch://{run_id}/{+artifact}",
            name: "launch_artifact",
            title: "Artifact of a launch run",
            description: "What a launch run wrote, as text or bytes: `artifact` as the run lists it. Long ones are cut; \
                `launch_get_artifact` continues.",
            mime_type: None,
            arguments: &["run_id", "artifact"],
        },
    ],
    operation: READ_LAUNCH_RUN,
    complete: None,
    parse,
    render,
};

/// Separates the project from the rest of a URI.
const PROJECT: &str = "?project=";
/// Size of the largest part of an artifact that is sent; the limit of `launch_get_artifact`.
const BYTES_MAX: u32 = 256 << 10;

/// Reads a URI without its scheme: the id of a run, the name of an artifact, and a project.
///
/// # Errors
/// The reason, as a sentence.
fn parse(rest: &str) -> Result<ResourceRequest, &'static str> {
    let (rest, project) = match rest.rsplit_once(PROJECT) {
        Some((rest, project)) => (rest, Some(project)),
        None => (rest, None),
    };
    let (run_id, artifact) = rest.split_once('/').unwrap_or((rest, ""));
    if run_id.is_empty() {
        return Err("The URI has no id of a run.");
    }
    // Some clients normalise the URI, which lowercases this part; ids contain an upper-case `T` and `Z` and no lower-case ones.
    let run_id = uri_decoded(run_id)?.replace('t', "T").replace('z', "Z");
    let artifact = Some(artifact).filter(|name| !name.is_empty()).map(uri_decoded).transpose()?;
    let project = project.map(uri_decoded).transpose()?;
    Ok(match artifact {
        None => ResourceRequest {
            operation: READ_LAUNCH_RUN,
            arguments: json!({ "run_id": run_id, "project_id": project }),
        },
        Some(name) => ResourceRequest {
            operation: READ_LAUNCH_PART,
            arguments: json!({
                "run_id": run_id, "artifact_name": name, "bytes_max": BYTES_MAX, "project_id": project,
            }),
        },
    })
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

/// Renders a run as JSON, and an artifact as text or bytes.
fn render(request: &ResourceRequest, answer: Value) -> Result<ResourceText, Fault> {
    if request.operation.name == READ_LAUNCH_RUN.name {
        return Ok(ResourceText {
            body: ResourceBody::Text(answer["status"].to_string()),
            mime_type: "application/json".to_owned(),
            meta: None,
        });
    }
    let Answer { artifact } = serde_json::from_value(answer)
        .map_err(|error| Fault::internal("The answer could not be read.", error))?;
    let meta = ArtifactMeta {
        sha256: &artifact.sha256,
        bytes: artifact.bytes,
        version: artifact.version,
        truncated: artifact.next_offset.is_some(),
        next_offset: artifact.next_offset,
        hint: artifact.next_offset.map(|next| format!("Continue with `launch_get_artifact`, offset {next}.")),
    };
    let meta = serde_json::to_value(&meta).ok();
    let body = match artifact.encoding.as_str() {
        "utf-8" => ResourceBody::Text(artifact.content),
        _ => ResourceBody::Blob(artifact.content),
    };
    Ok(ResourceText { body, mime_type: artifact.content_type, meta })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_and_their_artifacts_are_read_in_every_spelling() {
        let id = "r_2026-01-21T13-00-00Z_0123abcd";
        let named = |rest: &str| {
            let request = parse(rest).unwrap();
            let text = |field: &str| request.arguments[field].as_str().map(str::to_owned);
            assert_eq!(text("run_id").as_deref(), Some(id), "{rest}");
            let artifact = text("artifact_name");
            let operation = if artifact.is_some() { READ_LAUNCH_PART } else { READ_LAUNCH_RUN };
            assert_eq!(request.operation.name, operation.name, "{rest}");
            (artifact, text("project_id"))
        };
        assert_eq!(named(id), (None, None));
        assert_eq!(named(&format!("{}/", id.to_lowercase())), (None, None));
        assert_eq!(
            named(&format!("{id}/drafts/docs%2Fa.md?project=client-a")),
            (Some("drafts/docs/a.md".to_owned()), Some("client-a".to_owned()))
        );
        assert_eq!(named(&format!("{id}/../x")), (Some("../x".to_owned()), None));
        for rest in ["", "/a", "?project=a", "r/%zz", "%ff"] {
            assert!(parse(rest).is_err(), "{rest}");
        }
    }

    #[test]
    fn a_part_of_an_artifact_names_the_tool_that_continues() {
        let request = parse("r_1/plan.json").unwrap();
        let artifact = |encoding: &str, next: Option<u32>| {
            let artifact = json!({
                "content_type": "application/json", "sha256": "ab", "content": "e30=", "encoding": encoding, "bytes": 9, "version": 2,
                "next_offset": next,
            });
            render(&request, json!({ "artifact": artifact })).unwrap()
        };
        let whole = artifact("utf-8", None);
        assert!(matches!(whole.body, ResourceBody::Text(text) if text == "e30="));
        assert_eq!(whole.meta, Some(json!({ "sha256": "ab", "bytes": 9, "version": 2, "truncated": false })));
        let part = artifact("base64", Some(5));
        assert!(matches!(part.body, ResourceBody::Blob(bytes) if bytes == "e30="));
        let hint = "Continue with `launch_get_artifact`, offset 5.";
        assert_eq!(part.meta.unwrap()["hint"], hint);
        assert!(render(&request, json!({})).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
