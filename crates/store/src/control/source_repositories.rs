//! `pairofcleats.source_repositories`: the repositories of sources, and whether their hosts still have them. Times are by the
//! database's clock.

use super::job::millis;
use crate::postgres::{Row, sql};
use crate::transaction::ControlTx;
use contract::{Fault, ProjectId};

/// Longest grace time, a century: longer ones leave the range of a time.
const GRACE_MS_MAX: u64 = 36_500 * 86_400_000;

/// A repository and the project that has it from a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceRepository {
    /// Its address.
    pub address: String,
    /// The project.
    pub project_id: ProjectId,
}

/// A repository of a source. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRepositoryRow {
    /// The repository and its project.
    pub repository: SourceRepository,
    /// `true` if the source brought it into the project.
    pub added: bool,
    /// `true` if a run of it has completed.
    pub indexed: bool,
    /// The last push that a run is known to contain.
    pub pushed_ms: Option<i64>,
    /// Since when the host no longer has it.
    pub gone_ms: Option<i64>,
}

/// Numbers of repositories of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceCounts {
    /// The name of the source.
    pub source: String,
    /// Those that are indexed.
    pub indexed: i64,
    /// Those that are not indexed yet.
    pub waiting: i64,
    /// Those that the host no longer has.
    pub gone: i64,
}

const COLUMNS: &str = "address, project_id, added, indexed_at IS NOT NULL AS indexed, \
    (extract(epoch FROM pushed_at) * 1000)::int8 AS pushed_ms, \
    (extract(epoch FROM gone_since) * 1000)::int8 AS gone_ms";

/// The repositories of a source.
///
/// # Errors
/// Storage faults.
pub async fn list(control: &mut ControlTx, source: &str) -> Result<Vec<SourceRepositoryRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.source_repositories WHERE source = $1 ORDER BY address, project_id"
    );
    control.tx.all(sql(text).bind(source)).await?.iter().map(read).collect()
}

/// Records that the source lists these repositories, each once. The flag, whether the source brings it into its project, counts
/// for those that it did not have.
///
/// # Errors
/// Storage faults.
pub async fn save(
    control: &mut ControlTx,
    source: &str,
    listed: &[(SourceRepository, bool)],
) -> Result<(), Fault> {
    let (addresses, projects) = columns(listed.iter().map(|(repository, _)| repository));
    let added: Vec<bool> = listed.iter().map(|(_, added)| *added).collect();
    let query = sql("INSERT INTO pairofcleats.source_repositories (source, address, project_id, added) \
         SELECT $1, l.address, l.project_id, l.added \
         FROM unnest($2::text[], $3::text[], $4::bool[]) AS l (address, project_id, added) \
         ON CONFLICT (source, address, project_id) DO UPDATE \
         SET gone_since = NULL WHERE source_repositories.gone_since IS NOT NULL");
    control.tx.execute(query.bind(source).bind(addresses).bind(projects).bind(added)).await?;
    Ok(())
}

/// Marks the repositories of a source that a complete listing, which has `listed`, no longer has. Returns how many are new.
///
/// # Errors
/// Storage faults.
pub async fn mark_gone(
    control: &mut ControlTx,
    source: &str,
    listed: &[SourceRepository],
) -> Result<u64, Fault> {
    let (addresses, projects) = columns(listed.iter());
    let query = sql("UPDATE pairofcleats.source_repositories SET gone_since = clock_timestamp() \
         WHERE source = $1 AND gone_since IS NULL \
         AND NOT EXISTS (SELECT 1 FROM unnest($2::text[], $3::text[]) AS l (address, project_id) \
           WHERE l.address = source_repositories.address AND l.project_id = source_repositories.project_id)");
    control.tx.execute(query.bind(source).bind(addresses).bind(projects)).await
}

/// The repositories of a source that have been gone for at least `grace_ms`.
///
/// # Errors
/// Storage faults.
pub async fn gone_for(
    control: &mut ControlTx,
    source: &str,
    grace_ms: u64,
) -> Result<Vec<SourceRepositoryRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM pairofcleats.source_repositories \
         WHERE source = $1 AND gone_since <= clock_timestamp() - $2::float8 * interval '1 millisecond' \
         ORDER BY address, project_id"
    );
    let query = sql(text).bind(source).bind(millis(grace_ms.min(GRACE_MS_MAX)));
    control.tx.all(query).await?.iter().map(read).collect()
}

