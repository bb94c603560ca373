//! `scip`: writes the known symbols of a repository as a SCIP file, for other tools.

use std::path::PathBuf;

use clap::Subcommand;

use super::cancellable::cancellable;
use super::flags::{parse_project_id, repository};
use super::output::{BOLD, GOOD, styled};
use super::session::{CommandResult, Session};
use contract::{ErrorCode, Fault, ProjectId, escaped_line};
use store::{Access, Project, ProjectTx, RepositoryRow, repositories};
use upkeep::scip::export_scip;

/// Arguments of `scip`.
#[derive(Debug, clap::Args)]
pub(super) struct ScipArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the definitions of an indexed repository and the uses between them as a SCIP file
    Export {
        /// Repository: its folder, or its name
        #[arg(default_value = ".", value_parser = repository)]
        repo: String,
        /// File to create
        #[arg(long, value_name = "FILE", default_value = "index.scip")]
        out: PathBuf,
        /// Project ID [default: the default workspace]
        #[arg(long, value_name = "ID", default_value = "default", value_parser = parse_project_id)]
        project: ProjectId,
    },
}

/// Entry point of `scip`.
pub(super) async fn run_scip(session: &Session, args: ScipArgs) -> CommandResult {
    let Action::Export { repo, out, project } = args.action;
    let store = session.app.store().await?;
    let project = tenancy::require(store, &project).await?;
    let repository = find_repository(session, &project, &repo).await?;
    let done =
        cancellable(session, async |cancel, _| export_scip(store, &project, &repository, &out, cancel).await)
            .await?;
    let text = format!(
        "{} Exported {}: {} documents, {} definitions, {} uses to {} ({} bytes)\n",
        styled(GOOD, "✓"),
        styled(BOLD, &escaped_line(&done.repository)),
        done.documents,
        done.definitions,
        done.uses,
        escaped_line(&out.to_string_lossy()),
        done.bytes
    );
    Ok(session.print_result(&done, &text))
}

async fn find_repository(session: &Session, project: &Project, named: &str) -> Result<RepositoryRow, Fault> {
    let mut tx = ProjectTx::begin(session.app.store().await?, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    let found = rows.into_iter().find(|row| row.root == named || row.name == named);
    found.ok_or_else(|| {
        Fault::new(ErrorCode::NoIndex, format!("The project has no index of `{}`.", escaped_line(named)))
            .with_hint("Index it with `pairofcleats index PATH`, or name a repository that `pairofcleats projects` lists.")
    })
}
