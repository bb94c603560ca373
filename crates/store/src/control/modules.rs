//! `pairofcleats.project_modules`: which tables a project's schema has besides those of search.

use crate::door::ControlTx;
use crate::postgres::sql;
use contract::{Fault, ProjectId};

/// The version of a module's tables in a project; 0 where there are none.
///
/// # Errors
/// Storage faults.
pub async fn version(door: &mut ControlTx, id: &ProjectId, module: &str) -> Result<i32, Fault> {
    let query = sql("SELECT version FROM pairofcleats.project_modules WHERE project_id = $1 AND module = $2");
    match door.tx.first(query.bind(id.as_str()).bind(module)).await? {
        Some(row) => Ok(row.try_get(0)?),
        None => Ok(0),
    }
}

/// The modules a project has besides search, with their versions, by name.
///
/// # Errors
/// Storage faults.
pub async fn list(door: &mut ControlTx, id: &ProjectId) -> Result<Vec<(String, i32)>, Fault> {
    let query =
        sql("SELECT module, version FROM pairofcleats.project_modules WHERE project_id = $1 ORDER BY module");
    let rows = door.tx.all(query.bind(id.as_str())).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Notes the version that a module's tables have when this transaction commits.
pub(crate) async fn publish(
    door: &mut ControlTx,
    id: &ProjectId,
    module: &str,
    version: i32,
) -> Result<(), Fault> {
    let query =
        sql("INSERT INTO pairofcleats.project_modules (project_id, module, version) VALUES ($1, $2, $3) \
         ON CONFLICT (project_id, module) DO UPDATE SET version = excluded.version");
    door.tx.execute(query.bind(id.as_str()).bind(module).bind(version)).await?;
    Ok(())
}
