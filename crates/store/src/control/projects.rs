//! `pairofcleats.projects`: the workspaces of a database.

use crate::postgres::Row;

use crate::postgres::{Query, SEARCH, newest, sql};
use crate::transaction::{ControlTx, Store};
use crate::workspace::{DecidedBy, ModelFacts, Project};
use contract::{Fault, ProjectId};
use platform::failpoints;

/// A workspace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSummary {
    /// Id of the project.
    pub id: ProjectId,
    /// Its Postgres schema.
    pub schema_name: String,
    /// Its Postgres role, if it has one.
    pub role_name: Option<String>,
    /// The model of its vectors.
    pub model: ModelFacts,
    /// Version of its search tables.
    pub search_version: i32,
    /// Time of its creation, milliseconds since the epoch, UTC.
    pub created_ms: i64,
    /// Time of its last write, milliseconds since the epoch, UTC.
    pub updated_ms: i64,
}

const COLUMNS: &str = "id, role_name, model_id, model_variant, model_hash, dimensions, search_version, \
      schema_name, (extract(epoch FROM created_at) * 1000)::int8 AS created_ms, \
      (extract(epoch FROM updated_at) * 1000)::int8 AS updated_ms";

/// The project, if its workspace is ready, and the version of its search tables.
pub async fn find(
    control: &mut ControlTx,
    id: &ProjectId,
    decided_by: DecidedBy,
) -> Result<Option<(Project, i32)>, Fault> {
    let row = control.tx.first(ready(id)).await?;
    row.map(|row| decode(&row, decided_by)).transpose()
}

/// As [`find`], without a transaction, which saves round trips if nothing else is read.
pub async fn find_without_transaction(
    store: &Store,
    id: &ProjectId,
    decided_by: DecidedBy,
) -> Result<Option<(Project, i32)>, Fault> {
    let row = store.database().first(|| ready(id)).await?;
    row.map(|row| decode(&row, decided_by)).transpose()
}

fn ready(id: &ProjectId) -> Query<'static> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.projects WHERE id = $1 AND state = 'ready'");
    sql(text).bind(id.as_str().to_owned())
}

/// Decodes a row. The id is that of the row, so that a caller can compare it with the one it looked up.
fn decode(row: &Row, decided_by: DecidedBy) -> Result<(Project, i32), Fault> {
    let id = ProjectId::parse(row.try_get("id")?)?;
    let mut role: Option<String> = row.try_get("role_name")?;
    if let (Some(other), Some(role)) = (failpoints::wrong_lookup("role"), &mut role) {
        *role = role.replace(id.as_str(), other);
    }
    let (project, version) =
        (Project::new(id, role, decided_by, model(row)?), row.try_get("search_version")?);
    let project = if version > newest(SEARCH) { project.written_by_newer_program() } else { project };
    Ok((project, version))
}

/// All workspaces, sorted by id.
pub async fn list(control: &mut ControlTx) -> Result<Vec<ProjectSummary>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.projects WHERE state = 'ready' ORDER BY id");
    control.tx.all(sql(text)).await?.iter().map(summary).collect()
}

/// All workspaces: first those with a job about one of `subjects`, then the others; within both, the last written first.
pub async fn list_for_subjects(
    control: &mut ControlTx,
    subjects: &[String],
) -> Result<Vec<ProjectSummary>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} \
         FROM pairofcleats.projects p \
         WHERE state = 'ready' \
         ORDER BY EXISTS (SELECT 1 FROM pairofcleats.jobs j WHERE j.project_id = p.id \
           AND j.subject = ANY($1)) DESC, updated_at DESC, id"
    );
    control.tx.all(sql(text).bind(subjects.to_vec())).await?.iter().map(summary).collect()
}

fn summary(row: &Row) -> Result<ProjectSummary, Fault> {
    Ok(ProjectSummary {
        id: ProjectId::parse(row.try_get("id")?)?,
        role_name: row.try_get("role_name")?,
        model: model(row)?,
        search_version: row.try_get("search_version")?,
        schema_name: row.try_get("schema_name")?,
        created_ms: row.try_get("created_ms")?,
        updated_ms: row.try_get("updated_ms")?,
    })
}

