//! `pairofcleats.mcp_sessions`: the sessions of MCP clients, each owned by the principal that opened it.

use serde_json::Value;

use crate::door::ControlTx;
use crate::postgres::sql;
use contract::Fault;

/// Keeps a session, or what changed of it. A session of another principal is left alone.
///
/// # Errors
/// Storage faults.
pub async fn save(door: &mut ControlTx, id: &str, principal: &str, state: &Value) -> Result<(), Fault> {
    let query = sql(
        "INSERT INTO pairofcleats.mcp_sessions (id, principal, state) VALUES ($1, $2, $3::text::jsonb) \
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, used_at = now() WHERE mcp_sessions.principal = excluded.principal",
    );
    door.tx.execute(query.bind(id).bind(principal).bind(state.to_string())).await?;
    Ok(())
}

/// The state of a session of `principal` that was used within `idle_ms`, and notes its use.
///
/// # Errors
/// Storage faults.
pub async fn load(
    door: &mut ControlTx,
    id: &str,
    principal: &str,
    idle_ms: u64,
) -> Result<Option<Value>, Fault> {
    let query = sql("UPDATE pairofcleats.mcp_sessions SET used_at = now() WHERE id = $1 AND principal = $2 \
         AND used_at > now() - $3::float8 * interval '1 millisecond' RETURNING state::text");
    let row = door.tx.first(query.bind(id).bind(principal).bind(millis(idle_ms))).await?;
    let Some(row) = row else { return Ok(None) };
    let state: String = row.try_get(0)?;
    serde_json::from_str(&state).map(Some).map_err(|e| Fault::internal("A stored session cannot be read.", e))
}

/// Whose session it is, if it is kept.
///
/// # Errors
/// Storage faults.
pub async fn owner(door: &mut ControlTx, id: &str) -> Result<Option<String>, Fault> {
    let query = sql("SELECT principal FROM pairofcleats.mcp_sessions WHERE id = $1");
    let row = door.tx.first(query.bind(id)).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// Forgets a session of `principal`.
///
/// # Errors
/// Storage faults.
pub async fn delete(door: &mut ControlTx, id: &str, principal: &str) -> Result<(), Fault> {
    let query = sql("DELETE FROM pairofcleats.mcp_sessions WHERE id = $1 AND principal = $2");
    door.tx.execute(query.bind(id).bind(principal)).await?;
    Ok(())
}

/// Forgets every session that was idle for longer than `idle_ms`.
///
/// # Errors
/// Storage faults.
pub async fn delete_idle(door: &mut ControlTx, idle_ms: u64) -> Result<u64, Fault> {
    let query = sql(
        "DELETE FROM pairofcleats.mcp_sessions WHERE used_at <= now() - $1::float8 * interval '1 millisecond'",
    );
    door.tx.execute(query.bind(millis(idle_ms))).await
}

#[expect(clippy::cast_precision_loss, reason = "an idle time is far below 2^52 milliseconds")]
fn millis(value: u64) -> f64 {
    value as f64
}
