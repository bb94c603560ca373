//! Which indexed repository a call means.

use crate::tools::Call;
use contract::{ErrorCode, Fault};
use store::{Access, Project, ProjectTx, RepositoryRow, repositories};
use tenancy::AllowedRoots;

/// The project's repositories. No two of them have one name.
pub(super) async fn all(call: &Call, project: &Project) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let known = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(known)
}

/// The root of an indexed repository, by path or by name.
pub(super) async fn repository(call: &Call, project: &Project, named: &str) -> Result<String, Fault> {
    call.about_repo(named);
    let known = all(call, project).await?;
    let path = std::path::Path::new(named);
    let root = match (path.is_absolute(), call.caller.principal.is_local) {
        (true, true) => {
            AllowedRoots::of_project(&call.app.config.indexing, project.id()).check(path)?.as_str().to_owned()
        }
        // From elsewhere, nobody learns what else there is on this machine.
        (true, false) => named.trim_end_matches('/').to_owned(),
        (false, _) => String::new(),
    };
    let found = known.iter().find(|row| row.root == root || row.name == named);
    match found {
        Some(row) => Ok(row.root.clone()),
        None => Err(Fault::new(ErrorCode::NoIndex, format!("The project has no index of `{named}`."))
            .with_details(
                serde_json::json!({ "repositories": known.iter().map(|row| &row.name).collect::<Vec<_>>() }),
            )
            .with_hint(
                "Index it with `build_index` (CLI: `pairofcleats index PATH`), or ask without repoPath.",
            )),
    }
}
