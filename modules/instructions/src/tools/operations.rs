//! Operations of the instruction catalog that are not tools: the prompt `apply_instructions`, the text of a resource, and the completion of
//! ids.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TOOLSET;
use super::search::scored_entries;
use crate::catalog::Catalog;
use contract::{ErrorCode, Fault};
use engine::search::tokens;
use gate::app::{Bulkhead, blocking};
use gate::tools::browse::{Completions, RenderedPrompt, matching_values};
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, Effects, ToolSpec, schema};
use instructions::apply::{Applicable, Applied, apply};
use instructions::{InstructionEntry, Stored};
use tenancy::Scope;

/// Default limit on the tokens of instructions in a prompt.
const TOKENS_DEFAULT: usize = 4000;
/// Entries that a task may choose by meaning.
const ABOUT_TASK_MAX: usize = 20;
/// Files that a task may name.
const PATHS_MAX: usize = 500;
/// Omitted instructions that are named.
const OMITTED_NAMED_MAX: usize = 20;

pub(super) const APPLY: ToolSpec = ToolSpec {
    name: "apply_instructions",
    title: "Apply the team's instructions",
    description: "The team's instructions that hold for a task and the files that it touches.",
    toolset: TOOLSET,
    effects: Effects::READS,
    scope: Scope::Instructions,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.instructions_ms,
    input: schema::generate_schema::<ApplyInput>,
    output: schema::generate_output_schema::<RenderedPrompt>,
    run: |call, arguments| run_typed(call, arguments, apply_instructions),
    ..ToolSpec::BASE
};

// Arguments of prompts are texts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyInput {
    /// What is to be done.
    #[schemars(length(min = 1, max = 8192))]
    task: String,
    /// Files that it touches, relative to the repository, separated by commas or spaces.
    #[schemars(length(max = 65_536))]
    paths: Option<String>,
    /// Most tokens of the instructions; default 4000.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,6}$"))]
    max_tokens: Option<String>,
    /// Project; omitted: that of the session.
    project: Option<ProjectIdArg>,
}

async fn apply_instructions(call: Call, input: ApplyInput) -> Result<RenderedPrompt, Fault> {
    let project = call.project(input.project.as_deref()).await?;
    let mut catalog = Catalog::open(call.app.store().await?, &project).await?;
    let entries = catalog.all().await?;
    catalog.close().await?;
    let scored = match call.app.config.instructions.semantic && !entries.is_empty() {
        true => scored_entries(&call, &project, &input.task, ABOUT_TASK_MAX).await?,
        false => Vec::new(),
    };
    let tokens_max = input.max_tokens.as_deref().and_then(|text| text.parse().ok()).unwrap_or(TOKENS_DEFAULT);
    let cancel = call.cancel.clone();
    blocking(move || {
        let paths = touched_files(input.paths.as_deref().unwrap_or_default())?;
        let count = |stored: &Stored| tokens::count(&section(stored, None));
        let applied = apply(&entries, &paths, &scored, tokens_max, count, || cancel.is_cancelled());
        let applied = applied.ok_or_else(|| Fault::new(ErrorCode::Cancelled, "The call was cancelled."))?;
        Ok(RenderedPrompt { text: render(&input.task, &applied, tokens_max) })
    })
    .await
}

/// The files in a list with commas or spaces.
fn touched_files(list: &str) -> Result<Vec<&str>, Fault> {
    let paths: Vec<&str> = list.split([',', ' ', '\n']).filter(|path| !path.is_empty()).collect();
    if paths.len() > PATHS_MAX {
        let message = format!("`paths` names {} files; at most {PATHS_MAX} are allowed.", paths.len());
        return Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Name the folders in which most of them are."));
    }
    Ok(paths)
}

fn render(task: &str, applied: &Applied<'_>, tokens_max: usize) -> String {
    if applied.entries.is_empty() && applied.omitted.is_empty() {
        return format!("{task}\n\nThe team's catalog has no instructions for this task.");
    }
    let mut text = format!(
        "{task}\n\nFollow these instructions of the team, the first before the later ones where they disagree. \
         Call `usage_track` with the id of each that you followed.\n"
    );
    for applicable in &applied.entries {
        text.push_str(&section(applicable.stored, Some(applicable)));
    }
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n{} instructions, {} of at most {tokens_max} tokens.",
        applied.entries.len(),
        applied.tokens
    );
    if !applied.omitted.is_empty() {
        let named = &applied.omitted[..applied.omitted.len().min(OMITTED_NAMED_MAX)];
        let _ = write!(
            text,
            " {} more hold but did not fit; read them with `instructions_get`: {}{}",
            applied.omitted.len(),
            named.join(", "),
            if named.len() < applied.omitted.len() { " …" } else { "." }
        );
    }
    text
}

/// An instruction as a section.
fn section(stored: &Stored, applicable: Option<&Applicable<'_>>) -> String {
    let entry = &stored.instruction;
    let reason = applicable.map(|applicable| format!(", {}", applicable.reason.as_str())).unwrap_or_default();
    format!(
        "\n## {} (`{}`, {}{reason})\n\n{}\n",
        entry.title,
        entry.id,
        entry.requirement.as_str(),
        entry.body
    )
}

/// One entry as Markdown, for the resource `instruction://{id}`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstructionText {
    /// The text; empty if there is no such entry.
    pub(super) text: String,
    /// Hash of the body; `None` if there is no such entry.
    pub(super) source_hash: Option<String>,
    /// Revision of the catalog.
    pub(super) revision: i64,
}

pub(super) const READ: ToolSpec = ToolSpec {
    name: "resources/instruction",
    title: "Read an instruction",
    description: "One of the team's instructions as Markdown.",
    bulkhead: Bulkhead::Search,
    input: schema::generate_schema::<ReadInput>,
    output: schema::generate_output_schema::<InstructionText>,
    run: |call, arguments| run_typed(call, arguments, read),
    ..APPLY
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    /// Id of the entry.
    #[schemars(length(min = 1, max = 120))]
    id: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

async fn read(call: Call, input: ReadInput) -> Result<InstructionText, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let mut catalog = Catalog::open(call.app.store().await?, &project).await?;
    let stored = catalog.get(&input.id).await?;
    let revision = catalog.state.revision;
    catalog.close().await?;
    let Some(stored) = stored else {
        return Ok(InstructionText { text: String::new(), source_hash: None, revision });
    };
    let entry = InstructionEntry::new(&stored, None);
    let rationale =
        entry.rationale.map(|text| format!("\n\n> {}", text.replace('\n', "\n> "))).unwrap_or_default();
    let text = format!("# {}\n\n{}{rationale}\n", entry.title, entry.body);
    Ok(InstructionText { text, source_hash: Some(entry.source_hash), revision })
}

pub(super) const COMPLETE_ID: ToolSpec = ToolSpec {
    name: "completion/instruction",
    title: "Complete an id",
    description: "Complete the id of an instruction.",
    input: schema::generate_schema::<CompleteIdInput>,
    output: schema::generate_output_schema::<Completions>,
    run: |call, arguments| run_typed(call, arguments, complete_id),
    ..APPLY
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompleteIdInput {
    /// The part that was typed.
    #[schemars(length(max = 4096))]
    value: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

async fn complete_id(call: Call, input: CompleteIdInput) -> Result<Completions, Fault> {
    let Some(project) = call.project_if_any(input.project_id.as_deref()).await? else {
        return Ok(Completions::default());
    };
    let mut catalog = Catalog::open(call.app.store().await?, &project).await?;
    let ids = catalog.ids(None).await?;
    catalog.close().await?;
    Ok(matching_values(ids, &input.value))
}
