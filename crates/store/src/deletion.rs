//! Takes a workspace away: hidden first, then, when nobody works in it, gone in one transaction.

use super::control::{api_keys, jobs, projects};
use super::door::{ControlTx, Store};
use crate::postgres::{Pool, SchemaName, sql};
use contract::{ErrorCode, Fault, ProjectId};

/// What a workspace leaves behind, if it does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Its schema.
    pub schema: bool,
    /// Its role.
    pub role: bool,
    /// Its rows in the control schema.
    pub rows: i64,
}

impl Remains {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a transaction took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The role, where there was one.
    pub role: Option<String>,
    /// Finished runs.
    pub jobs: u64,
}

/// Hides a workspace from everybody and asks its runs to stop; the first step of its end, and harmless to repeat. Returns
/// how many runs were asked.
///
/// # Errors
/// `NO_INDEX` when there is none; `ILLEGAL_STATE` when runs are under way and `force` is not given; storage faults.
pub async fn condemn(store: &Store, id: &ProjectId, force: bool) -> Result<u64, Fault> {
    let mut door = locked(store, id).await?;
    let Some(state) = projects::state(&mut door, id).await? else {
        let fault = Fault::new(ErrorCode::NoIndex, format!("There is no project `{id}`."));
        return Err(fault.with_hint("`pairofcleats projects` lists them."));
    };
    let live = jobs::live(&mut door, id).await?;
    // Whoever began the deletion was told already.
    if live > 0 && !force && state != "deleting" {
        let fault = Fault::new(ErrorCode::IllegalState, format!("{live} runs of the project are under way."));
        return Err(fault
            .with_hint("Wait until `index_status` shows none, or delete with --force, which stops them."));
    }
    projects::mark_deleting(&mut door, id).await?;
    let asked = jobs::cancel_all(&mut door, id).await?;
    door.commit().await?;
    Ok(asked)
}

/// How many runs of the project still write.
///
/// # Errors
/// Storage faults.
pub async fn running(store: &Store, id: &ProjectId) -> Result<i64, Fault> {
    let mut door = store.control_read().await?;
    let running = jobs::running(&mut door, id).await?;
    door.commit().await?;
    Ok(running)
}

/// Takes away everything in the database: schema, role, runs, and last the row that says that it is being deleted. All
/// or nothing.
///
/// # Errors
/// `ILLEGAL_STATE` when it was not condemned; `STORAGE_UNAVAILABLE` while somebody still reads; storage faults.
pub async fn remove(store: &Store, id: &ProjectId) -> Result<Dropped, Fault> {
    let mut door = locked(store, id).await?;
    if projects::state(&mut door, id).await?.as_deref() != Some("deleting") {
        return Err(Fault::new(ErrorCode::IllegalState, "The project is not being deleted."));
    }
    let role = projects::role(&mut door, id).await?;
    door.tx.lift_timeout().await?;
    door.tx.execute(sql(format!("DROP SCHEMA IF EXISTS {} CASCADE", SchemaName::of(id)))).await?;
    if let Some(role) = &role {
        // It owns nothing and was granted nothing outside its schema.
        door.tx.execute(sql(format!("DROP ROLE IF EXISTS \"{}\"", role.replace('"', "\"\"")))).await?;
    }
    let jobs = jobs::remove_all(&mut door, id).await?;
    projects::forget(&mut door, id).await?;
    door.commit().await?;
    Ok(Dropped { role, jobs })
}

/// Looks whether anything is left in the database.
///
/// # Errors
/// Storage faults.
pub async fn remains(store: &Store, id: &ProjectId, role: Option<&str>) -> Result<Remains, Fault> {
    let mut door = store.control_read().await?;
    let query = sql("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $2), \
         EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $3), \
         (SELECT count(*) FROM pairofcleats.projects WHERE id = $1) \
         + (SELECT count(*) FROM pairofcleats.jobs WHERE project_id = $1) \
         + (SELECT count(*) FROM pairofcleats.project_modules WHERE project_id = $1)");
    let schema = SchemaName::of(id);
    let row = door.tx.one(query.bind(id.as_str()).bind(schema.as_str()).bind(role)).await?;
    let remains = Remains { schema: row.try_get(0)?, role: row.try_get(1)?, rows: row.try_get(2)? };
    door.commit().await?;
    Ok(remains)
}

/// The ids of live API keys that name the project; they stay, and name nothing.
///
/// # Errors
/// Storage faults.
pub async fn keys_naming(store: &Store, id: &ProjectId) -> Result<Vec<String>, Fault> {
    let mut door = store.control_read().await?;
    let keys = api_keys::naming(&mut door, id).await?;
    door.commit().await?;
    Ok(keys)
}

/// A transaction that no provisioning and no claim of the project runs beside.
async fn locked(store: &Store, id: &ProjectId) -> Result<ControlTx, Fault> {
    let mut door = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    for what in ["provision", "claim"] {
        let lock =
            sql("SELECT pg_advisory_xact_lock(hashtextextended('pairofcleats:' || $2 || ':' || $1, 0))");
        door.tx.execute(lock.bind(id.as_str()).bind(what)).await?;
    }
    Ok(door)
}
