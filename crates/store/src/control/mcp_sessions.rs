//! `pairofcleats.mcp_sessions`: the sessions of MCP clients, each owned by the principal that opened it.

use serde_json::Value;

use crate::postgres::{sql, storable_json};
use crate::transaction::ControlTx;
use contract::Fault;

/// Stores a session or its new state. Has no effect on a session of another principal.
pub async fn save(control: &mut ControlTx, id: &str, principal: &str, state: &Value) -> Result<(), Fault> {
    let query = sql("INSERT INTO pairofcleats.mcp_sessions (id, principal, state) \
         VALUES ($1, $2, $3::text::jsonb) \
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, used_at = now() \
         WHERE mcp_sessions.principal = excluded.principal");
    control.tx.execute(query.bind(id).bind(principal).bind(storable_json(state))).await?;
    Ok(())
}

/// Records a use of a session of `principal` and returns its state; `None` if it was idle for longer than `idle_ms`.
pub async fn load(
    control: &mut ControlTx,
    id: &str,
    principal: &str,
    idle_ms: u64,
) -> Result<Option<Value>, Fault> {
    let query = sql("UPDATE pairofcleats.mcp_sessions SET used_at = now() \
         WHERE id = $1 AND principal = $2 AND used_at > now() - $3::float8 * interval '1 millisecond' \
         RETURNING state::text AS state");
    let row = control.tx.first(query.bind(id).bind(principal).bind(millis(idle_ms))).await?;
    let Some(row) = row else { return Ok(None) };
    let state: String = row.try_get("state")?;
    serde_json::from_str(&state).map(Some).map_err(|e| Fault::internal("A stored session cannot be read.", e))
}

/// The principal that opened the session, if it is stored.
pub async fn owner(control: &mut ControlTx, id: &str) -> Result<Option<String>, Fault> {
    let query = sql("SELECT principal FROM pairofcleats.mcp_sessions WHERE id = $1");
    let row = control.tx.first(query.bind(id)).await?;
    row.map(|row| row.try_get("principal")).transpose()
}

/// Deletes a session of `principal`.
pub async fn delete(control: &mut ControlTx, id: &str, principal: &str) -> Result<(), Fault> {
    let query = sql("DELETE FROM pairofcleats.mcp_sessions WHERE id = $1 AND principal = $2");
    control.tx.execute(query.bind(id).bind(principal)).await?;
    Ok(())
}

/// Deletes every session that was idle for longer than `idle_ms`; returns how many.
pub async fn delete_idle(control: &mut ControlTx, idle_ms: u64) -> Result<u64, Fault> {
    let query = sql("DELETE FROM pairofcleats.mcp_sessions \
         WHERE used_at <= now() - $1::float8 * interval '1 millisecond'");
    control.tx.execute(query.bind(millis(idle_ms))).await
}

#[expect(clippy::cast_precision_loss, reason = "an idle time is far below 2^52 milliseconds")]
fn millis(value: u64) -> f64 {
    value as f64
}
