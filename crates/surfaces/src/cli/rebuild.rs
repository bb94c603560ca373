//! Rebuilds the index of a project from its repositories, for `projects rebuild` and `doctor --repair`.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::index::{BuildIndex, build};
use super::output::{BOLD, GOOD, styled};
use super::progress_bar::CallProgressBar;
use super::session::{CommandError, CommandResult, Session};
use gate::app::index_job::{self, RequestingCall};

use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress, escaped_line, has_archive_name};
use engine::indexing::Options;
use store::{Access, Project, ProjectTx, damage, repositories};
use tokio_util::sync::CancellationToken;

/// Arguments of `projects rebuild`.
#[derive(Debug, clap::Args)]
pub(super) struct RebuildArgs {
    /// Project ID; `default` is the default workspace
    #[arg(value_parser = super::flags::parse_project_id)]
    id: ProjectId,
    /// Rebuild even if a repository no longer exists on this machine; its index is lost
    #[arg(long)]
    drop_missing: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct RebuildResult {
    project_id: String,
    /// Roots of the repositories that were indexed again.
    repositories: Vec<String>,
    /// Roots that no longer exist; their files are removed from search.
    missing: Vec<String>,
}

/// Entry point of `projects rebuild`.
pub(super) async fn rebuild_project(session: &Session, args: &RebuildArgs) -> CommandResult {
    let rebuilt = rebuild_index(session, &args.id, args.drop_missing).await?;
    Ok(session.print_result(&rebuilt, &render(&rebuilt)))
}

fn render(rebuilt: &RebuildResult) -> String {
    format!(
        "{} {} was rebuilt from {} repositories\n",
        styled(GOOD, "✓"),
        styled(BOLD, &escaped_line(&rebuilt.project_id)),
        rebuilt.repositories.len()
    )
}

/// Empties the index and indexes every repository again; findings and decisions are kept. After an interruption, calling it
/// again or indexing the repositories completes it.
pub(super) async fn rebuild_index(
    session: &Session,
    id: &ProjectId,
    drop_missing: bool,
) -> Result<RebuildResult, CommandError> {
    let app = &session.app;
    let store = app.store().await?;
    let project = tenancy::require(store, id).await?;
    let roots = repository_roots(session, &project).await?;
    let (present, missing): (Vec<_>, Vec<_>) = roots.into_iter().partition(|root| is_present(root));
    if !missing.is_empty() && !drop_missing {
        return Err(CommandError::not_run(missing_repositories(id, &missing)));
    }
    damage::clear_index(store, &project).await?;
    for root in &present {
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
    // The index also holds the texts of records, such as findings, which no repository contains.
    for source in app.modules.record_sources() {
        if (source.has_any)(store, &project).await? {
            let (bar, cancel) = (CallProgressBar::new(session.output), CancellationToken::new());
            let requester = RequestingCall::without_slot(app, &cancel);
            index_job::run_records(&requester, &project, source, Options::default(), |_| {}).await?;
            bar.finish();
        }
    }
    Ok(RebuildResult { project_id: id.as_str().to_owned(), repositories: present, missing })
}

/// Returns `true` if a run can read the root: a directory, an archive, or an address, which it fetches. An imported repository
/// has none of them.
fn is_present(root: &str) -> bool {
    let path = Path::new(root);
    let is_on_disk = || path.is_dir() || (has_archive_name(root) && path.is_file());
    RepositoryAddress::parse(root).is_some() || (path.is_absolute() && is_on_disk())
}

/// Returns the roots of the project's indexed repositories.
async fn repository_roots(session: &Session, project: &Project) -> Result<Vec<String>, Fault> {
    let mut tx = ProjectTx::begin(session.app.store().await?, project, Access::Snapshot).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows.into_iter().filter(|row| !row.is_records()).map(|row| row.root).collect())
}

fn missing_repositories(id: &ProjectId, missing: &[String]) -> Fault {
    let message = format!(
        "{} repositories of `{id}` do not exist on this machine, so their index would be lost: {}.",
        missing.len(),
        missing.join(", ")
    );
    Fault::new(ErrorCode::IllegalState, message)
        .with_hint(format!(
            "Restore them at their paths, or drop their index: `pairofcleats projects rebuild {id} --drop-missing`. Findings and decisions are kept either way."
        ))
        .with_details(json!({ "missing": missing }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_directories_and_archives_are_present() {
        let folder = tempfile::tempdir().unwrap();
        let [archive, text] = ["shop-1.2.tar.gz", "notes.txt"].map(|name| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            path.into_os_string().into_string().unwrap()
        });
        let directory = folder.path().to_str().unwrap();
        for root in ["https://host/acme/shop", "file:///srv/git/shop.git", directory, &archive] {
            assert!(is_present(root), "{root}");
        }
        for root in ["/no/such/folder", "/no/such/shop.zip", &text, "src", "imported:shop", "triage:records"]
        {
            assert!(!is_present(root), "{root}");
        }
    }
}
