//! What nothing needs any more goes: texts' vectors and names without an owner, old runs, old files.

use super::folder::Entry;
use super::removal::{Place, Reason, Removal, Removed, What, remove_files};
use contract::Fault;
use store::{self, Access, Fence, Measured, ProjectTx, RepositoryRow, index_state, lexical, names, vectors};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// How much may stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Files and finished runs older than this go.
    pub age_days: Option<u32>,
    /// The oldest files go until the rest takes no more.
    pub bytes: Option<u64>,
}

/// What is asked for.
pub struct Request<'a> {
    /// Where.
    pub place: Place<'a>,
    /// Only what belongs to this repository alone: its runs and its files.
    pub repository: Option<&'a RepositoryRow>,
    /// How much may stay.
    pub limits: Limits,
    /// Now, milliseconds since the epoch.
    pub now_ms: i64,
}

impl Request<'_> {
    /// What would go; changes nothing.
    ///
    /// # Errors
    /// Storage faults; `PERMISSION_DENIED` when the project's folder cannot be read.
    pub async fn plan(&self) -> Result<Removed, Fault> {
        let (store, mut planned) = (self.place.store, Removed::default());
        if self.repository.is_none() {
            let mut tx = ProjectTx::begin(store, self.place.project, Access::Search).await?;
            planned.add(orphans(What::Vectors, vectors::orphans(&mut tx, &[]).await?));
            planned.add(orphans(What::Names, names::orphans(&mut tx, &[]).await?));
            planned.add(orphans(What::Statistics, lexical::stale_terms(&mut tx).await?));
            tx.commit().await?;
        }
        let mut door = store.control_read().await?;
        let (subject, days) = (self.subject(), self.job_days());
        let old = store::jobs::finished(&mut door, self.place.project.id(), subject, days).await?;
        door.commit().await?;
        planned.add(Removal::rows(What::Jobs, Reason::Age, old));
        for (entry, reason) in self.files().await? {
            planned.add(Removal::file(&entry, reason));
        }
        Ok(planned)
    }

    /// Removes it. Each transaction is bounded; what is removed stays removed when the work is cut short.
    ///
    /// # Errors
    /// `CANCELLED`; `ILLEGAL_STATE` when another run took over; storage faults.
    pub async fn run(&self, fence: Fence) -> Result<Removed, Fault> {
        let mut removed = Removed::default();
        let mut tx = self.place.begin().await?;
        index_state::acquire_fence(&mut tx, fence).await?;
        tx.commit().await?;
        let before = self.place.disk_bytes().await?;
        if self.repository.is_none() {
            removed.add(orphans(What::Vectors, orphan_vectors(&self.place, fence).await?));
            let mut tx = self.place.begin().await?;
            removed.add(orphans(What::Names, names::remove_orphans(&mut tx, fence).await?));
            tx.commit().await?;
            removed.add(orphans(What::Statistics, self.statistics(fence).await?));
        }
        let mut door = self.place.store.control().await?;
        let (subject, days) = (self.subject(), self.job_days());
        let old = store::jobs::remove_finished(&mut door, self.place.project.id(), subject, days).await?;
        door.commit().await?;
        removed.add(Removal::rows(What::Jobs, Reason::Age, old));
        if self.repository.is_none() {
            removed.returned_bytes = self.place.give_back(before, &["vectors", "names", "terms"]).await?;
        }
        remove_files(&self.place, self.files().await?, &mut removed).await?;
        Ok(removed)
    }

    async fn statistics(&self, fence: Fence) -> Result<Measured, Fault> {
        let mut tx = self.place.begin().await?;
        let stale = lexical::stale_terms(&mut tx).await?;
        if stale.rows > 0 {
            lexical::rebuild_statistics(&mut tx, fence).await?;
        }
        tx.commit().await?;
        Ok(stale)
    }

    fn subject(&self) -> Option<&str> {
        self.repository.map(|repository| repository.root.as_str())
    }

    fn job_days(&self) -> u32 {
        self.limits.age_days.unwrap_or(self.place.settings.job_keep_days)
    }

    async fn files(&self) -> Result<Vec<(Entry, Reason)>, Fault> {
        let mut files = self.place.list().await?;
        files.retain(|entry| !entry.is_lock());
        if let Some(repository) = self.repository {
            files.retain(|entry| entry.belongs_to(&repository.name));
        }
        let unfinished_ms = i64::try_from(self.place.settings.unfinished_keep_ms).unwrap_or(i64::MAX);
        Ok(chosen(files, self.limits, unfinished_ms, self.now_ms))
    }
}

