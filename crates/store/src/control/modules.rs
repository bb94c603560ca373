//! `pairofcleats.project_modules`: which optional modules, such as triage, a project has. Each adds tables to its schema.

use crate::postgres::sql;
use crate::transaction::ControlTx;
use contract::{Fault, ProjectId};

/// The version of a module's tables in a project; 0 if the project does not have the module.
pub async fn version(control: &mut ControlTx, id: &ProjectId, module: &str) -> Result<i32, Fault> {
    let query = sql("SELECT version \
         FROM pairofcleats.project_modules \
         WHERE project_id = $1 AND module = $2");
    match control.tx.first(query.bind(id.as_str()).bind(module)).await? {
        Some(row) => row.try_get("version"),
        None => Ok(0),
    }
}

/// The optional modules of a project with their versions, sorted by name.
pub async fn list(control: &mut ControlTx, id: &ProjectId) -> Result<Vec<(String, i32)>, Fault> {
    let query = sql("SELECT module, version \
         FROM pairofcleats.project_modules \
         WHERE project_id = $1 ORDER BY module");
    let rows = control.tx.all(query.bind(id.as_str())).await?;
    rows.iter().map(|row| Ok((row.try_get("module")?, row.try_get("version")?))).collect()
}

/// The ids of the projects that have a module, sorted.
///
/// # Errors
/// Storage faults.
pub async fn projects_with(control: &mut ControlTx, module: &str) -> Result<Vec<String>, Fault> {
    let query = sql("SELECT m.project_id FROM pairofcleats.project_modules m \
         JOIN pairofcleats.projects p ON p.id = m.project_id AND p.state = 'ready' \
         WHERE m.module = $1 ORDER BY m.project_id");
    control.tx.scalars(query.bind(module)).await
}

/// Records the version of a module's tables, in the transaction that creates or migrates them.
pub(crate) async fn publish(
    control: &mut ControlTx,
    id: &ProjectId,
    module: &str,
    version: i32,
) -> Result<(), Fault> {
    let query = sql("INSERT INTO pairofcleats.project_modules (project_id, module, version) \
         VALUES ($1, $2, $3) \
         ON CONFLICT (project_id, module) DO UPDATE SET version = excluded.version");
    control.tx.execute(query.bind(id.as_str()).bind(module).bind(version)).await?;
    Ok(())
}
