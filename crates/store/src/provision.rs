//! Provisions a project: schema, role, tables and control row in one transaction.

use super::control::locks::AdvisoryLock;
use super::control::{jobs, modules, projects};
use super::project::index_state;
use super::transaction::{ControlTx, Store};
use super::workspace::{DecidedBy, ModelFacts, Project};
use crate::postgres::{Migration, Module, Pool, SEARCH, SchemaName, newest, sql, sqlstate, statements};
use contract::{ErrorCode, Fault, ProjectId};
use platform::failpoints;

/// Attempts if another database of the cluster changes a shared catalog at the same time, which is rare.
const ATTEMPTS_MAX: usize = 5;

/// Returns the workspace of `id`; creates or migrates it if necessary. Concurrent calls in this process make one attempt;
/// other processes wait for an advisory lock and then find the work done. A new project gets `model`, an existing one
/// keeps its own.
///
/// # Errors
/// `PERMISSION_DENIED` when the login may not create schemas; `ILLEGAL_STATE` when the project was written by a newer
/// program; storage faults.
pub async fn provision(
    store: &Store,
    id: &ProjectId,
    decided_by: DecidedBy,
    model: &ModelFacts,
) -> Result<Project, Fault> {
    if let Some(project) = ready(&mut store.control_read().await?, id, decided_by).await? {
        return Ok(project);
    }
    let _flight = store.provisioning.enter(id.as_str()).await;
    let mut attempt = 1;
    loop {
        match try_provision(store, id, decided_by, model).await {
            Err(fault) if attempt < ATTEMPTS_MAX && is_race(&fault) => attempt += 1,
            result => return result,
        }
    }
}

/// Checks whether a project has the tables of a module in this program's version. Those that an older program created are migrated first,
/// so that no caller meets tables of an older form.
///
/// # Errors
/// As [`provision_module`].
pub async fn has_module(store: &Store, project: &Project, module: &Module) -> Result<bool, Fault> {
    let version = module_version(store, project, module).await?;
    if version == 0 || is_ready(version, module)? {
        return Ok(version != 0);
    }
    provision_module(store, project, module).await?;
    Ok(true)
}

async fn module_version(store: &Store, project: &Project, module: &Module) -> Result<i32, Fault> {
    let mut control = store.control_read().await?;
    let version = modules::version(&mut control, project.id(), module.name).await?;
    control.commit().await?;
    Ok(version)
}

/// Creates the tables of a module on its first use, or migrates them. Concurrent calls in this process make one attempt;
/// other processes wait for the project's advisory lock and then find the work done.
///
/// # Errors
/// `NO_INDEX` if the project was deleted meanwhile; `ILLEGAL_STATE` if a newer program created the tables; storage faults.
pub async fn provision_module(store: &Store, project: &Project, module: &Module) -> Result<(), Fault> {
    if is_ready(module_version(store, project, module).await?, module)? {
        return Ok(());
    }
    project.require_writable()?;
    let _flight = store.provisioning.enter(project.id().as_str()).await;
    let mut attempt = 1;
    loop {
        match try_provision_module(store, project, module).await {
            Err(fault) if attempt < ATTEMPTS_MAX && is_race(&fault) => attempt += 1,
            result => return result,
        }
    }
}

/// Returns `true` if tables of the version `stored` are those of this program.
fn is_ready(stored: i32, module: &Module) -> Result<bool, Fault> {
    let known = newest(module.migrations);
    if stored > known { Err(newer()) } else { Ok(stored == known) }
}

async fn try_provision_module(store: &Store, project: &Project, module: &Module) -> Result<(), Fault> {
    let mut control = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    let id = project.id();
    lock(&mut control, id).await?;
    let version = modules::version(&mut control, id, module.name).await?;
    if is_ready(version, module)? {
        return control.commit().await;
    }
    if projects::find(&mut control, id, project.decided_by()).await?.is_none() {
        return Err(Fault::new(ErrorCode::NoIndex, "The project was deleted.").with_hint("Create it again."));
    }
    migrate(&mut control, project.schema(), module.migrations, version, project.model()).await?;
    if let Some(role) = project.role() {
        grant(&mut control, project.schema(), &format!("\"{role}\"")).await?;
    }
    modules::publish(&mut control, id, module.name, newest(module.migrations)).await?;
    control.commit().await
}

