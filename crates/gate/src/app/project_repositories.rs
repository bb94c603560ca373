//! The repositories of a project, as its tables have them.

use contract::Fault;
use store::{Access, Project, ProjectTx, RepositoryRow, Store, repositories};

pub(super) async fn project_repositories(
    store: &Store,
    project: &Project,
) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows)
}
