//! `launch_get_artifact`: the output of a run's worker, in parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use launch::worker::is_artifact_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run_call::RunCall;
use super::spec::reading;
use crate::runs::{self as runs, ArtifactPart};
use contract::{ErrorCode, Fault, echo};
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};
use platform::sha256;

pub(crate) const TOOL: ToolSpec = reading(
    (
        "launch_get_artifact",
        "Read an artifact of a launch run",
        "What a launch run wrote: page plan, drafts, validation report, patches. Long artifacts come in parts.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, get_artifact),
);

/// Bytes of a part if the caller does not say: few enough for the context of a model.
const PART_BYTES_DEFAULT: u32 = 64 << 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the run.
    run_id: String,
    /// Name of the artifact, as `launch_get_status` lists it.
    artifact_name: String,
    /// First byte of the part; default 0.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    offset: Option<u32>,
    /// Most bytes of the part; default 65536.
    #[schemars(range(min = 16, max = 262_144))]
    bytes_max: Option<u32>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// The artifact.
    artifact: Artifact,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Artifact {
    /// Its name.
    name: String,
    /// Media type.
    content_type: String,
    /// Hash of the whole artifact.
    sha256: String,
    /// The part, as text or base64.
    content: String,
    /// `utf-8` or `base64`.
    encoding: String,
    /// Size of the whole artifact.
    bytes: i64,
    /// Counts how often it was written.
    version: i32,
    /// Offset of the next part; absent in the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

async fn get_artifact(call: Call, input: Input) -> Result<Output, Fault> {
    let run = RunCall::for_reading(call, &input.run_id, input.project_id.as_deref()).await?;
    let (offset, bytes_max) = (input.offset.unwrap_or(0), input.bytes_max.unwrap_or(PART_BYTES_DEFAULT));
    let part = artifact_part(&run, &input.artifact_name, (offset, bytes_max)).await?;
    Ok(Output { run_id: run.run_id.as_str().to_owned(), artifact: Artifact::new(part, offset) })
}

/// A part of an artifact.
///
/// # Errors
/// `INVALID_INPUT` with the existing names.
pub(super) async fn artifact_part(
    run: &RunCall,
    name: &str,
    (offset, bytes_max): (u32, u32),
) -> Result<ArtifactPart, Fault> {
    let store = run.store().await?;
    let range = |number: u32| i32::try_from(number).unwrap_or(i32::MAX).min(i32::MAX - 1);
    // An invalid name leads to the same answer, but is not looked up.
    let looked_up = if is_artifact_name(name) { name } else { "" };
    let range = (range(offset), range(bytes_max));
    let part = runs::artifact_part(store, &run.project, &run.run_id, looked_up, range).await?;
    part.map_err(|known| {
        Fault::new(ErrorCode::InvalidInput, format!("The run has no artifact `{}`.", echo(name)))
            .with_details(json!({ "field": "artifact_name", "available_artifacts": known }))
            .with_hint("Name one of `available_artifacts`.")
    })
}

impl Artifact {
    fn new(part: ArtifactPart, offset: u32) -> Self {
        let ArtifactPart { row, content } = part;
        let size = u32::try_from(row.bytes).unwrap_or(u32::MAX);
        let is_last =
            |length: usize| offset.saturating_add(u32::try_from(length).unwrap_or(u32::MAX)) >= size;
        let text = text_of(&content, &row.content_type, is_last(content.len()));
        let (length, encoding, content) = match text {
            Some(text) => (text.len(), "utf-8", text.to_owned()),
            None => (content.len(), "base64", STANDARD.encode(&content)),
        };
        let end = offset.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        Self {
            name: row.name,
            content_type: row.content_type,
            sha256: sha256::to_hex(&row.sha256),
            content,
            encoding: encoding.to_owned(),
            bytes: row.bytes,
            version: row.version,
            next_offset: (end < size && length > 0).then_some(end),
        }
    }
}

/// The text of a part, without a character that continues in the next part; `None` if it is not text.
fn text_of<'a>(content: &'a [u8], content_type: &str, is_last: bool) -> Option<&'a str> {
    let is_text = content_type.starts_with("text/") || content_type == "application/json";
    match std::str::from_utf8(content) {
        _ if !is_text => None,
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() && !is_last => {
            std::str::from_utf8(content.get(..error.valid_up_to())?).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::launch::ArtifactRow;

    /// Reads an artifact in parts of `bytes_max`, and returns them.
    fn parts(content: &[u8], content_type: &str, bytes_max: usize) -> Vec<Artifact> {
        let mut parts: Vec<Artifact> = Vec::new();
        let mut offset = 0;
        loop {
            let row = ArtifactRow {
                name: "a".to_owned(),
                version: 1,
                sha256: sha256::digest(content),
                content_type: content_type.to_owned(),
                schema_id: None,
                writer: "write".to_owned(),
                bytes: i64::try_from(content.len()).unwrap(),
            };
            let from = usize::try_from(offset).unwrap().min(content.len());
            let part = content[from..(from + bytes_max).min(content.len())].to_vec();
            let artifact = Artifact::new(ArtifactPart { row, content: part }, offset);
            let next = artifact.next_offset;
            parts.push(artifact);
            match next {
                Some(next) => offset = next,
                None => return parts,
            }
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = "grün, 🦀 and „text“ ".repeat(20);
        let read = parts(text.as_bytes(), "text/markdown", 17);
        assert!(read.len() > 20);
        assert!(read.iter().all(|part| part.encoding == "utf-8"));
        assert_eq!(read.iter().map(|part| part.content.as_str()).collect::<String>(), text);
        assert!(read.iter().all(|part| part.sha256 == sha256::digest_hex(text.as_bytes())));
    }

    #[test]
    fn bytes_are_base64() {
        let bytes: Vec<u8> = (0..=255).collect();
        let read = parts(&bytes, "application/zip", 100);
        let whole: Vec<u8> = read.iter().flat_map(|part| STANDARD.decode(&part.content).unwrap()).collect();
        assert_eq!((whole, read.len()), (bytes.clone(), 3));
        // Declared as text, but binary.
        assert_eq!(parts(&bytes, "text/plain", 1000)[0].encoding, "base64");
        assert_eq!(parts("{}".as_bytes(), "application/json", 16)[0].content, "{}");
    }

    #[test]
    fn an_artifact_that_ends_in_the_middle_of_a_character_is_not_text() {
        let read = parts(&[b'a', 0xc3], "text/plain", 16);
        assert_eq!((read.len(), read[0].encoding.as_str()), (1, "base64"));
        assert_eq!(parts(b"", "text/plain", 16)[0].next_offset, None);
    }
}
