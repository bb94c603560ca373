//! Makes a workspace: schema, role, tables and control row in one transaction, or nothing.

use super::control::{jobs, modules, projects};
use super::door::{ControlTx, Store};
use super::project::index_state;
use super::workspace::{DecidedBy, ModelFacts, Project};
use crate::postgres::{Migration, Module, Pool, SEARCH, SchemaName, newest, sql, sqlstate, statements};
use contract::{ErrorCode, Fault, ProjectId};
use platform::failpoints;

/// Races with other databases of the cluster over shared catalogs are rare and brief.
const ATTEMPTS_MAX: usize = 5;

/// The workspace of `id`, made or brought up to date if need be. Concurrent calls make one attempt in this
/// process; other processes wait for an advisory lock and then find the work done. A new project is pinned to `model`,
/// one that exists keeps its own.
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
        match once(store, id, decided_by, model).await {
            Err(fault) if attempt < ATTEMPTS_MAX && is_race(&fault) => attempt += 1,
            ended => return ended,
        }
    }
}

/// Whether a project has the tables of a module as this program knows them.
///
/// # Errors
/// `ILLEGAL_STATE` when a newer program made them; storage faults.
pub async fn has_module(store: &Store, project: &Project, module: &Module) -> Result<bool, Fault> {
    let mut door = store.control_read().await?;
    let ready = module_is_ready(&mut door, project.id(), module).await?;
    door.commit().await?;
    Ok(ready)
}

/// Makes the tables of a module on its first use, or brings them up to date. Concurrent calls make one attempt in
/// this process; other processes wait for the project's advisory lock and then find the work done.
///
/// # Errors
/// `NO_INDEX` when the project was deleted meanwhile; `ILLEGAL_STATE` when a newer program made the tables; storage faults.
pub async fn provision_module(store: &Store, project: &Project, module: &Module) -> Result<(), Fault> {
    if has_module(store, project, module).await? {
        return Ok(());
    }
    project.require_writable()?;
    let _flight = store.provisioning.enter(project.id().as_str()).await;
    let mut attempt = 1;
    loop {
        match module_once(store, project, module).await {
            Err(fault) if attempt < ATTEMPTS_MAX && is_race(&fault) => attempt += 1,
            done => return done,
        }
    }
}

async fn module_is_ready(door: &mut ControlTx, id: &ProjectId, module: &Module) -> Result<bool, Fault> {
    let (there, known) = (modules::version(door, id, module.name).await?, newest(module.migrations));
    if there > known { Err(newer()) } else { Ok(there == known) }
}

async fn module_once(store: &Store, project: &Project, module: &Module) -> Result<(), Fault> {
    let mut door = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    let id = project.id();
    lock(&mut door, id).await?;
    if module_is_ready(&mut door, id, module).await? {
        return door.commit().await;
    }
    if projects::find(&mut door, id, project.decided_by()).await?.is_none() {
        return Err(Fault::new(ErrorCode::NoIndex, "The project was deleted.").with_hint("Make it anew."));
    }
    let version = modules::version(&mut door, id, module.name).await?;
    migrate(&mut door, project.schema(), module.migrations, version, project.model()).await?;
    if let Some(role) = project.role() {
        grant(&mut door, project.schema(), &format!("\"{role}\"")).await?;
    }
    modules::publish(&mut door, id, module.name, newest(module.migrations)).await?;
    door.commit().await
}

fn newer() -> Fault {
    Fault::new(ErrorCode::IllegalState, "The project was written by a newer version of this program.")
        .with_hint("Upgrade this installation.")
}

/// Nobody else changes the project's tables until this transaction ends.
pub(super) async fn lock(door: &mut ControlTx, id: &ProjectId) -> Result<(), Fault> {
    let lock = sql("SELECT pg_advisory_xact_lock(hashtextextended('pairofcleats:provision:' || $1, 0))");
    door.tx.execute(lock.bind(id.as_str())).await?;
    Ok(())
}

/// Takes the project's runs from their workers, for a transaction that changes what they write: whoever claims one after it
/// finds it changed, and who did before can write no more. They go back to the queue.
pub(super) async fn end_runs(door: &mut ControlTx, id: &ProjectId, schema: &SchemaName) -> Result<(), Fault> {
    let claims = sql("SELECT pg_advisory_xact_lock(hashtextextended('pairofcleats:claim:' || $1, 0))");
    door.tx.execute(claims.bind(id.as_str())).await?;
    index_state::end_writers(door, schema).await?;
    jobs::take_away(door, id).await
}

/// Runs what leads from `version` to the newest one.
pub(super) async fn migrate(
    door: &mut ControlTx,
    schema: &SchemaName,
    migrations: &[Migration],
    version: i32,
    model: &ModelFacts,
) -> Result<(), Fault> {
    let (schema, dimensions) = (schema.to_string(), model.dimensions.to_string());
    for statement in statements(migrations, version, &[("schema", &schema), ("dimensions", &dimensions)]) {
        door.tx.execute(sql(statement)).await?;
    }
    Ok(())
}

