//! A transaction that owns its connection and never returns one in an unknown state to the pool.
//!
//! Dropping a query's future does not stop the server, and leaves a response on the wire that the next
//! user of the connection would have to wait for; if the peer does not respond, sqlx 0.9 never returns the pool's
//! permit. So a transaction that is dropped unfinished detaches its connection and closes it:
//! the permit returns at once, and the server rolls back when it notices the closed connection.
//!
//! Every wait for a response has a limit of its own, above the server's ([`super::connection_pool`]), because a network
//! that drops packets causes no error. A connection that did not respond in time is closed like a dropped one.

use std::io;
use std::time::Duration;

use futures::TryStreamExt;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Executor, Postgres, Row as _, Type};
#[cfg(feature = "fuzzing")]
use sqlx::{Column as _, SqlSafeStr as _, Statement as _};
use tokio::sync::mpsc;

use super::connection_pool::{AnswerTimeout, CheckedOut, ConnectionPool};
use super::error::{OrFault, fault, is_connection_lost, is_stale_plan};
use super::statement::{Query, observe, sql};
use contract::{ErrorCode, Fault};

/// A row of a result.
pub struct Row(PgRow);

impl Row {
    /// The value of a column, by name or position.
    ///
    /// # Errors
    /// `INTERNAL` if there is no such column or it has a different type.
    pub fn try_get<'r, T>(&'r self, column: impl ColumnIndex<PgRow>) -> Result<T, Fault>
    where
        T: Decode<'r, Postgres> + Type<Postgres>,
    {
        self.0.try_get(column).map_err(fault)
    }
}

/// An open transaction. Dropping it unfinished rolls it back and closes its connection.
pub struct Tx {
    /// None once finished.
    connection: Option<CheckedOut>,
    pool: ConnectionPool,
    timeout: AnswerTimeout,
}

impl Tx {
    fn new(pool: &ConnectionPool, connection: CheckedOut) -> Self {
        Self { connection: Some(connection), pool: pool.clone(), timeout: AnswerTimeout::Statement }
    }

