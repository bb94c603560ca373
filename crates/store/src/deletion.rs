//! Deletes a project in two steps: marks it as being deleted, which hides it and stops its jobs; then, once no job runs,
//! removes it in one transaction.

use super::control::locks::AdvisoryLock;
use super::control::{api_keys, jobs, projects};
use super::transaction::{ControlTx, Store};
use crate::postgres::{Pool, SchemaName, sql};
use contract::{ErrorCode, Fault, ProjectId};

/// Remains of a deleted project in the database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// `true` if its schema exists.
    pub schema: bool,
    /// `true` if its role exists.
    pub role: bool,
    /// Number of its rows in the control schema.
    pub rows: i64,
}

impl Leftovers {
    /// Returns `true` if nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The parts that [`remove`] deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The role, if there was one.
    pub role: Option<String>,
    /// Number of deleted jobs.
    pub jobs: u64,
}

/// The first step: hides the project and asks its jobs to stop. It may be repeated. Returns the number of cancelled jobs.
///
/// # Errors
/// `NO_INDEX` if there is no such project; `ILLEGAL_STATE` if it has unfinished jobs and `force` is false; storage faults.
pub async fn mark_deleting(store: &Store, id: &ProjectId, force: bool) -> Result<u64, Fault> {
    let mut control = begin_locked(store, id).await?;
    let Some(state) = projects::state(&mut control, id).await? else {
        let fault = Fault::new(ErrorCode::NoIndex, format!("There is no project `{id}`."));
        return Err(fault.with_hint("`pairofcleats projects` lists them."));
    };
    let unfinished = jobs::unfinished(&mut control, id).await?;
    // A repeated call does not need `force`, because the first one passed this check.
    if unfinished > 0 && !force && state != "deleting" {
        let fault =
            Fault::new(ErrorCode::IllegalState, format!("The project has unfinished jobs: {unfinished}."));
        return Err(fault
            .with_hint("Wait until `index_status` shows none, or delete with --force, which stops them."));
    }
    projects::mark_deleting(&mut control, id).await?;
    let cancelled = jobs::cancel_all(&mut control, id).await?;
    control.commit().await?;
    Ok(cancelled)
}

/// The number of the project's jobs that are still running.
pub async fn running_jobs(store: &Store, id: &ProjectId) -> Result<i64, Fault> {
    let mut control = store.control_read().await?;
    let running = jobs::running(&mut control, id).await?;
    control.commit().await?;
    Ok(running)
}

/// The second step, once [`running_jobs`] is 0: removes the schema, the role, the jobs and all shared rows of the project in
/// one transaction.
///
/// # Errors
/// `ILLEGAL_STATE` if the project was not marked; `STORAGE_UNAVAILABLE` while another transaction reads it; storage faults.
pub async fn remove(store: &Store, id: &ProjectId) -> Result<Removed, Fault> {
    let mut control = begin_locked(store, id).await?;
    if projects::state(&mut control, id).await?.as_deref() != Some("deleting") {
        return Err(Fault::new(ErrorCode::IllegalState, "The project is not being deleted."));
    }
    let role = projects::role(&mut control, id).await?;
    control.tx.lift_timeout().await?;
    control.tx.execute(sql(format!("DROP SCHEMA IF EXISTS {} CASCADE", SchemaName::new(id)))).await?;
    if let Some(role) = &role {
        // It owns nothing and was granted nothing outside its schema.
        control.tx.execute(sql(format!("DROP ROLE IF EXISTS \"{}\"", role.replace('"', "\"\"")))).await?;
    }
    let jobs = jobs::remove_all(&mut control, id).await?;
    projects::forget(&mut control, id).await?;
    control.commit().await?;
    Ok(Removed { role, jobs })
}

/// Looks for remains of the project in the database.
pub async fn leftovers(store: &Store, id: &ProjectId, role: Option<&str>) -> Result<Leftovers, Fault> {
    let mut control = store.control_read().await?;
    let query = sql("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $2) AS schema, \
           EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $3) AS role, (SELECT count(*) \
           FROM pairofcleats.projects WHERE id = $1) + (SELECT count(*) FROM pairofcleats.jobs \
           WHERE project_id = $1) + (SELECT count(*) FROM pairofcleats.project_modules \
           WHERE project_id = $1) + (SELECT count(*) FROM pairofcleats.source_repositories \
           WHERE project_id = $1) AS rows");
    let schema = SchemaName::new(id);
    let row = control.tx.one(query.bind(id.as_str()).bind(schema.as_str()).bind(role)).await?;
    let leftovers =
        Leftovers { schema: row.try_get("schema")?, role: row.try_get("role")?, rows: row.try_get("rows")? };
    control.commit().await?;
    Ok(leftovers)
}

/// The ids of valid API keys that list the project. They are not deleted with it.
pub async fn keys_listing_project(store: &Store, id: &ProjectId) -> Result<Vec<String>, Fault> {
    let mut control = store.control_read().await?;
    let keys = api_keys::ids_naming_project(&mut control, id).await?;
    control.commit().await?;
    Ok(keys)
}

/// Begins a transaction during which the project is not provisioned and none of its jobs is claimed.
async fn begin_locked(store: &Store, id: &ProjectId) -> Result<ControlTx, Fault> {
    let mut control = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    AdvisoryLock::Provisioning(id.as_str()).acquire(&mut control).await?;
    AdvisoryLock::Claims(id.as_str()).acquire(&mut control).await?;
    Ok(control)
}
