//! Removes runs that ended long ago, each with all its rows.

use super::runs::TERMINAL;
use crate::postgres::sql;
use crate::project::sizes::RowUsage;
use crate::transaction::ProjectTx;
use contract::Fault;

/// The tables other than `launch_runs` that have rows of runs, each with the size of its row `t`. The size of an artifact is the length of
/// its bytes, because measuring the row would read them all.
const TABLES: [(&str, &str); 5] = [
    ("launch_events", "pg_column_size(ROW(t.*))"),
    ("launch_items", "pg_column_size(ROW(t.*))"),
    ("launch_issues", "pg_column_size(ROW(t.*))"),
    ("launch_artifacts", "octet_length(t.bytes)"),
    ("launch_watches", "pg_column_size(ROW(t.*))"),
];

/// Returns the condition that the run `r` ended at `$1` at the latest, in milliseconds since the epoch, and may be removed. The newest run
/// of a product on a site that is done is kept, because it records the evidence of the published pages.
fn is_old(tx: &ProjectTx) -> String {
    format!(
        "r.state IN {TERMINAL} AND r.finished_ms <= $1 AND (r.state <> 'DONE' OR EXISTS (SELECT 1 FROM {} n \
           WHERE n.state = 'DONE' AND n.site_profile = r.site_profile AND n.product_slug = r.product_slug \
           AND (n.created_ms, n.run_id) > (r.created_ms, r.run_id)))",
        tx.table("launch_runs")
    )
}

/// The number of runs that ended at `ended_by_ms` at the latest and may be removed, with the size of all their rows.
pub async fn measure_old(tx: &mut ProjectTx, ended_by_ms: i64) -> Result<RowUsage, Fault> {
    let others: Vec<String> = TABLES
        .into_iter()
        .map(|(table, size)| {
            let table = tx.table(table);
            format!(
                " + (SELECT coalesce(sum({size}), 0) FROM {table} t WHERE t.run_id IN (SELECT o.run_id FROM old o))"
            )
        })
        .collect();
    let others = others.concat();
    let text = format!(
        "WITH old AS (SELECT r.run_id, pg_column_size(ROW(r.*)) AS bytes FROM {} r WHERE {}) \
         SELECT count(*) AS rows, (coalesce(sum(old.bytes), 0){others})::int8 AS bytes FROM old",
        tx.table("launch_runs"),
        is_old(tx)
    );
    let row = tx.tx.one(sql(text).bind(ended_by_ms)).await?;
    RowUsage::read(&row)
}

/// Removes the oldest of the runs that [`measure_old`] counts, with all its rows. Returns the size of these, or `None` if there is no such
/// run.
pub async fn remove_oldest(tx: &mut ProjectTx, ended_by_ms: i64) -> Result<Option<u64>, Fault> {
    tx.lift_timeout().await?;
    let text = format!(
        "DELETE FROM {runs} d WHERE d.run_id = (SELECT r.run_id FROM {runs} r WHERE {} \
           ORDER BY r.finished_ms, r.run_id LIMIT 1) \
         RETURNING d.run_id, pg_column_size(ROW(d.*))::int8 AS bytes",
        is_old(tx),
        runs = tx.table("launch_runs")
    );
    let Some(row) = tx.tx.first(sql(text).bind(ended_by_ms)).await? else { return Ok(None) };
    let (run_id, bytes): (String, i64) = (row.try_get("run_id")?, row.try_get("bytes")?);
    let mut removed = bytes.unsigned_abs();
    for (table, size) in TABLES {
        let text = format!(
            "WITH gone AS (DELETE FROM {} t WHERE t.run_id = $1 RETURNING {size} AS bytes) \
             SELECT count(*) AS rows, coalesce(sum(bytes), 0)::int8 AS bytes FROM gone",
            tx.table(table)
        );
        removed += RowUsage::read(&tx.tx.one(sql(text).bind(&run_id)).await?)?.bytes;
    }
    Ok(Some(removed))
}
