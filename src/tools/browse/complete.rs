//! `completion/complete`: what can stand for a project, a repository or a path, given what was typed of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, repository, schema};
use contract::Fault;
use store::{self, Access, ProjectTx, files};
use tenancy::Scope;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "completion/complete",
    title: "Complete",
    description: "Projects, repositories or paths that begin with or contain a text.",
    toolset: Toolset::Search,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: TimeoutClass::Search,
    input: schema::of::<Input>,
    output: schema::of_answer::<Completed>,
    run: |call, arguments| typed(call, arguments, run),
};

/// The protocol allows no more values in an answer.
pub const VALUES_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What is being typed.
    argument: Argument,
    /// As far as it is typed.
    #[schemars(length(max = 4096))]
    value: String,
    /// The repository that paths are looked for in; omitted: all of the project.
    #[schemars(length(max = 4096))]
    repository: Option<String>,
    /// Project; omitted: that of the session, else the default workspace.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Argument {
    Project,
    Repository,
    Path,
}

/// What fits.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Completed {
    /// At most [`VALUES_MAX`]: those that begin with the text, then those that contain it.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: u64,
}

async fn run(call: Call, input: Input) -> Result<Completed, Fault> {
    if let Argument::Project = input.argument {
        return Ok(fitting(projects(&call).await?, &input.value));
    }
    let Some(project) = call.project_if_any(input.project_id.as_deref()).await? else {
        return Ok(Completed::default());
    };
    let known = repository::all(&call, &project).await?;
    if let Argument::Repository = input.argument {
        let mut names: Vec<String> = known.into_iter().map(|row| row.name).collect();
        names.sort_unstable();
        return Ok(fitting(names, &input.value));
    }
    let meant = known.iter().filter(|row| input.repository.as_ref().is_none_or(|name| *name == row.name));
    let within: Vec<i64> = meant.map(|row| row.id).collect();
    let mut tx = ProjectTx::begin(call.app.store().await?, &project, Access::Search).await?;
    let (values, total) = files::containing(&mut tx, &within, &input.value, VALUES_MAX as i64).await?;
    tx.commit().await?;
    Ok(Completed { values, total: u64::try_from(total).unwrap_or(0) })
}

/// The projects that the caller may use, by id.
async fn projects(call: &Call) -> Result<Vec<String>, Fault> {
    let mut door = call.app.store().await?.control_read().await?;
    let known = store::projects::list(&mut door).await?;
    door.commit().await?;
    let own = known.into_iter().filter(|project| call.caller.principal.may_use(&project.id));
    Ok(own.map(|project| project.id.as_str().to_owned()).collect())
}

fn fitting(known: Vec<String>, value: &str) -> Completed {
    let part = value.to_lowercase();
    let folded = known.into_iter().map(|name| (name.to_lowercase(), name));
    let mut fit: Vec<(String, String)> = folded.filter(|(folded, _)| folded.contains(&part)).collect();
    // Stable, so that each half keeps the order it came in.
    fit.sort_by_key(|(folded, _)| !folded.starts_with(&part));
    let total = fit.len() as u64;
    Completed { values: fit.into_iter().take(VALUES_MAX).map(|(_, name)| name).collect(), total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_come_before_middles_and_the_rest_is_counted() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = fitting(names(&["api", "my-Shop", "shop", "Shopping"]), "SHOP");
        assert_eq!((found.values, found.total), (names(&["shop", "Shopping", "my-Shop"]), 3));
        let many = fitting((0..150).map(|number| format!("p{number:03}")).collect(), "");
        assert_eq!((many.values.len(), many.total), (VALUES_MAX, 150));
    }
}
