//! The only way to talk: a transaction that owns its connection and never gives a doubtful one back.
//!
//! Dropping a query's future does not stop the server, and leaves an answer on the wire that the next
//! user of the connection would have to wait for; when the peer went silent, sqlx 0.9 loses the pool's
//! permit for good. So a transaction that is dropped unfinished detaches its connection and closes it:
//! the permit returns at once, and the server rolls back when it sees the end.

use std::time::Duration;

use futures::TryStreamExt;
use futures::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, Executor, Postgres};
use tokio::sync::mpsc;

use super::error::{is_gone, is_stale_plan};
use crate::contract::{ErrorCode, Fault};

/// A statement with its values.
pub type Query<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// One statement. `text` is made of constants, quoted schema names and `$n` places, nothing else: this
/// function is where that promise is audited.
pub fn sql<'q>(text: impl Into<String>) -> Query<'q> {
    let text: String = text.into();
    sqlx::query(AssertSqlSafe(text))
}

/// An open transaction. Unfinished when dropped: rolled back, connection closed.
pub struct Tx {
    /// None once finished.
    connection: Option<PoolConnection<Postgres>>,
}

impl Tx {
    /// Takes a connection of `pool` and begins: `how` is one or several statements, sent in one message.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn begin(pool: &sqlx::PgPool, how: &str) -> Result<Self, Fault> {
        let mut attempts = Attempts::of(pool);
        loop {
            let mut tx = Self { connection: Some(pool.acquire().await?) };
            let said = tx.connection()?.execute(sqlx::raw_sql(AssertSqlSafe(how)));
            if attempts.answered(said).await?.is_some() {
                return Ok(tx);
            }
        }
    }

    /// The first row of one statement outside of a transaction, where nothing else has to be of the same moment.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn glance(
        pool: &sqlx::PgPool,
        query: impl Fn() -> Query<'static> + Send,
    ) -> Result<Option<PgRow>, Fault> {
        let mut attempts = Attempts::of(pool);
        loop {
            let mut bare = Self { connection: Some(pool.acquire().await?) };
            let said = bare.connection()?.fetch_optional(query());
            if let Some(row) = attempts.answered(said).await? {
                bare.put_back();
                return Ok(row);
            }
        }
    }

    /// Runs one statement that the server takes outside of transactions only, however long it takes.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub(super) async fn outside(pool: &sqlx::PgPool, statement: Query<'_>) -> Result<(), Fault> {
        let mut bare = Self::begin(pool, "SET statement_timeout = 0").await?;
        bare.execute(statement).await?;
        bare.finish("RESET statement_timeout").await
    }

    /// Runs a statement and says how many rows it touched.
    ///
    /// # Errors
    /// The database's error as a fault (see [`super::error`]).
    pub async fn execute(&mut self, query: Query<'_>) -> Result<u64, Fault> {
        let connection = self.connection()?;
        let result = query.execute(&mut **connection).await;
        Ok(self.checked(result)?.rows_affected())
    }

    /// Runs statements without values, sent in one message.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn batch(&mut self, text: &str) -> Result<(), Fault> {
        let connection = self.connection()?;
        let result = connection.execute(sqlx::raw_sql(AssertSqlSafe(text))).await;
        self.checked(result).map(|_| ())
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn all(&mut self, query: Query<'_>) -> Result<Vec<PgRow>, Fault> {
        let connection = self.connection()?;
        let result = query.fetch_all(&mut **connection).await;
        self.checked(result)
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn first(&mut self, query: Query<'_>) -> Result<Option<PgRow>, Fault> {
        let connection = self.connection()?;
        let result = query.fetch_optional(&mut **connection).await;
        self.checked(result)
    }

    /// The one row of a query that always has one.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `INTERNAL` when there is none.
    pub async fn one(&mut self, query: Query<'_>) -> Result<PgRow, Fault> {
        let connection = self.connection()?;
        let result = query.fetch_one(&mut **connection).await;
        self.checked(result)
    }

    /// Sends what a COPY … TO STDOUT gives, piece by piece. After a failure the connection is of no use.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `CANCELLED` when nobody receives any more.
    pub async fn copy_out(&mut self, text: &str, to: &mpsc::Sender<Vec<u8>>) -> Result<(), Fault> {
        let connection = self.connection()?;
        let mut pieces = connection.copy_out_raw(text).await?;
        while let Some(piece) = pieces.try_next().await? {
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
        let connection = self.connection()?;
        let mut copy = connection.copy_in_raw(text).await?;
        while let Some(piece) = from.recv().await {
            match piece {
                Ok(piece) => copy.send(piece).await.map(|_| ())?,
                Err(fault) => {
                    // What the server says of the stop is expected, and the transaction ends with it.
                    drop(copy.abort("stopped").await);
                    return Err(fault);
                }
            }
        }
        copy.finish().await.map_err(not_rows)
    }

    /// Replaces the connection's statement timeout until the end; zero means none.
    ///
    /// # Errors
    /// As [`Tx::execute`].
    pub async fn limit_statements(&mut self, timeout: Duration) -> Result<(), Fault> {
        self.execute(sql(format!("SET LOCAL statement_timeout = {}", timeout.as_millis()))).await?;
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

    fn connection(&mut self) -> Result<&mut PoolConnection<Postgres>, Fault> {
        self.connection.as_mut().ok_or_else(|| {
            Fault::new(ErrorCode::StorageUnavailable, "The connection of this transaction is gone.")
        })
    }

    fn checked<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Fault> {
        if let Err(error) = &result
            && is_stale_plan(error)
        {
            self.drop_connection();
        }
        Ok(result?)
    }

    fn drop_connection(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.detach());
        }
    }
}

/// A pooled connection may have died unnoticed. The first thing said over it finds out, so that none has to be sent only to
/// ask; then the next connection is taken.
struct Attempts {
    /// More than can be idle, so that one of them is new.
    left: u32,
    patience: Duration,
}

impl Attempts {
    fn of(pool: &sqlx::PgPool) -> Self {
        Self { left: pool.options().get_max_connections(), patience: pool.options().get_acquire_timeout() }
    }

    /// What the server answers to the first thing said; none when the connection was dead.
    async fn answered<T>(
        &mut self,
        said: BoxFuture<'_, Result<T, sqlx::Error>>,
    ) -> Result<Option<T>, sqlx::Error> {
        match tokio::time::timeout(self.patience, said).await {
            Ok(Err(error)) if is_gone(&error) && self.left > 0 => {
                self.left -= 1;
                Ok(None)
            }
            Ok(answer) => answer.map(Some),
            Err(_late) => Err(sqlx::Error::PoolTimedOut),
        }
    }
}

/// What the server says to bytes that are no rows, or break a rule of the table, lies with the bytes.
fn not_rows(error: sqlx::Error) -> Fault {
    let class =
        error.as_database_error().and_then(|e| e.code().map(|code| code.chars().take(2).collect::<String>()));
    match class.as_deref() {
        Some("08" | "22" | "23") => {
            let mut fault =
                Fault::new(ErrorCode::DownloadVerifyFailed, "The database does not take the rows.");
            fault.retryable = false;
            fault.with_hint("Export the project again where it was made.").with_source(error)
        }
        _ => error.into(),
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        self.drop_connection();
    }
}
