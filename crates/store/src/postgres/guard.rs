//! The only way to talk: a transaction that owns its connection and never gives a doubtful one back.
//!
//! Dropping a query's future does not stop the server, and leaves an answer on the wire that the next
//! user of the connection would have to wait for; when the peer went silent, sqlx 0.9 loses the pool's
//! permit for good. So a transaction that is dropped unfinished detaches its connection and closes it:
//! the permit returns at once, and the server rolls back when it sees the end.
//!
//! Every answer is waited for with a limit of our own above the server's ([`super::connection_pool`]): a network that went
//! silent says nothing, not even that. A connection that did not answer in time is closed like a dropped one.

use std::io;
use std::time::Duration;

use futures::TryStreamExt;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Executor, Postgres, Row as _, Type};
use tokio::sync::mpsc;

use super::connection_pool::{ConnectionPool, Patience, Taken};
use super::error::{OrFault, fault, is_gone, is_stale_plan};
use contract::{ErrorCode, Fault};

/// A statement with its values.
pub type Query<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// One statement. `text` is made of constants, quoted schema names and `$n` places, nothing else: this
/// function is where that promise is audited.
pub fn sql<'q>(text: impl Into<String>) -> Query<'q> {
    let text: String = text.into();
    sqlx::query(AssertSqlSafe(text))
}

/// A row of an answer.
pub struct Row(PgRow);

impl Row {
    /// The value of a column, by its place or its name.
    ///
    /// # Errors
    /// `INTERNAL` when there is no such column, or its type is another one.
    pub fn try_get<'r, T>(&'r self, column: impl ColumnIndex<PgRow>) -> Result<T, Fault>
    where
        T: Decode<'r, Postgres> + Type<Postgres>,
    {
        self.0.try_get(column).map_err(fault)
    }
}

/// An open transaction. Unfinished when dropped: rolled back, connection closed.
pub struct Tx {
    /// None once finished.
    connection: Option<Taken>,
    pool: ConnectionPool,
    patience: Patience,
}

impl Tx {
    fn over(pool: &ConnectionPool, connection: Taken) -> Self {
        Self { connection: Some(connection), pool: pool.clone(), patience: Patience::Ordinary }
    }

