//! Is this server one we can use? Asked once, before any pool opens.

use sqlx::{PgConnection, Row};

use super::error::{OrFault, fault};
use super::guard::sql;
use super::schema_name::quoted;
use contract::{ErrorCode, Fault};

/// Oldest server: `server_version_num`.
const SERVER_MIN: i32 = 160_000;
/// Oldest pgvector: halfvec, sparsevec and iterative scans.
const VECTOR_MIN: (u32, u32, u32) = (0, 8, 0);
/// Before this, vacuum could damage HNSW indexes.
const VECTOR_SOUND: (u32, u32, u32) = (0, 8, 4);
/// Where pgvector goes when we install it.
const EXTENSION_SCHEMA: &str = "extensions";

/// What the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// For people: `18.4`.
    pub version: String,
    /// Version of the installed extension: `0.8.5`.
    pub vector_version: String,
    /// Schema that holds the extension.
    pub extension_schema: String,
    /// Name of the database.
    pub database: String,
    /// Whether the login may make roles: without it projects are kept apart by names alone.
    pub may_create_roles: bool,
    /// What the operator should know.
    pub warnings: Vec<String>,
}

/// Checks version and extension, and installs the extension where it is missing and allowed.
///
/// # Errors
/// `STORAGE_UNAVAILABLE` when the server is too old, `CAPABILITY_MISSING` when it has no usable
/// pgvector, `PERMISSION_DENIED` when pgvector is there but this login may not install it.
pub(super) async fn check(connection: &mut PgConnection) -> Result<ServerFacts, Fault> {
    let row = sql(
        "SELECT current_setting('server_version_num')::int4, split_part(current_setting('server_version'), ' ', 1), \
         current_database()::text, (SELECT rolsuper OR rolcreaterole FROM pg_catalog.pg_roles WHERE rolname = current_user)",
    )
    .fetch_one(&mut *connection)
    .await.or_fault()?;
    let (number, version): (i32, String) = (row.try_get(0).or_fault()?, row.try_get(1).or_fault()?);
    if number < SERVER_MIN {
        let mut fault = Fault::new(ErrorCode::StorageUnavailable, format!("PostgreSQL {version} is too old; 16 or newer is needed."))
            .with_hint("Upgrade the server, point DATABASE_URL at a newer one, or unset it to use the embedded Postgres.");
        fault.retryable = false;
        return Err(fault);
    }
    let (vector_version, extension_schema) = match installed(connection).await? {
        Some(found) => found,
        None => install(connection).await?,
    };
    let found = triple(&vector_version);
    if found < VECTOR_MIN {
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
        database: row.try_get(2).or_fault()?,
        may_create_roles: row.try_get(3).or_fault()?,
        warnings,
    })
}

/// What the operator should know of this version of pgvector.
pub(super) fn known_faults(version: &str) -> Option<String> {
    (triple(version) < VECTOR_SOUND)
        .then(|| format!("pgvector {version} has known faults in HNSW vacuum; upgrade to 0.8.4 or newer."))
}

async fn installed(connection: &mut PgConnection) -> Result<Option<(String, String)>, Fault> {
    let row = sql("SELECT e.extversion, n.nspname::text FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'")
    .fetch_optional(connection)
    .await
    .or_fault()?;
    row.map(|row| Ok((row.try_get(0).or_fault()?, row.try_get(1).or_fault()?))).transpose()
}

/// Creates the extension under a lock, since `IF NOT EXISTS` does not survive a race.
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
        Some(found) => Ok(found),
        None => {
            Err(Fault::new(ErrorCode::CapabilityMissing, "The pgvector extension could not be installed."))
        }
    }
}

fn not_installed(fault: Fault) -> Fault {
    if fault.code != ErrorCode::PermissionDenied {
        return fault;
    }
    Fault::new(ErrorCode::PermissionDenied, "The database login may not install the pgvector extension.")
        .with_hint("Ask an administrator to run: CREATE SCHEMA extensions; GRANT USAGE ON SCHEMA extensions TO PUBLIC; CREATE EXTENSION vector SCHEMA extensions;")
        .with_source(fault)
}

/// `0.8.5` as numbers; what is not a number counts as 0.
fn triple(version: &str) -> (u32, u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(triple("0.8.0") >= VECTOR_MIN);
        assert!(triple("0.10.0") > VECTOR_SOUND);
        assert!(triple("0.7.4") < VECTOR_MIN);
        assert_eq!(triple("1.0"), (1, 0, 0));
        assert!(known_faults("0.8.3").is_some() && known_faults("0.8.4").is_none());
    }
}