fn orphans(what: What, measured: Measured) -> Removal {
    Removal::rows(what, Reason::Orphan, measured)
}

/// Vectors of texts that no chunk has, page by page.
pub(super) async fn orphan_vectors(place: &Place<'_>, fence: Fence) -> Result<Measured, Fault> {
    let (mut all, mut after) = (Measured::default(), Vec::new());
    loop {
        let mut tx = place.begin().await?;
        let (some, last) = vectors::remove_some_orphans(&mut tx, fence, &after, place.batch()).await?;
        tx.commit().await?;
        all += some;
        match last {
            Some(last) => after = last,
            None => return Ok(all),
        }
    }
}

/// Which files go, oldest first, and why. What is being written stays, however old the rest is.
fn chosen(files: Vec<Entry>, limits: Limits, unfinished_ms: i64, now_ms: i64) -> Vec<(Entry, Reason)> {
    let mut files = files;
    files.sort_by(|one, other| (one.modified_ms, &one.path).cmp(&(other.modified_ms, &other.path)));
    let mut left: u64 = files.iter().map(|entry| entry.bytes).sum();
    let mut going = Vec::new();
    let mut staying = Vec::new();
    for entry in files {
        let age_ms = now_ms.saturating_sub(entry.modified_ms);
        let old = limits.age_days.is_some_and(|days| age_ms >= i64::from(days).saturating_mul(DAY_MS));
        match (entry.is_unfinished(), age_ms >= unfinished_ms) {
            (true, true) => going.push((entry, Reason::Unfinished)),
            (true, false) => {}
            (false, _) if old => going.push((entry, Reason::Age)),
            (false, _) => staying.push(entry),
        }
    }
    left -= going.iter().map(|(entry, _)| entry.bytes).sum::<u64>();
    for entry in staying {
        if limits.bytes.is_none_or(|most| left <= most) {
            break;
        }
        left -= entry.bytes;
        going.push((entry, Reason::Quota));
    }
    going
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, bytes: u64, days_old: i64) -> Entry {
        Entry { path: path.into(), bytes, modified_ms: (100 - days_old) * DAY_MS }
    }

    fn paths(limits: Limits) -> Vec<(String, Reason)> {
        let files = vec![
            entry("new", 10, 1),
            entry("old", 10, 40),
            entry("older", 10, 60),
            entry("left.part", 10, 2),
            entry("now.part", 10, 0),
        ];
        let going = chosen(files, limits, DAY_MS, 100 * DAY_MS);
        going.into_iter().map(|(entry, reason)| (entry.path, reason)).collect()
    }

    #[test]
    fn age_and_quota_take_the_oldest_first() {
        let part = ("left.part".to_owned(), Reason::Unfinished);
        assert_eq!(paths(Limits::default()), std::slice::from_ref(&part));
        let aged = paths(Limits { age_days: Some(50), bytes: None });
        assert_eq!(aged, [("older".to_owned(), Reason::Age), part.clone()]);
        let quota = paths(Limits { age_days: None, bytes: Some(25) });
        assert_eq!(quota[1..], [("older".to_owned(), Reason::Quota), ("old".to_owned(), Reason::Quota)]);
        let both = paths(Limits { age_days: Some(50), bytes: Some(25) });
        assert_eq!(both.last(), Some(&("old".to_owned(), Reason::Quota)));
        let none = paths(Limits { age_days: Some(0), bytes: Some(0) });
        assert!(none.iter().all(|(path, _)| path != "now.part"), "somebody writes it: {none:?}");
    }
}