/// Lets the project's role use what stands in its schema.
async fn grant(door: &mut ControlTx, schema: &SchemaName, quoted_role: &str) -> Result<(), Fault> {
    for text in [
        format!("GRANT USAGE ON SCHEMA {schema} TO {quoted_role}"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {quoted_role}"),
    ] {
        door.tx.execute(sql(text)).await?;
    }
    Ok(())
}

/// Whether tables of this version of the search module are older than those this program knows.
#[must_use]
pub fn is_outdated(version: i32) -> bool {
    version < newest(SEARCH)
}

/// The project, if it exists and its tables are those this program knows.
async fn ready(
    door: &mut ControlTx,
    id: &ProjectId,
    decided_by: DecidedBy,
) -> Result<Option<Project>, Fault> {
    match projects::find(door, id, decided_by).await? {
        Some((_, version)) if version > newest(SEARCH) => Err(newer()),
        Some((project, version)) if version == newest(SEARCH) => Ok(Some(project)),
        _ => Ok(None),
    }
}

async fn once(
    store: &Store,
    id: &ProjectId,
    decided_by: DecidedBy,
    model: &ModelFacts,
) -> Result<Project, Fault> {
    let mut door = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    lock(&mut door, id).await?;
    if let Some(project) = ready(&mut door, id, decided_by).await? {
        door.commit().await?;
        return Ok(project);
    }
    if projects::state(&mut door, id).await?.as_deref() == Some("deleting") {
        return Err(Fault::new(ErrorCode::IllegalState, "The project is being deleted.")
            .with_hint("Finish it with `pairofcleats projects delete`, then call again."));
    }
    // Tables of an older version keep the model they were made for.
    let existing = projects::find(&mut door, id, decided_by).await?;
    let (version, pinned) =
        existing.as_ref().map_or((0, model), |(project, version)| (*version, project.model()));
    let schema = SchemaName::of(id);
    make_schema(&mut door, id, &schema).await?;
    failpoints::reach("provision.schema_made");
    migrate(&mut door, &schema, SEARCH, version, pinned).await?;
    failpoints::reach("provision.tables_made");
    if existing.is_some() {
        // A run of the older program would go on writing rows of before; a worker of this one takes it.
        end_runs(&mut door, id, &schema).await?;
    }
    let role = if store.database().facts().may_create_roles {
        make_role(&mut door, &store.database().facts().database, id, &schema).await?
    } else {
        None
    };
    projects::publish(&mut door, id, role.as_deref(), pinned, newest(SEARCH)).await?;
    door.commit().await?;
    failpoints::reach("provision.committed");
    Ok(Project::new(id.clone(), role, decided_by, pinned.clone()))
}

/// Looks before it tries: a failed statement would say less than what the operator needs to know.
pub(super) async fn make_schema(
    door: &mut ControlTx,
    id: &ProjectId,
    schema: &SchemaName,
) -> Result<(), Fault> {
    let query = sql("SELECT to_regnamespace($2) IS NOT NULL, CASE WHEN to_regnamespace($2) IS NULL \
         THEN has_database_privilege(current_database(), 'CREATE') ELSE has_schema_privilege($1, 'CREATE') END");
    let row = door.tx.one(query.bind(schema.as_str()).bind(schema.to_string())).await?;
    let (exists, allowed): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
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
        door.tx.execute(sql(format!("CREATE SCHEMA {schema}"))).await?;
    }
    Ok(())
}

/// The role that project transactions run as. None when a role of that name belongs to somebody else.
pub(super) async fn make_role(
    door: &mut ControlTx,
    database: &str,
    id: &ProjectId,
    schema: &SchemaName,
) -> Result<Option<String>, Fault> {
    let name = role_name(database, id);
    let quoted = format!("\"{name}\"");
    let there = sql("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1").bind(&name);
    if door.tx.first(there).await?.is_none() {
        door.tx.execute(sql(format!("CREATE ROLE {quoted} NOLOGIN"))).await?;
    }
    let mine = sql(
        "SELECT pg_has_role(current_user, $1, 'SET'), pg_has_role(current_user, $1, 'MEMBER WITH ADMIN OPTION')",
    );
    let row = door.tx.one(mine.bind(&name)).await?;
    let (may_set, may_grant): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !may_set && !may_grant {
        tracing::warn!(role = name, "the role belongs to another login; the project runs without one");
        return Ok(None);
    }
    if !may_set {
        let grant = format!("GRANT {quoted} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE");
        door.tx.execute(sql(grant)).await?;
    }
    grant(door, schema, &quoted).await?;
    Ok(Some(name))
}

/// `poc_<tag>_<id>`: roles are shared by all databases of a cluster, so the database's name is hashed into
/// it. At most 63 bytes, the limit of Postgres, because an id has at most 50.
fn role_name(database: &str, id: &ProjectId) -> String {
    let tag = blake3::hash(database.as_bytes()).to_hex();
    format!("poc_{}_{id}", &tag.as_str()[..8])
}

/// Two transactions met over a shared catalog: the loser only has to look again.
fn is_race(fault: &Fault) -> bool {
    match sqlstate(fault).as_deref() {
        Some("23505" | "42P06" | "42P07" | "42710" | "40001" | "40P01") => true,
        // "tuple concurrently updated" has no SQLSTATE of its own.
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
