//! Makes the index of a project anew from its repositories: `projects rebuild`, and the mending of `doctor`.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::bars::Bar;
use super::index::{BuildIndex, build};
use super::output::{BOLD, GOOD, styled};
use super::session::{Exit, Ran, Session, Stopped};
use crate::app::index_job::{self, By};
use crate::surfaces::answer;
use contract::{ErrorCode, Fault, ProjectId, visible_line};
use engine::indexing::Options;
use engine::triage;
use store::{Access, DecidedBy, Project, ProjectTx, damage, repositories};
use tokio_util::sync::CancellationToken;

/// Arguments of `projects rebuild`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The project; `default` is the default workspace
    #[arg(value_parser = super::projects::project)]
    id: ProjectId,
    /// Also where a repository is not on this machine any more: what was indexed of it is lost
    #[arg(long)]
    drop_missing: bool,
}

/// What was done.
#[derive(Debug, Serialize)]
pub(super) struct Rebuilt {
    project_id: String,
    /// Repositories that were indexed again.
    repositories: Vec<String>,
    /// Repositories that are not there; nothing of them is found any more.
    missing: Vec<String>,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &Args) -> Ran {
    let rebuilt = rebuild(session, &args.id, args.drop_missing).await?;
    if session.output.json {
        let result = serde_json::to_value(&rebuilt).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(&told(&rebuilt));
    }
    Ok(Exit::Ok)
}

fn told(rebuilt: &Rebuilt) -> String {
    format!(
        "{} {} was made anew from {} repositories\n",
        styled(GOOD, "✓"),
        styled(BOLD, &visible_line(&rebuilt.project_id)),
        rebuilt.repositories.len()
    )
}

/// Empties the index and fills it again; findings and decisions stay as they are. Cut short, it is finished by calling it again
/// or by indexing the repositories.
pub(super) async fn rebuild(
    session: &Session,
    id: &ProjectId,
    drop_missing: bool,
) -> Result<Rebuilt, Stopped> {
    let app = &session.app;
    let store = app.store().await?;
    let project = tenancy::open(store, id, DecidedBy::Argument).await?.ok_or_else(tenancy::no_index)?;
    let roots = roots(session, &project).await?;
    // One that came in an archive has no folder at all.
    let is_there = |root: &String| Path::new(root).is_absolute() && Path::new(root).is_dir();
    let (there, missing): (Vec<_>, Vec<_>) = roots.into_iter().partition(is_there);
    if !missing.is_empty() && !drop_missing {
        return Err(Stopped::not_run(would_lose(id, &missing)));
    }
    damage::empty(store, &project).await?;
    for root in &there {
        let arguments = BuildIndex {
            repo_path: root,
            project_id: Some(id.as_str()),
            incremental: Some(false),
            ..BuildIndex::default()
        };
        let called = build(session, &arguments).await;
        if let Some(error) = called.envelope.error {
            let mut fault = Fault::new(error.code, error.message).with_details(json!({ "repository": root }));
            fault.hint = error.hint;
            return Err(fault.into());
        }
    }
    // Findings are searchable as texts, which belong to the index.
    if triage::has_records(store, &project).await? {
        let (bar, cancel) = (Bar::new(session.output), CancellationToken::new());
        index_job::run_records(&By::alone(app, &cancel), &project, Options::default(), |_| {}).await?;
        bar.finish();
    }
    Ok(Rebuilt { project_id: id.as_str().to_owned(), repositories: there, missing })
}

/// The roots of the repositories that the project indexed.
async fn roots(session: &Session, project: &Project) -> Result<Vec<String>, Fault> {
    let mut tx = ProjectTx::begin(session.app.store().await?, project, Access::Snapshot).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows.into_iter().filter(|row| !row.is_records()).map(|row| row.root).collect())
}

fn would_lose(id: &ProjectId, missing: &[String]) -> Fault {
    let message = format!(
        "{} of the repositories of `{id}` are not here, so what was indexed of them would be lost: {}.",
        missing.len(),
        missing.join(", ")
    );
    Fault::new(ErrorCode::IllegalState, message)
        .with_hint(format!(
            "Bring them back to their paths, or lose their index: `pairofcleats projects rebuild {id} --drop-missing`. Findings and decisions stay in any case."
        ))
        .with_details(json!({ "missing": missing }))
}