fn newer() -> Fault {
    Fault::new(ErrorCode::IllegalState, "The project was written by a newer version of this program.")
        .with_hint("Upgrade this installation.")
}

/// Locks the project against provisioning by other transactions until this one ends.
pub(super) async fn lock(control: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    AdvisoryLock::Provisioning(id.as_str()).acquire(control).await
}

/// Requeues the project's running jobs and invalidates their fence tokens, for a transaction that changes the tables they write: a worker
/// that claimed a job before cannot write any more.
pub(super) async fn end_runs(
    control: &mut ControlTx,
    id: &ProjectId,
    schema: &SchemaName,
) -> Result<(), Fault> {
    AdvisoryLock::Claims(id.as_str()).acquire(control).await?;
    index_state::invalidate_fence_tokens(control, schema).await?;
    jobs::requeue_running(control, id).await
}

/// Runs the migrations from `version` to the newest one.
pub(super) async fn migrate(
    control: &mut ControlTx,
    schema: &SchemaName,
    migrations: &[Migration],
    version: i32,
    model: &ModelFacts,
) -> Result<(), Fault> {
    let (schema, dimensions) = (schema.to_string(), model.dimensions.to_string());
    for statement in statements(migrations, version, &[("schema", &schema), ("dimensions", &dimensions)]) {
        control.tx.execute(sql(statement)).await?;
    }
    Ok(())
}

