//! Removes launch runs that ended long ago. Published results stay.

use super::collect_garbage::DAY_MS;
use super::plan::ProjectUpkeep;
use contract::Fault;
use store::launch::removal;
use store::postgres::LAUNCH;
use store::{Access, ProjectTx, RowUsage, has_module};

/// The tables that shrink.
pub(super) const TABLES: &[&str] = &["launch_artifacts", "launch_events"];

/// Returns the time by which a run must have ended to be removed, in milliseconds since the epoch; `None` if runs are kept for ever.
fn ended_by_ms(keep_days: u32, now_ms: i64) -> Option<i64> {
    (keep_days > 0).then(|| now_ms.saturating_sub(i64::from(keep_days).saturating_mul(DAY_MS)))
}

/// Returns the number of runs that [`remove_old`] would remove, and the size of their rows.
///
/// # Errors
/// Storage faults.
pub(super) async fn measure_old(
    upkeep: &ProjectUpkeep<'_>,
    keep_days: u32,
    now_ms: i64,
) -> Result<RowUsage, Fault> {
    let Some(ended_by_ms) = ended_by_ms(keep_days, now_ms) else { return Ok(RowUsage::default()) };
    if !has_module(upkeep.store, upkeep.project, &LAUNCH).await? {
        return Ok(RowUsage::default());
    }
    let mut tx = ProjectTx::begin(upkeep.store, upkeep.project, Access::Search).await?;
    let old = removal::measure_old(&mut tx, ended_by_ms).await?;
    tx.commit().await?;
    Ok(old)
}

/// Removes runs that ended more than `keep_days` days ago, one per transaction, so that readers never see half of a run. For each product
/// on a site, the newest run that is done stays, and so do runs that have not ended. Returns the number of runs and the size of their rows.
///
/// # Errors
/// `CANCELLED`; storage faults.
pub(super) async fn remove_old(
    upkeep: &ProjectUpkeep<'_>,
    keep_days: u32,
    now_ms: i64,
) -> Result<RowUsage, Fault> {
    let mut removed = RowUsage::default();
    let Some(ended_by_ms) = ended_by_ms(keep_days, now_ms) else { return Ok(removed) };
    if !has_module(upkeep.store, upkeep.project, &LAUNCH).await? {
        return Ok(removed);
    }
    loop {
        let mut tx = upkeep.begin().await?;
        let bytes = removal::remove_oldest(&mut tx, ended_by_ms).await?;
        tx.commit().await?;
        match bytes {
            Some(bytes) => removed += RowUsage { rows: 1, bytes },
            None => return Ok(removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_days_is_for_ever() {
        assert_eq!(ended_by_ms(0, 5 * DAY_MS), None);
        assert_eq!(ended_by_ms(2, 5 * DAY_MS), Some(3 * DAY_MS));
        assert_eq!(ended_by_ms(u32::MAX, 0), Some(-i64::from(u32::MAX) * DAY_MS));
    }
}
