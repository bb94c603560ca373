//! Translates database errors into faults. Matches on SQLSTATE, because the server's texts are localised and change.

use std::io;

use contract::{ErrorCode, Fault};
use serde_json::{Value, json};

/// The fault for an error of the database.
pub(crate) fn fault(error: sqlx::Error) -> Fault {
    let fault = match &error {
            sqlx::Error::Database(database) => by_sqlstate(database.code().as_deref().unwrap_or_default()),
            sqlx::Error::PoolTimedOut => unavailable("All connections to the database are busy.")
                .with_hint("Try again; if it lasts, raise database.search_connections or write_connections, or the database's own max_connections where other clients take them."),
            sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => unavailable(
                "The database does not answer.",
            )
            .with_hint("Try again in a few seconds; `pairofcleats doctor` says what is wrong if it lasts."),
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => unavailable("The database cannot be reached.")
                .with_hint("Try again; `pairofcleats doctor` says what is wrong if it lasts."),
            sqlx::Error::Configuration(_) => {
                Fault::new(ErrorCode::InvalidRequest, "The database URL is malformed.")
                    .with_hint("Use DATABASE_URL=postgres://user:password@host:5432/database.")
            }
            _ => Fault::new(ErrorCode::Internal, "The database answered something unexpected.")
                .with_hint("Look at the server's log and report it with the request id."),
        };
    fault.with_source(error)
}

/// Turns the error of a database client into a fault, for `?`.
pub(crate) trait OrFault<T> {
    /// The value, or the fault that callers see.
    fn or_fault(self) -> Result<T, Fault>;
}

impl<T> OrFault<T> for Result<T, sqlx::Error> {
    fn or_fault(self) -> Result<T, Fault> {
        self.map_err(fault)
    }
}

/// The fault for a privilege that the login lacks. Its details always say what an administrator can do, in addition to `about`.
pub(crate) fn permission_denied(message: &str, mut about: Value, remedy: &str) -> Fault {
    about["suggested_action"] = remedy.into();
    Fault::new(ErrorCode::PermissionDenied, message).with_details(about).with_hint(remedy)
}

fn unavailable(message: &str) -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, message)
}

fn by_sqlstate(code: &str) -> Fault {
    match code {
        "53100" => unavailable("The database's disk is full.").with_hint(
            "Free disk space where the database keeps its data; what is indexed stays searchable.",
        ),
        "53400" => unavailable("A statement needs more temporary room on the database's disk than it may take.").with_hint(
            "Free disk space where the database keeps its data and try again; an external server's limit is temp_file_limit.",
        ),
        "42501" => permission_denied(
            "The database login lacks a privilege.",
            json!({}),
            "Grant the login of DATABASE_URL what `pairofcleats doctor` lists as missing.",
        ),
        "57014" => Fault::new(ErrorCode::ToolTimeout, "The database stopped a statement that took too long.")
            .with_hint("Narrow the request, or raise database.statement_timeout_ms."),
        // Only patterns of callers can be invalid or too complex; those of this program are constants. Other limits of a
        // statement (54…) are not the caller's: what a caller sends is bounded before it becomes part of one.
        "2201B" => Fault::new(ErrorCode::InvalidRequest, "A pattern is too complex for the database.").with_hint(
            "Simplify the regular expression: repetitions inside repetitions, as in `(x{255}){255}`, multiply.",
        ),
        "28000" | "28P01" | "3D000" => {
            let mut fault = unavailable("The database refuses this login or has no such database.")
                .with_hint("Check user, password and database in DATABASE_URL.");
            fault.retryable = false;
            fault
        }
        state if DAMAGE.contains(&state) => {
            let mut fault = unavailable("A file of the database is damaged, or gone.").with_hint(
                "`pairofcleats doctor` says which project it belongs to; `pairofcleats doctor --repair` makes an index anew from its repositories.",
            );
            fault.retryable = false;
            fault
        }
        "40001" | "40P01" | "55P03" => {
            unavailable("The database was busy with the same rows; nothing was changed.")
                .with_hint("Try again.")
        }
        "53300" => unavailable("The database has no connection to spare.").with_hint(
            "Try again; if it lasts, end other clients of the database, raise its max_connections, or lower database.search_connections and write_connections.",
        ),
        code if code.starts_with("08")
            || code.starts_with("53")
            || code.starts_with("57P")
            || code == "25P03" =>
        {
            unavailable("The database is not available right now.").with_hint("Try again in a few seconds.")
        }
        _ => Fault::new(ErrorCode::Internal, "The database refused a statement.")
            .with_hint("Look at the server's log and report it with the request id."),
    }
}