    /// Acquires a connection of `pool` and runs `begin`, one or several statements that begin the transaction, in one message.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn begin(pool: &ConnectionPool, begin: &str) -> Result<Self, Fault> {
        let mut first_answer = pool.first_answer();
        loop {
            let mut tx = Self::new(pool, first_answer.connection().await?);
            let response = open(&mut tx.connection).or_fault()?.execute(sqlx::raw_sql(AssertSqlSafe(begin)));
            if first_answer.answer_if_alive(response).await.or_fault()?.is_some() {
                return Ok(tx);
            }
        }
    }

    /// The first row of a single statement outside of a transaction, for reads that need no common snapshot.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn first_without_transaction(
        pool: &ConnectionPool,
        query: impl Fn() -> Query<'static> + Send,
    ) -> Result<Option<Row>, Fault> {
        let mut first_answer = pool.first_answer();
        loop {
            let mut bare = Self::new(pool, first_answer.connection().await?);
            let response = query().fetch_optional(open(&mut bare.connection).or_fault()?);
            if let Some(row) = first_answer.answer_if_alive(response).await.or_fault()? {
                bare.put_back();
                return Ok(row.map(Row));
            }
        }
    }

    /// Runs one maintenance statement that Postgres refuses inside of a transaction, such as VACUUM.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub(super) async fn run_outside(pool: &ConnectionPool, statement: Query<'_>) -> Result<(), Fault> {
        let limit = pool.limits().maintenance.as_millis();
        let mut bare = Self::begin(pool, &format!("SET statement_timeout = {limit}")).await?;
        bare.wait_while_active().await?;
        bare.execute(statement).await?;
        bare.finish("RESET statement_timeout").await
    }

    /// Runs a statement and returns the number of affected rows.
    ///
    /// # Errors
    /// The database's error as a fault (see [`super::error`]); `STORAGE_UNAVAILABLE` if no response arrives in time, which
    /// closes the connection.
    pub async fn execute(&mut self, query: Query<'_>) -> Result<u64, Fault> {
        let response = query.execute(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.timeout, response).await;
        Ok(self.checked(result)?.rows_affected())
    }

    /// Runs statements without values, sent in one message. [`sql`] says what `text` may contain.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub(crate) async fn batch(&mut self, text: &str) -> Result<(), Fault> {
        let response = open(&mut self.connection).or_fault()?.execute(sqlx::raw_sql(AssertSqlSafe(text)));
        let result = self.pool.answer(self.timeout, observe("several statements", Box::pin(response))).await;
        self.checked(result).map(|_| ())
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn all(&mut self, query: Query<'_>) -> Result<Vec<Row>, Fault> {
        let response = query.fetch_all(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.timeout, response).await;
        Ok(self.checked(result)?.into_iter().map(Row).collect())
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn first(&mut self, query: Query<'_>) -> Result<Option<Row>, Fault> {
        let response = query.fetch_optional(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.timeout, response).await;
        Ok(self.checked(result)?.map(Row))
    }

    /// The row of a query that always returns one.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `INTERNAL` if it returns no row.
    pub async fn one(&mut self, query: Query<'_>) -> Result<Row, Fault> {
        let response = query.fetch_one(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.timeout, response).await;
        self.checked(result).map(Row)
    }

    /// The only column of the only row of a query, such as a count or a flag.
    ///
    /// # Errors
    /// As [`Tx::one`].
    pub async fn scalar<T>(&mut self, query: Query<'_>) -> Result<T, Fault>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        self.one(query).await?.try_get(0)
    }

    /// The only column of all rows of a query. Read by position and not by name, because lists of ids have many thousand rows.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub(crate) async fn scalars<T>(&mut self, query: Query<'_>) -> Result<Vec<T>, Fault>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        self.all(query).await?.iter().map(|row| row.try_get(0)).collect()
    }

    /// Runs a COPY … TO STDOUT and sends its output in pieces. After a failure the connection is unusable.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `CANCELLED` if the receiver was dropped.
    pub(crate) async fn copy_out(&mut self, text: &str, to: &mpsc::Sender<Vec<u8>>) -> Result<(), Fault> {
        let (pool, timeout) = (&self.pool, self.timeout);
        let connection = open(&mut self.connection).or_fault()?;
        let mut pieces = pool.answer(timeout, connection.copy_out_raw(text)).await.or_fault()?;
        while let Some(piece) = pool.answer(timeout, pieces.try_next()).await.or_fault()? {
            if to.send(piece.to_vec()).await.is_err() {
                return Err(Fault::new(ErrorCode::Cancelled, "The receiver of the rows is gone."));
            }
        }
        Ok(())
    }

    /// Feeds a COPY … FROM STDIN with the received pieces; returns the number of rows. After a failure the connection is
    /// unusable.
    ///
    /// # Errors
    /// The sender's fault; `DOWNLOAD_VERIFY_FAILED` if the server rejects the rows; as [`Tx::execute`].
    pub(crate) async fn copy_in(
        &mut self,
        text: &str,
        from: &mut mpsc::Receiver<Result<Vec<u8>, Fault>>,
    ) -> Result<u64, Fault> {
        let (pool, timeout) = (&self.pool, self.timeout);
        let connection = open(&mut self.connection).or_fault()?;
        let mut copy = pool.answer(timeout, connection.copy_in_raw(text)).await.or_fault()?;
        while let Some(piece) = from.recv().await {
            match piece {
                Ok(piece) => {
                    pool.answer(timeout, copy.send(piece)).await.map(|_| ()).map_err(rows_rejected)?
                }
                Err(fault) => {
                    // The server responds with an error to an aborted COPY, which also ends the transaction.
                    drop(pool.answer(timeout, copy.abort("stopped")).await);
                    return Err(fault);
                }
            }
        }
        pool.answer(timeout, copy.finish()).await.map_err(rows_rejected)
    }

    /// Sets the server's statement timeout for the rest of the transaction, not how long this program waits for a response.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn limit_statements(&mut self, timeout: Duration) -> Result<(), Fault> {
        self.execute(sql(format!("SET LOCAL statement_timeout = {}", timeout.as_millis()))).await?;
        Ok(())
    }

    /// Lets statements take up to `database.maintenance_statement_timeout_ms` for the rest of the transaction. While one runs,
    /// another connection checks that the backend is still active, so that a lost response is noticed before that timeout.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn lift_timeout(&mut self) -> Result<(), Fault> {
        self.limit_statements(self.pool.limits().maintenance).await?;
        self.wait_while_active().await
    }

    async fn wait_while_active(&mut self) -> Result<(), Fault> {
        let backend = self.scalar(sql("SELECT pg_catalog.pg_backend_pid()")).await?;
        self.timeout = AnswerTimeout::WhileActive { backend, max: self.pool.limits().maintenance_answer() };
        Ok(())
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// As [`Tx::execute`]. After a lost connection it is unknown whether the transaction was committed.
    pub async fn commit(self) -> Result<(), Fault> {
        self.finish("COMMIT").await
    }

    /// Rolls the transaction back and returns its connection to the pool; dropping the transaction would close it.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn rollback(self) -> Result<(), Fault> {
        self.finish("ROLLBACK").await
    }

    async fn finish(mut self, statement: &'static str) -> Result<(), Fault> {
        self.execute(sql(statement)).await?;
        self.put_back();
        Ok(())
    }

    /// Prepares a statement without running it; returns the names of its columns.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    #[cfg(feature = "fuzzing")]
    pub async fn prepare(&mut self, text: &str) -> Result<Vec<String>, Fault> {
        let text = AssertSqlSafe(text).into_sql_str();
        let statement = open(&mut self.connection).or_fault()?.prepare(text).await.or_fault()?;
        Ok(statement.columns().iter().map(|column| column.name().to_owned()).collect())
    }

    /// Returns the connection to the pool. No transaction may be open and no response outstanding.
    fn put_back(&mut self) {
        drop(self.connection.take());
    }

    fn checked<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Fault> {
        if let Err(error) = &result
            && (is_stale_plan(error) || is_connection_lost(error))
        {
            self.drop_connection();
        }
        result.or_fault()
    }

    fn drop_connection(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        connection.close();
        if let AnswerTimeout::WhileActive { backend, .. } = self.timeout {
            self.pool.end_backend(backend);
        }
    }
}

/// The connection of an unfinished transaction.
fn open(connection: &mut Option<CheckedOut>) -> Result<&mut PoolConnection<Postgres>, sqlx::Error> {
    match connection {
        Some(checked_out) => Ok(checked_out.connection()),
        None => {
            let why = "the connection of this transaction is gone";
            Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, why)))
        }
    }
}

/// The fault for a COPY whose rows the server rejects, because they are malformed or violate a constraint.
fn rows_rejected(error: sqlx::Error) -> Fault {
    let class =
        error.as_database_error().and_then(|e| e.code().map(|code| code.chars().take(2).collect::<String>()));
    match class.as_deref() {
        // 54: program limit exceeded. The row is too long for an index; this program never writes such a row.
        Some("54") => Fault::new(ErrorCode::ArchiveUnsafe, "The archive holds a row that is too long.")
            .with_hint("Use a file that `pairofcleats projects export` wrote.")
            .with_source(error),
        Some("08" | "22" | "23") => {
            let mut fault = Fault::new(ErrorCode::DownloadVerifyFailed, "The database rejected the rows.");
            fault.retryable = false;
            fault.with_hint("Export the project again on its original machine.").with_source(error)
        }
        _ => fault(error),
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        self.drop_connection();
    }
}