/// The state of a workspace, `ready` or `deleting`; `None` if it does not exist.
pub async fn state(control: &mut ControlTx, id: &ProjectId) -> Result<Option<String>, Fault> {
    let query = sql("SELECT state FROM pairofcleats.projects WHERE id = $1");
    let row = control.tx.first(query.bind(id.as_str())).await?;
    row.map(|row| row.try_get("state")).transpose()
}

/// Marks a workspace as being deleted, which hides it from [`find`] and the lists; [`state`] and [`role`] still find it.
pub(crate) async fn mark_deleting(control: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.projects \
         SET state = 'deleting', updated_at = now() \
         WHERE id = $1");
    control.tx.execute(query.bind(id.as_str())).await?;
    Ok(())
}

/// The role of a workspace, in any state.
pub(crate) async fn role(control: &mut ControlTx, id: &ProjectId) -> Result<Option<String>, Fault> {
    let query = sql("SELECT role_name FROM pairofcleats.projects WHERE id = $1");
    control.tx.scalar(query.bind(id.as_str())).await
}

/// Deletes the rows of a workspace, its modules and its repositories from sources.
pub(crate) async fn forget(control: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    for text in [
        "DELETE FROM pairofcleats.source_repositories WHERE project_id = $1",
        "DELETE FROM pairofcleats.project_modules WHERE project_id = $1",
        "DELETE FROM pairofcleats.projects WHERE id = $1",
    ] {
        control.tx.execute(sql(text).bind(id.as_str())).await?;
    }
    Ok(())
}

/// Records that the project was written.
pub async fn touch(control: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.projects SET updated_at = now() WHERE id = $1");
    control.tx.execute(query.bind(id.as_str())).await?;
    Ok(())
}

/// Makes a workspace visible, in the transaction that creates or migrates it.
pub(crate) async fn publish(
    control: &mut ControlTx,
    id: &ProjectId,
    role: Option<&str>,
    model: &ModelFacts,
    search_version: i32,
) -> Result<(), Fault> {
    let query = sql(
        "INSERT INTO pairofcleats.projects (id, schema_name, state, search_version, role_name, model_id, \
           model_variant, model_hash, dimensions) \
         VALUES ($1, $2, 'ready', $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (id) DO UPDATE SET state = 'ready', search_version = excluded.search_version, \
           role_name = excluded.role_name, updated_at = now()",
    );
    let query = query
        .bind(id.as_str())
        .bind(id.schema_name())
        .bind(search_version)
        .bind(role)
        .bind(&model.id)
        .bind(&model.variant)
        .bind(&model.hash)
        .bind(dimensions(model)?);
    control.tx.execute(query).await?;
    Ok(())
}

/// Records the model whose vectors the project holds from now on.
pub(crate) async fn set_model(
    control: &mut ControlTx,
    id: &ProjectId,
    model: &ModelFacts,
) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.projects \
         SET model_id = $2, model_variant = $3, model_hash = $4, dimensions = $5, updated_at = now() \
         WHERE id = $1");
    let query = query.bind(id.as_str()).bind(&model.id).bind(&model.variant).bind(&model.hash);
    control.tx.execute(query.bind(dimensions(model)?)).await?;
    Ok(())
}

fn dimensions(model: &ModelFacts) -> Result<i32, Fault> {
    i32::try_from(model.dimensions).map_err(|e| Fault::internal("The model's vectors are too long.", e))
}

fn model(row: &Row) -> Result<ModelFacts, Fault> {
    Ok(ModelFacts {
        id: row.try_get("model_id")?,
        variant: row.try_get("model_variant")?,
        hash: row.try_get("model_hash")?,
        dimensions: usize::try_from(row.try_get::<i32>("dimensions")?).unwrap_or(0),
    })
}
