//! `completion/complete`: completes a partly typed project, repository or path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, repository, schema};
use contract::Fault;
use store::{self, Access, ProjectTx, files};
use tenancy::Scope;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "completion/complete",
    title: "Complete",
    description: "Complete the name of a project or repository, or a path.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<CompleteInput>,
    output: schema::generate_output_schema::<Completions>,
    run: |call, arguments| run_typed(call, arguments, complete),
    ..ToolSpec::BASE
};

/// Maximum number of values in an answer; a limit of MCP.
pub const VALUES_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompleteInput {
    /// The kind of value to complete.
    kind: CompletionKind,
    /// The part that was typed.
    #[schemars(length(max = 4096))]
    value: String,
    /// The repository whose paths are completed; omitted: all repositories of the project.
    #[schemars(length(max = 4096))]
    repository: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CompletionKind {
    Project,
    Repository,
    Path,
}

/// Values that match what was typed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Completions {
    /// At most [`VALUES_MAX`]: those that begin with the text, then those that contain it.
    pub values: Vec<String>,
    /// Number of all matching values.
    pub total: u64,
}

async fn complete(call: Call, input: CompleteInput) -> Result<Completions, Fault> {
    if let CompletionKind::Project = input.kind {
        return Ok(matching_values(project_ids(&call).await?, &input.value));
    }
    let Some(project) = call.project_if_any(input.project_id.as_deref()).await? else {
        return Ok(Completions::default());
    };
    let known = repository::list_repositories(&call, &project).await?;
    if let CompletionKind::Repository = input.kind {
        let mut names: Vec<String> = known.into_iter().map(|row| row.name).collect();
        names.sort_unstable();
        return Ok(matching_values(names, &input.value));
    }
    let selected = known.iter().filter(|row| input.repository.as_ref().is_none_or(|name| *name == row.name));
    let repository_ids: Vec<i64> = selected.map(|row| row.id).collect();
    let mut tx = ProjectTx::begin(call.app.store().await?, &project, Access::Search).await?;
    let (values, total) =
        files::paths_containing(&mut tx, &repository_ids, &input.value, VALUES_MAX as i64).await?;
    tx.commit().await?;
    Ok(Completions { values, total: u64::try_from(total).unwrap_or(0) })
}

/// Ids of the projects that the caller may use, in order.
async fn project_ids(call: &Call) -> Result<Vec<String>, Fault> {
    let mut tx = call.app.store().await?.control_read().await?;
    let known = store::projects::list(&mut tx).await?;
    tx.commit().await?;
    let usable = known.into_iter().filter(|project| call.caller.principal.may_use(&project.id));
    Ok(usable.map(|project| project.id.as_str().to_owned()).collect())
}

/// Returns those of `known` that match what was typed.
#[must_use]
pub fn matching_values(known: Vec<String>, value: &str) -> Completions {
    let part = value.to_lowercase();
    let folded = known.into_iter().map(|name| (name.to_lowercase(), name));
    let mut fit: Vec<(String, String)> = folded.filter(|(folded, _)| folded.contains(&part)).collect();
    // A stable sort keeps the order within each group.
    fit.sort_by_key(|(folded, _)| !folded.starts_with(&part));
    let total = fit.len() as u64;
    Completions { values: fit.into_iter().take(VALUES_MAX).map(|(_, name)| name).collect(), total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_matches_come_first_and_all_matches_are_counted() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = matching_values(names(&["api", "my-Shop", "shop", "Shopping"]), "SHOP");
        assert_eq!((found.values, found.total), (names(&["shop", "Shopping", "my-Shop"]), 3));
        let many = matching_values((0..150).map(|number| format!("p{number:03}")).collect(), "");
        assert_eq!((many.values.len(), many.total), (VALUES_MAX, 150));
    }
}