    /// Takes a connection of `pool` and begins: `how` is one or several statements, sent in one message.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn begin(pool: &ConnectionPool, how: &str) -> Result<Self, Fault> {
        let mut attempts = pool.attempts();
        loop {
            let mut tx = Self::over(pool, attempts.connection().await?);
            let said = open(&mut tx.connection).or_fault()?.execute(sqlx::raw_sql(AssertSqlSafe(how)));
            if attempts.answered(said).await.or_fault()?.is_some() {
                return Ok(tx);
            }
        }
    }

    /// The first row of one statement outside of a transaction, where nothing else has to be of the same moment.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn glance(
        pool: &ConnectionPool,
        query: impl Fn() -> Query<'static> + Send,
    ) -> Result<Option<Row>, Fault> {
        let mut attempts = pool.attempts();
        loop {
            let mut bare = Self::over(pool, attempts.connection().await?);
            let said = open(&mut bare.connection).or_fault()?.fetch_optional(query());
            if let Some(row) = attempts.answered(said).await.or_fault()? {
                bare.put_back();
                return Ok(row.map(Row));
            }
        }
    }

    /// Runs one statement that the server takes outside of transactions only and that may take long.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub(super) async fn outside(pool: &ConnectionPool, statement: Query<'_>) -> Result<(), Fault> {
        let limit = pool.limits().maintenance.as_millis();
        let mut bare = Self::begin(pool, &format!("SET statement_timeout = {limit}")).await?;
        bare.watch().await?;
        bare.execute(statement).await?;
        bare.finish("RESET statement_timeout").await
    }

    /// Runs a statement and says how many rows it touched.
    ///
    /// # Errors
    /// The database's error as a fault (see [`super::error`]); `STORAGE_UNAVAILABLE` when no answer comes in time, which
    /// closes the connection.
    pub async fn execute(&mut self, query: Query<'_>) -> Result<u64, Fault> {
        let said = query.execute(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.patience, said).await;
        Ok(self.checked(result)?.rows_affected())
    }

    /// Runs statements without values, sent in one message.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn batch(&mut self, text: &str) -> Result<(), Fault> {
        let said = open(&mut self.connection).or_fault()?.execute(sqlx::raw_sql(AssertSqlSafe(text)));
        let result = self.pool.answer(self.patience, said).await;
        self.checked(result).map(|_| ())
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn all(&mut self, query: Query<'_>) -> Result<Vec<Row>, Fault> {
        let said = query.fetch_all(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.patience, said).await;
        Ok(self.checked(result)?.into_iter().map(Row).collect())
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn first(&mut self, query: Query<'_>) -> Result<Option<Row>, Fault> {
        let said = query.fetch_optional(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.patience, said).await;
        Ok(self.checked(result)?.map(Row))
    }

    /// The one row of a query that always has one.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `INTERNAL` when there is none.
    pub async fn one(&mut self, query: Query<'_>) -> Result<Row, Fault> {
        let said = query.fetch_one(&mut **open(&mut self.connection).or_fault()?);
        let result = self.pool.answer(self.patience, said).await;
        self.checked(result).map(Row)
    }

    /// Sends what a COPY … TO STDOUT gives, piece by piece. After a failure the connection is of no use.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `CANCELLED` when nobody receives any more.
    pub async fn copy_out(&mut self, text: &str, to: &mpsc::Sender<Vec<u8>>) -> Result<(), Fault> {
        let (pool, patience) = (&self.pool, self.patience);
        let connection = open(&mut self.connection).or_fault()?;
        let mut pieces = pool.answer(patience, connection.copy_out_raw(text)).await.or_fault()?;
        while let Some(piece) = pool.answer(patience, pieces.try_next()).await.or_fault()? {
            if to.send(piece.to_vec()).await.is_err() {
                return Err(Fault::new(ErrorCode::Cancelled, "Nobody takes the rows any more."));
            }
        }
        Ok(())
    }

    /// Feeds a COPY … FROM STDIN with what comes; returns how many rows that were. After a failure the connection is of no
    /// use.
    ///
    /// # Errors
    /// The sender's fault; `DOWNLOAD_VERIFY_FAILED` when the server does not take it for rows; as [`Tx::execute`].
    pub async fn copy_in(
        &mut self,
        text: &str,
        from: &mut mpsc::Receiver<Result<Vec<u8>, Fault>>,
    ) -> Result<u64, Fault> {
        let (pool, patience) = (&self.pool, self.patience);
        let connection = open(&mut self.connection).or_fault()?;
        let mut copy = pool.answer(patience, connection.copy_in_raw(text)).await.or_fault()?;
        while let Some(piece) = from.recv().await {
            match piece {
                Ok(piece) => pool.answer(patience, copy.send(piece)).await.map(|_| ()).map_err(not_rows)?,
                Err(fault) => {
                    // What the server says of the stop is expected, and the transaction ends with it.
                    drop(pool.answer(patience, copy.abort("stopped")).await);
                    return Err(fault);
                }
            }
        }
        pool.answer(patience, copy.finish()).await.map_err(not_rows)
    }

    /// Replaces the connection's statement timeout until the end.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn limit_statements(&mut self, timeout: Duration) -> Result<(), Fault> {
        self.execute(sql(format!("SET LOCAL statement_timeout = {}", timeout.as_millis()))).await?;
        Ok(())
    }

    /// Lets statements take up to `database.maintenance_statement_timeout_ms` until the end. While one runs, the server is
    /// asked over another connection whether it is still at work; an answer that got lost is not waited for.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn lift_timeout(&mut self) -> Result<(), Fault> {
        self.limit_statements(self.pool.limits().maintenance).await?;
        self.watch().await
    }

    async fn watch(&mut self) -> Result<(), Fault> {
        let backend = self.one(sql("SELECT pg_catalog.pg_backend_pid()")).await?.try_get(0)?;
        self.patience = Patience::Watched { backend, max: self.pool.limits().maintenance_answer() };
        Ok(())
    }

    /// Makes it all true.
    ///
    /// # Errors
    /// As [`Tx::execute`]. A lost connection leaves it open whether the commit happened.
    pub async fn commit(self) -> Result<(), Fault> {
        self.finish("COMMIT").await
    }

    /// Takes everything back and keeps the connection, which dropping would not.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn rollback(self) -> Result<(), Fault> {
        self.finish("ROLLBACK").await
    }

    async fn finish(mut self, how: &'static str) -> Result<(), Fault> {
        self.execute(sql(how)).await?;
        self.put_back();
        Ok(())
    }

    /// Back to the pool: nothing is open and nothing is in flight.
    fn put_back(&mut self) {
        drop(self.connection.take());
    }

    fn checked<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Fault> {
        if let Err(error) = &result
            && (is_stale_plan(error) || is_gone(error))
        {
            self.drop_connection();
        }
        result.or_fault()
    }

    fn drop_connection(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        connection.close();
        if let Patience::Watched { backend, .. } = self.patience {
            self.pool.end_backend(backend);
        }
    }
}

/// The connection of a transaction that is not over.
fn open(connection: &mut Option<Taken>) -> Result<&mut PoolConnection<Postgres>, sqlx::Error> {
    match connection {
        Some(taken) => Ok(taken.connection()),
        None => {
            let why = "the connection of this transaction is gone";
            Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, why)))
        }
    }
}

/// What the server says to bytes that are no rows, or break a rule of the table, lies with the bytes.
fn not_rows(error: sqlx::Error) -> Fault {
    let class =
        error.as_database_error().and_then(|e| e.code().map(|code| code.chars().take(2).collect::<String>()));
    match class.as_deref() {
        // Too long for an index: no run of this program writes such a row.
        Some("54") => Fault::new(ErrorCode::ArchiveUnsafe, "The archive holds a row that is too long.")
            .with_hint("Take a file that `pairofcleats projects export` wrote.")
            .with_source(error),
        Some("08" | "22" | "23") => {
            let mut fault =
                Fault::new(ErrorCode::DownloadVerifyFailed, "The database does not take the rows.");
            fault.retryable = false;
            fault.with_hint("Export the project again where it was made.").with_source(error)
        }
        _ => fault(error),
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        self.drop_connection();
    }
}
