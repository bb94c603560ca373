//! Checks, before any pool opens, that the server's version and its pgvector extension are usable.

use serde_json::json;
use sqlx::{PgConnection, Row};

use super::error::{OrFault, fault, permission_denied};
use super::schema_name::quoted;
use super::statement::sql;
use contract::{ErrorCode, Fault};

/// Oldest supported server, as `server_version_num`.
const SERVER_MIN: i32 = 160_000;
/// Oldest supported pgvector; it has halfvec, sparsevec and iterative scans.
const VECTOR_MIN: (u32, u32, u32) = (0, 8, 0);
/// The first pgvector in which vacuum cannot damage HNSW indexes.
const VECTOR_SAFE_VACUUM: (u32, u32, u32) = (0, 8, 4);
/// The schema into which this program installs pgvector.
const EXTENSION_SCHEMA: &str = "extensions";

/// Version and capabilities of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// Version to display, for example `18.4`.
    pub version: String,
    /// Version of the installed pgvector, for example `0.8.5`.
    pub vector_version: String,
    /// Schema that holds the extension.
    pub extension_schema: String,
    /// Name of the database.
    pub database: String,
    /// `true` if the login may create roles. If not, projects are isolated by their schema names only.
    pub may_create_roles: bool,
    /// Warnings for the operator.
    pub warnings: Vec<String>,
}

/// Checks the versions of server and extension, and installs the extension if it is missing.
///
/// # Errors
/// `STORAGE_UNAVAILABLE` when the server is too old, `CAPABILITY_MISSING` when it has no usable
/// pgvector, `PERMISSION_DENIED` when pgvector is available but this login may not install it.
pub(super) async fn check(connection: &mut PgConnection) -> Result<ServerFacts, Fault> {
    let row = sql("SELECT current_setting('server_version_num')::int4 AS number, \
           split_part(current_setting('server_version'), ' ', 1) AS version, \
           current_database()::text AS database, (SELECT rolsuper OR rolcreaterole FROM pg_catalog.pg_roles \
           WHERE rolname = current_user) AS may_create_roles")
    .fetch_one(&mut *connection)
    .await
    .or_fault()?;
    let (number, version): (i32, String) =
        (row.try_get("number").or_fault()?, row.try_get("version").or_fault()?);
    if number < SERVER_MIN {
        let mut fault = Fault::new(ErrorCode::StorageUnavailable, format!("PostgreSQL {version} is too old; 16 or newer is needed."))
            .with_hint("Upgrade the server, point DATABASE_URL at a newer one, or unset it to use the embedded Postgres.");
        fault.retryable = false;
        return Err(fault);
    }
    let (vector_version, extension_schema) = match installed(connection).await? {
        Some(installed) => installed,
        None => install(connection).await?,
    };
    if version_triple(&vector_version) < VECTOR_MIN {
        return Err(Fault::new(
            ErrorCode::CapabilityMissing,
            format!("pgvector {vector_version} is too old; 0.8.0 or newer is needed."),
        )
        .with_hint("Upgrade the package on the database server, then run ALTER EXTENSION vector UPDATE."));
    }
    let warnings = known_faults(&vector_version).into_iter().collect();
    Ok(ServerFacts {
        version,
        vector_version,
        extension_schema,
        database: row.try_get("database").or_fault()?,
        may_create_roles: row.try_get("may_create_roles").or_fault()?,
        warnings,
    })
}

/// Known faults of this version of pgvector.
pub(super) fn known_faults(version: &str) -> Option<String> {
    (version_triple(version) < VECTOR_SAFE_VACUUM)
        .then(|| format!("pgvector {version} has known faults in HNSW vacuum; upgrade to 0.8.4 or newer."))
}

async fn installed(connection: &mut PgConnection) -> Result<Option<(String, String)>, Fault> {
    let row = sql("SELECT e.extversion, n.nspname::text AS schema \
         FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = 'vector'")
    .fetch_optional(connection)
    .await
    .or_fault()?;
    row.map(|row| Ok((row.try_get("extversion").or_fault()?, row.try_get("schema").or_fault()?))).transpose()
}

/// Creates the extension under a lock, because concurrent `CREATE … IF NOT EXISTS` statements can fail.
async fn install(connection: &mut PgConnection) -> Result<(String, String), Fault> {
    let available = sql("SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'vector'")
        .fetch_optional(&mut *connection);
    if available.await.or_fault()?.is_none() {
        return Err(Fault::new(ErrorCode::CapabilityMissing, "The database server has no pgvector extension.")
            .with_hint("Install pgvector 0.8 or newer on the database server, or unset DATABASE_URL to use the embedded Postgres."));
    }
    let steps = [
        "BEGIN".to_owned(),
        "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('pairofcleats:control', 0))"
            .to_owned(),
        format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(EXTENSION_SCHEMA)),
        format!("GRANT USAGE ON SCHEMA {} TO PUBLIC", quoted(EXTENSION_SCHEMA)),
        format!("CREATE EXTENSION IF NOT EXISTS vector SCHEMA {}", quoted(EXTENSION_SCHEMA)),
        "COMMIT".to_owned(),
    ];
    for step in steps {
        if let Err(error) = sql(step).execute(&mut *connection).await {
            return Err(not_installed(fault(error)));
        }
    }
    match installed(connection).await? {
        Some(installed) => Ok(installed),
        None => {
            Err(Fault::new(ErrorCode::CapabilityMissing, "The pgvector extension could not be installed."))
        }
    }
}

fn not_installed(fault: Fault) -> Fault {
    if fault.code != ErrorCode::PermissionDenied {
        return fault;
    }
    permission_denied(
        "The database login may not install the pgvector extension.",
        json!({ "schema_name": EXTENSION_SCHEMA }),
        "Ask an administrator to run: CREATE SCHEMA extensions; GRANT USAGE ON SCHEMA extensions TO PUBLIC; CREATE EXTENSION vector SCHEMA extensions;",
    )
    .with_source(fault)
}

/// A version such as `0.8.5` as numbers; parts that are not numbers count as 0.
fn version_triple(version: &str) -> (u32, u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(version_triple("0.8.0") >= VECTOR_MIN);
        assert!(version_triple("0.10.0") > VECTOR_SAFE_VACUUM);
        assert!(version_triple("0.7.4") < VECTOR_MIN);
        assert_eq!(version_triple("1.0"), (1, 0, 0));
        assert!(known_faults("0.8.3").is_some() && known_faults("0.8.4").is_none());
    }
}
