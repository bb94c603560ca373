//! `resources/read`: the current text of an indexed file up to the size limit, opened as by `show_file`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::media::media_type;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::search::open_file::{RepositoryChoice, open_file, require_relative};
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, repository, schema};
use contract::{ErrorCode, Fault, echo};
use tenancy::Scope;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "resources/read",
    title: "Read a resource",
    description: "Read the current text of an indexed file, secrets redacted.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<ReadResourceInput>,
    output: schema::generate_output_schema::<FileText>,
    run: |call, arguments| run_typed(call, arguments, read_resource),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadResourceInput {
    /// Name of the repository that contains the file.
    #[schemars(length(min = 1, max = 4096))]
    repository: String,
    /// Path relative to the repository.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Indexed branch, tag or commit; default: the default branch.
    #[schemars(length(min = 1, max = 255))]
    revision: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// The text of a file, cut at the size limit.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileText {
    /// The text, secrets redacted.
    pub text: String,
    /// Its media type.
    pub mime_type: String,
    /// Name of its repository.
    pub repository: String,
    /// blake3 hash of the file's current bytes.
    pub content_hash: String,
    /// True when the file differs from what was indexed.
    pub changed_since_indexed: bool,
    /// The first line that did not fit, 1-based; `None` if the text is complete.
    pub next_line: Option<usize>,
}

async fn read_resource(call: Call, input: ReadResourceInput) -> Result<FileText, Fault> {
    let path = require_relative(&input.path)?;
    let project = call.project(input.project_id.as_deref()).await?;
    let repositories = repository::list_repositories(&call, &project).await?;
    let Some(repository) = repositories.iter().find(|row| row.name == input.repository) else {
        return Err(Fault::new(
            ErrorCode::NotFound,
            format!("The project has no repository `{}`.", echo(&input.repository)),
        )
        .with_hint("`workspace_status` lists the repositories; index a new one with `build_index`."));
    };
    call.set_repository(&input.repository);
    let within = RepositoryChoice::Only(repository.root.clone());
    let mut opened = open_file(&call, &project, &within, &path, input.revision.as_deref()).await?;
    let next_line = truncate_to_lines(&mut opened.text, call.app.config.search.result_bytes_max);
    Ok(FileText {
        text: opened.text,
        mime_type: media_type(opened.language),
        repository: input.repository,
        content_hash: opened.content_hash,
        changed_since_indexed: opened.changed,
        next_line,
    })
}

/// Truncates the text to whole lines within `bytes_max` and returns the number of the first line that was cut off. If
/// not even the first line fits, it is cut in the middle, and 1 is returned.
fn truncate_to_lines(text: &mut String, bytes_max: usize) -> Option<usize> {
    if text.len() <= bytes_max {
        return None;
    }
    let end = text.floor_char_boundary(bytes_max);
    text.truncate(text[..end].rfind('\n').map_or(end, |newline| newline + 1));
    Some(text.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line() {
        let cut = |text: &str, max| {
            let mut text = text.to_owned();
            let next = truncate_to_lines(&mut text, max);
            (text, next)
        };
        assert_eq!(cut("one\ntwo\n", 8), ("one\ntwo\n".into(), None));
        assert_eq!(cut("one\ntwo\n", 7), ("one\n".into(), Some(2)));
        assert_eq!(cut("one\ntwo", 4), ("one\n".into(), Some(2)));
        assert_eq!(cut("äöü", 3), ("ä".into(), Some(1)), "never inside a character");
    }
}