/// SQLSTATEs of damage on disk: a corrupt page or oversized value, a corrupt index, a missing file.
const DAMAGE: [&str; 3] = ["XX001", "XX002", "58P01"];

/// Returns `true` if data on the database's disk is damaged.
pub(crate) fn is_damage(fault: &Fault) -> bool {
    sqlstate(fault).is_some_and(|state| DAMAGE.contains(&state.as_str()))
}

/// SQLSTATE of the database error behind `fault`, if it has one.
pub(crate) fn sqlstate(fault: &Fault) -> Option<String> {
    let error = fault.source.as_ref()?.downcast_ref::<sqlx::Error>()?;
    error.as_database_error()?.code().map(std::borrow::Cow::into_owned)
}

/// Returns `true` if a prepared statement became stale because its tables changed (0A000, "cached plan must not change result type"). The
/// connection can never run that statement again, because sqlx does not evict it.
pub(crate) fn is_stale_plan(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|database| {
        database.code().as_deref() == Some("0A000") && database.message().contains("cached plan")
    })
}

/// The error for a response that did not arrive in time.
pub(super) fn no_response() -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "no response in time"))
}

/// The fault for a database that did not respond within the caller's deadline.
#[must_use]
pub fn no_answer() -> Fault {
    fault(no_response())
}

/// Returns `true` if a retry may succeed: the database is unreachable, starting, out of connections, or had a conflict with another
/// transaction. The transaction was rolled back, unless the response to its commit was lost.
#[must_use]
pub fn is_transient(fault: &Fault) -> bool {
    let Some(error) = fault.source.as_ref().and_then(|source| source.downcast_ref::<sqlx::Error>()) else {
        return false;
    };
    let is_busy = |code: &str| matches!(code, "53300" | "40001" | "40P01" | "55P03" | "25P03");
    is_connection_lost(error)
        || matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_))
        || error.as_database_error().and_then(|error| error.code()).is_some_and(|code| is_busy(&code))
}

/// Returns `true` if the database's disk is full (53100). The transaction was rolled back.
#[must_use]
pub fn is_full(fault: &Fault) -> bool {
    sqlstate(fault).is_some_and(|state| state == "53100")
}

/// Returns `true` if a statement failed because of its values, so that the same values fail again: they cannot be stored (class 22),
/// violate a constraint (23), or are too large (54).
#[must_use]
pub fn is_refused_value(fault: &Fault) -> bool {
    let classes = ["22", "23", "54"];
    sqlstate(fault).is_some_and(|state| classes.iter().any(|class| state.starts_with(class)))
}

/// Returns `true` if the connection is lost: broken, not responding, or closed by the server.
pub(super) fn is_connection_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(database) => {
            // 25P03: the server closed it after idle_in_transaction_session_timeout.
            database
                .code()
                .is_some_and(|code| code.starts_with("57P") || code.starts_with("08") || code == "25P03")
        }
        _ => false,
    }
}

/// Says whether a statement failed because its connection had planned it before a migration. Repeating the whole transaction
/// helps.
#[must_use]
pub fn met_stale_plan(fault: &Fault) -> bool {
    fault.source.as_ref().and_then(|source| source.downcast_ref()).is_some_and(is_stale_plan)
}

/// Runs a unit of work, and repeats it once after a stale plan. Plans belong to connections, and a transaction with a stale
/// plan closes its connection, so the repetition gets another one.
///
/// # Errors
/// The work's own fault.
pub async fn retry_stale_plan<T, F>(mut work: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    match work().await {
        Err(fault) if met_stale_plan(&fault) => work().await,
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_become_error_codes() {
        for (state, code, retryable) in [
            ("53100", ErrorCode::StorageUnavailable, true),
            ("53300", ErrorCode::StorageUnavailable, true),
            ("57P01", ErrorCode::StorageUnavailable, true),
            ("08006", ErrorCode::StorageUnavailable, true),
            ("28P01", ErrorCode::StorageUnavailable, false),
            ("42501", ErrorCode::PermissionDenied, false),
            ("XX001", ErrorCode::StorageUnavailable, false),
            ("XX002", ErrorCode::StorageUnavailable, false),
            ("58P01", ErrorCode::StorageUnavailable, false),
            ("57014", ErrorCode::ToolTimeout, true),
            ("2201B", ErrorCode::InvalidRequest, false),
            ("54000", ErrorCode::Internal, false),
            ("54001", ErrorCode::Internal, false),
            ("23505", ErrorCode::Internal, false),
        ] {
            let fault = by_sqlstate(state);
            assert_eq!((fault.code, fault.retryable), (code, retryable), "{state}");
        }
    }
}