/// Returns `true` if a repository of a source has been gone for at least `grace_ms`.
///
/// # Errors
/// Storage faults.
pub async fn is_gone_for(
    control: &mut ControlTx,
    source: &str,
    SourceRepository { address, project_id }: &SourceRepository,
    grace_ms: u64,
) -> Result<bool, Fault> {
    let query = sql("SELECT 1 FROM pairofcleats.source_repositories \
         WHERE source = $1 AND address = $2 AND project_id = $3 \
         AND gone_since <= clock_timestamp() - $4::float8 * interval '1 millisecond'");
    let query = query.bind(source).bind(address).bind(project_id.as_str());
    Ok(!control.tx.all(query.bind(millis(grace_ms.min(GRACE_MS_MAX)))).await?.is_empty())
}

/// Records that a run has completed which contains the push at `pushed_ms`, if the host reported one.
///
/// # Errors
/// Storage faults.
pub async fn note_indexed(
    control: &mut ControlTx,
    source: &str,
    SourceRepository { address, project_id }: &SourceRepository,
    pushed_ms: Option<i64>,
) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.source_repositories \
         SET indexed_at = clock_timestamp(), pushed_at = to_timestamp($4::int8 / 1000.0) \
         WHERE source = $1 AND address = $2 AND project_id = $3");
    let query = query.bind(source).bind(address).bind(project_id.as_str()).bind(pushed_ms);
    control.tx.execute(query).await?;
    Ok(())
}

/// Makes the other sources that have a row for the repository in the same project, even if it is gone there, responsible for it. Returns
/// whether there are any.
///
/// # Errors
/// Storage faults.
pub async fn hand_over(
    control: &mut ControlTx,
    source: &str,
    SourceRepository { address, project_id }: &SourceRepository,
) -> Result<bool, Fault> {
    let query = sql("UPDATE pairofcleats.source_repositories SET added = true \
         WHERE source <> $1 AND address = $2 AND project_id = $3");
    Ok(control.tx.execute(query.bind(source).bind(address).bind(project_id.as_str())).await? > 0)
}

/// Forgets a repository of a source.
///
/// # Errors
/// Storage faults.
pub async fn remove(
    control: &mut ControlTx,
    source: &str,
    SourceRepository { address, project_id }: &SourceRepository,
) -> Result<(), Fault> {
    let query = sql("DELETE FROM pairofcleats.source_repositories \
         WHERE source = $1 AND address = $2 AND project_id = $3");
    control.tx.execute(query.bind(source).bind(address).bind(project_id.as_str())).await?;
    Ok(())
}

/// Counts the repositories of each source; sources without any are omitted.
///
/// # Errors
/// Storage faults.
pub async fn counts(control: &mut ControlTx) -> Result<Vec<SourceCounts>, Fault> {
    let query = sql("SELECT source, \
           count(*) FILTER (WHERE gone_since IS NULL AND indexed_at IS NOT NULL) AS indexed, \
           count(*) FILTER (WHERE gone_since IS NULL AND indexed_at IS NULL) AS waiting, \
           count(*) FILTER (WHERE gone_since IS NOT NULL) AS gone \
         FROM pairofcleats.source_repositories GROUP BY source ORDER BY source");
    control.tx.all(query).await?.iter().map(read_counts).collect()
}

/// The addresses and the projects of repositories.
fn columns<'a>(repositories: impl Iterator<Item = &'a SourceRepository>) -> (Vec<String>, Vec<String>) {
    repositories
        .map(|repository| (repository.address.clone(), repository.project_id.as_str().to_owned()))
        .unzip()
}

fn read(row: &Row) -> Result<SourceRepositoryRow, Fault> {
    Ok(SourceRepositoryRow {
        repository: SourceRepository {
            address: row.try_get("address")?,
            project_id: ProjectId::parse(row.try_get("project_id")?)?,
        },
        added: row.try_get("added")?,
        indexed: row.try_get("indexed")?,
        pushed_ms: row.try_get("pushed_ms")?,
        gone_ms: row.try_get("gone_ms")?,
    })
}

fn read_counts(row: &Row) -> Result<SourceCounts, Fault> {
    Ok(SourceCounts {
        source: row.try_get("source")?,
        indexed: row.try_get("indexed")?,
        waiting: row.try_get("waiting")?,
        gone: row.try_get("gone")?,
    })
}
