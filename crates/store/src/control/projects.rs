//! `pairofcleats.projects`: which workspaces exist.

use crate::postgres::Row;

use crate::door::{ControlTx, Store};
use crate::postgres::{Query, SEARCH, newest, sql};
use crate::workspace::{DecidedBy, ModelFacts, Project};
use contract::{Fault, ProjectId};
use platform::failpoints;

/// A workspace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSummary {
    /// The id.
    pub id: ProjectId,
    /// Its Postgres schema.
    pub schema_name: String,
    /// Its role, where there is one.
    pub role_name: Option<String>,
    /// The model it is pinned to.
    pub model: ModelFacts,
    /// Version of its search tables.
    pub search_version: i32,
    /// Milliseconds since the epoch, UTC.
    pub created_ms: i64,
    /// Last time something was written, milliseconds since the epoch, UTC.
    pub updated_ms: i64,
}

const COLUMNS: &str = "id, role_name, model_id, model_variant, model_hash, dimensions, search_version, schema_name, \
    (extract(epoch FROM created_at) * 1000)::int8, (extract(epoch FROM updated_at) * 1000)::int8";

/// The project, if its workspace is ready, and the version of its search tables.
///
/// # Errors
/// Storage faults.
pub async fn find(
    door: &mut ControlTx,
    id: &ProjectId,
    decided_by: DecidedBy,
) -> Result<Option<(Project, i32)>, Fault> {
    let row = door.tx.first(ready(id)).await?;
    row.map(|row| found(&row, id, decided_by)).transpose()
}

/// The same in one round trip, where nothing else is asked in the same transaction.
///
/// # Errors
/// Storage faults.
pub async fn look(
    store: &Store,
    id: &ProjectId,
    decided_by: DecidedBy,
) -> Result<Option<(Project, i32)>, Fault> {
    let row = store.database().glance(|| ready(id)).await?;
    row.map(|row| found(&row, id, decided_by)).transpose()
}

fn ready(id: &ProjectId) -> Query<'static> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.projects WHERE id = $1 AND state = 'ready'");
    sql(text).bind(id.as_str().to_owned())
}

fn found(row: &Row, id: &ProjectId, decided_by: DecidedBy) -> Result<(Project, i32), Fault> {
    let mut role: Option<String> = row.try_get(1)?;
    if let (Some(other), Some(role)) = (failpoints::lie("role"), &mut role) {
        *role = role.replace(id.as_str(), other);
    }
    let (project, version) = (Project::new(id.clone(), role, decided_by, model(row)?), row.try_get(6)?);
    let project = if version > newest(SEARCH) { project.of_newer_program() } else { project };
    Ok((project, version))
}

/// All workspaces, by id.
///
/// # Errors
/// Storage faults.
pub async fn list(door: &mut ControlTx) -> Result<Vec<ProjectSummary>, Fault> {
    let text = format!("SELECT {COLUMNS} FROM pairofcleats.projects WHERE state = 'ready' ORDER BY id");
    door.tx.all(sql(text)).await?.iter().map(summary).collect()
}

/// All workspaces: first those of which a job was about one of `subjects`, then the others, the last written first.
///
/// # Errors
/// Storage faults.
pub async fn list_for_subjects(
    door: &mut ControlTx,
    subjects: &[String],
) -> Result<Vec<ProjectSummary>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.projects p WHERE state = 'ready' ORDER BY EXISTS \
         (SELECT 1 FROM pairofcleats.jobs j WHERE j.project_id = p.id AND j.subject = ANY($1)) DESC, updated_at DESC, id"
    );
    door.tx.all(sql(text).bind(subjects.to_vec())).await?.iter().map(summary).collect()
}

fn summary(row: &Row) -> Result<ProjectSummary, Fault> {
    Ok(ProjectSummary {
        id: ProjectId::parse(row.try_get(0)?)?,
        role_name: row.try_get(1)?,
        model: model(row)?,
        search_version: row.try_get(6)?,
        schema_name: row.try_get(7)?,
        created_ms: row.try_get(8)?,
        updated_ms: row.try_get(9)?,
    })
}

/// `ready` or `deleting`; None where there is no such workspace.
///
/// # Errors
/// Storage faults.
pub async fn state(door: &mut ControlTx, id: &ProjectId) -> Result<Option<String>, Fault> {
    let query = sql("SELECT state FROM pairofcleats.projects WHERE id = $1");
    let row = door.tx.first(query.bind(id.as_str())).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// Hides a workspace that is going to be deleted.
pub(crate) async fn mark_deleting(door: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.projects SET state = 'deleting', updated_at = now() WHERE id = $1");
    door.tx.execute(query.bind(id.as_str())).await?;
    Ok(())
}

/// The role of a workspace in whatever state.
pub(crate) async fn role(door: &mut ControlTx, id: &ProjectId) -> Result<Option<String>, Fault> {
    let query = sql("SELECT role_name FROM pairofcleats.projects WHERE id = $1");
    door.tx.one(query.bind(id.as_str())).await?.try_get(0)
}

/// Forgets a workspace and its modules.
pub(crate) async fn forget(door: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    for text in [
        "DELETE FROM pairofcleats.project_modules WHERE project_id = $1",
        "DELETE FROM pairofcleats.projects WHERE id = $1",
    ] {
        door.tx.execute(sql(text).bind(id.as_str())).await?;
    }
    Ok(())
}

/// Notes that something was written to the project.
///
/// # Errors
/// Storage faults.
pub async fn touch(door: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.projects SET updated_at = now() WHERE id = $1");
    door.tx.execute(query.bind(id.as_str())).await?;
    Ok(())
}

/// Publishes a workspace that is complete when this transaction commits.
pub(crate) async fn publish(
    door: &mut ControlTx,
    id: &ProjectId,
    role: Option<&str>,
    model: &ModelFacts,
    search_version: i32,
) -> Result<(), Fault> {
    let query = sql(
        "INSERT INTO pairofcleats.projects (id, schema_name, state, search_version, role_name, model_id, model_variant, \
         model_hash, dimensions) VALUES ($1, $2, 'ready', $3, $4, $5, $6, $7, $8) \
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
    door.tx.execute(query).await?;
    Ok(())
}

/// Notes another model; its vectors are made from here on.
pub(crate) async fn repin(door: &mut ControlTx, id: &ProjectId, model: &ModelFacts) -> Result<(), Fault> {
    let query = sql(
        "UPDATE pairofcleats.projects SET model_id = $2, model_variant = $3, model_hash = $4, dimensions = $5, \
         updated_at = now() WHERE id = $1",
    );
    let query = query.bind(id.as_str()).bind(&model.id).bind(&model.variant).bind(&model.hash);
    door.tx.execute(query.bind(dimensions(model)?)).await?;
    Ok(())
}

fn dimensions(model: &ModelFacts) -> Result<i32, Fault> {
    i32::try_from(model.dimensions).map_err(|e| Fault::internal("The model's vectors are too long.", e))
}

fn model(row: &Row) -> Result<ModelFacts, Fault> {
    Ok(ModelFacts {
        id: row.try_get(2)?,
        variant: row.try_get(3)?,
        hash: row.try_get(4)?,
        dimensions: usize::try_from(row.try_get::<i32>(5)?).unwrap_or(0),
    })
}
