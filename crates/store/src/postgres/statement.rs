//! Statements with the place in the source that wrote them, and the span of one that takes long.

use std::fmt::Display;
use std::panic::Location;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow};
use sqlx::{AssertSqlSafe, Encode, Postgres, Type};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

/// A statement that takes longer gets a span of its own.
const SLOW_AFTER: Duration = Duration::from_millis(100);

/// A statement with its bound values.
pub struct Query<'q> {
    query: sqlx::query::Query<'q, Postgres, PgArguments>,
    /// The line that called [`sql`].
    place: &'static Location<'static>,
}

/// Creates a statement. `text` must consist of constants, quoted schema names and `$n` placeholders only, never of user input. All
/// statements except `BEGIN`, `Tx::batch` and COPY pass through this function, so that this rule can be audited.
#[track_caller]
pub fn sql<'q>(text: impl Into<String>) -> Query<'q> {
    let (text, place): (String, _) = (text.into(), Location::caller());
    #[cfg(feature = "fuzzing")]
    super::recorder::note(place, &text);
    Query { query: sqlx::query(AssertSqlSafe(text)), place }
}

impl<'q> Query<'q> {
    /// Binds the value of the next placeholder.
    #[must_use]
    pub fn bind<'t, T: Encode<'t, Postgres> + Type<Postgres>>(self, value: T) -> Self {
        Self { query: self.query.bind(value), ..self }
    }

    pub(super) async fn execute(self, connection: &mut PgConnection) -> Result<PgQueryResult, sqlx::Error> {
        observe(self.place, Box::pin(self.query.execute(connection))).await
    }

    pub(super) async fn fetch_all(self, connection: &mut PgConnection) -> Result<Vec<PgRow>, sqlx::Error> {
        observe(self.place, Box::pin(self.query.fetch_all(connection))).await
    }

    pub(super) async fn fetch_one(self, connection: &mut PgConnection) -> Result<PgRow, sqlx::Error> {
        observe(self.place, Box::pin(self.query.fetch_one(connection))).await
    }

    pub(super) async fn fetch_optional(
        self,
        connection: &mut PgConnection,
    ) -> Result<Option<PgRow>, sqlx::Error> {
        observe(self.place, Box::pin(self.query.fetch_optional(connection))).await
    }
}

/// Waits for the response to a statement. After [`SLOW_AFTER`] it begins a span with the statement's `place`, which gets the whole
/// time in `ms` at its end.
///
/// The response is a future on the heap: those of calls and jobs are deep, and each one that contains another takes its room on the stack.
pub(super) async fn observe<T>(place: impl Display, mut response: impl Future<Output = T> + Unpin) -> T {
    let started = Instant::now();
    if let Ok(response) = timeout(SLOW_AFTER, &mut response).await {
        return response;
    }
    // Most of the thousands of statements of a call are fast; they cost no span.
    let span = tracing::error_span!("statement", place = %place, ms = tracing::field::Empty);
    let slow = async {
        let response = response.await;
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::Span::current().record("ms", ms);
        tracing::debug!("a slow statement ended");
        response
    };
    slow.instrument(span).await
}