/// Grants the project's role access to the tables of its schema.
async fn grant(control: &mut ControlTx, schema: &SchemaName, quoted_role: &str) -> Result<(), Fault> {
    for text in [
        format!("GRANT USAGE ON SCHEMA {schema} TO {quoted_role}"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {quoted_role}"),
    ] {
        control.tx.execute(sql(text)).await?;
    }
    Ok(())
}

/// Returns `true` if search tables of this version are older than those of this program.
#[must_use]
pub fn is_outdated(version: i32) -> bool {
    version < newest(SEARCH)
}

/// The project, if it exists and its tables have this program's version.
async fn ready(
    control: &mut ControlTx,
    id: &ProjectId,
    decided_by: DecidedBy,
) -> Result<Option<Project>, Fault> {
    match projects::find(control, id, decided_by).await? {
        Some((_, version)) if version > newest(SEARCH) => Err(newer()),
        Some((project, version)) if version == newest(SEARCH) => Ok(Some(project)),
        _ => Ok(None),
    }
}

async fn try_provision(
    store: &Store,
    id: &ProjectId,
    decided_by: DecidedBy,
    model: &ModelFacts,
) -> Result<Project, Fault> {
    let mut control = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    lock(&mut control, id).await?;
    if let Some(project) = ready(&mut control, id, decided_by).await? {
        control.commit().await?;
        return Ok(project);
    }
    if projects::state(&mut control, id).await?.as_deref() == Some("deleting") {
        return Err(Fault::new(ErrorCode::IllegalState, "The project is being deleted.")
            .with_hint("Finish it with `pairofcleats projects delete`, then call again."));
    }
    // A project with older tables keeps its model.
    let existing = projects::find(&mut control, id, decided_by).await?;
    let (version, pinned) =
        existing.as_ref().map_or((0, model), |(project, version)| (*version, project.model()));
    let schema = SchemaName::new(id);
    make_schema(&mut control, id, &schema).await?;
    failpoints::reach("provision.schema_made");
    migrate(&mut control, &schema, SEARCH, version, pinned).await?;
    failpoints::reach("provision.tables_made");
    if existing.is_some() {
        // A job of the older program would keep writing rows of the old version; requeued, a worker of this program runs it.
        end_runs(&mut control, id, &schema).await?;
    }
    let role = if store.database().facts().may_create_roles {
        make_role(&mut control, &store.database().facts().database, id, &schema).await?
    } else {
        None
    };
    projects::publish(&mut control, id, role.as_deref(), pinned, newest(SEARCH)).await?;
    control.commit().await?;
    failpoints::reach("provision.committed");
    Ok(Project::new(id.clone(), role, decided_by, pinned.clone()))
}

/// Creates the schema if it does not exist. Checks the privilege first, because the error of a failed CREATE SCHEMA would not help the
/// operator.
pub(super) async fn make_schema(
    control: &mut ControlTx,
    id: &ProjectId,
    schema: &SchemaName,
) -> Result<(), Fault> {
    let query =
        sql("SELECT to_regnamespace($2) IS NOT NULL AS exists, CASE WHEN to_regnamespace($2) IS NULL \
               THEN has_database_privilege(current_database(), 'CREATE') \
               ELSE has_schema_privilege($1, 'CREATE') END AS allowed");
    let row = control.tx.one(query.bind(schema.as_str()).bind(schema.to_string())).await?;
    let (exists, allowed): (bool, bool) = (row.try_get("exists")?, row.try_get("allowed")?);
    if !allowed {
        return Err(Fault::new(
            ErrorCode::PermissionDenied,
            "Cannot create project workspace - insufficient permissions",
        )
        .with_details(serde_json::json!({
            "project_id": id.as_str(),
            "schema_name": schema.as_str(),
            "suggested_action": "Contact administrator to grant CREATE SCHEMA permission",
        }))
        .with_hint(
            "Ask an administrator to grant the login of DATABASE_URL the CREATE privilege on its database.",
        ));
    }
    if !exists {
        control.tx.execute(sql(format!("CREATE SCHEMA {schema}"))).await?;
    }
    Ok(())
}

/// Creates the role that project transactions run as, if it does not exist, and grants it access to the schema. `None` if a
/// role of that name belongs to another login.
pub(super) async fn make_role(
    control: &mut ControlTx,
    database: &str,
    id: &ProjectId,
    schema: &SchemaName,
) -> Result<Option<String>, Fault> {
    let name = role_name(database, id);
    let quoted = format!("\"{name}\"");
    let exists = sql("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1").bind(&name);
    if control.tx.first(exists).await?.is_none() {
        control.tx.execute(sql(format!("CREATE ROLE {quoted} NOLOGIN"))).await?;
    }
    let privileges =
        sql("SELECT pg_has_role(current_user, $1, 'SET') AS may_set, pg_has_role(current_user, $1, \
           'MEMBER WITH ADMIN OPTION') AS may_grant");
    let row = control.tx.one(privileges.bind(&name)).await?;
    let (may_set, may_grant): (bool, bool) = (row.try_get("may_set")?, row.try_get("may_grant")?);
    if !may_set && !may_grant {
        tracing::warn!(role = name, "the role belongs to another login; the project runs without one");
        return Ok(None);
    }
    if !may_set {
        let grant = format!("GRANT {quoted} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE");
        control.tx.execute(sql(grant)).await?;
    }
    grant(control, schema, &quoted).await?;
    Ok(Some(name))
}

/// The role's name, `poc_<tag>_<id>`. All databases of a cluster share their roles, so the tag is a hash of the database's
/// name. At most 63 bytes, the limit of Postgres, because an id has at most 50.
fn role_name(database: &str, id: &ProjectId) -> String {
    let tag = blake3::hash(database.as_bytes()).to_hex();
    format!("poc_{}_{id}", &tag.as_str()[..8])
}

/// Returns `true` if the transaction lost a race with another one that changed a shared catalog, so that a retry helps.
fn is_race(fault: &Fault) -> bool {
    match sqlstate(fault).as_deref() {
        Some("23505" | "42P06" | "42P07" | "42710" | "40001" | "40P01") => true,
        // "tuple concurrently updated" has no specific SQLSTATE.
        Some("XX000") => fault.source.as_ref().is_some_and(|s| s.to_string().contains("concurrently")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_names_fit_and_differ_by_database() {
        let longest = ProjectId::parse(&"a".repeat(50)).unwrap();
        assert_eq!(role_name("x", &longest).len(), 63);
        assert_ne!(role_name("x", &longest), role_name("y", &longest));
    }
}
