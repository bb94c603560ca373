//! Positions of commits in the history of HEAD.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::time::Instant;

use gix::ObjectId;

use super::{History, Limits};

impl History {
    /// Returns the position of each commit, given in hex, in the history of HEAD, newest first: 0 is HEAD. `None` for commits that are not
    /// in it, or that the walk did not reach within the limits.
    #[must_use]
    pub fn positions(&self, commits: &[&str], limits: &Limits) -> Vec<Option<u32>> {
        let ids: Vec<Option<ObjectId>> =
            commits.iter().map(|commit| ObjectId::from_hex(commit.as_bytes()).ok()).collect();
        let wanted: HashSet<ObjectId> = ids.iter().flatten().copied().collect();
        let found = self.positions_of(&wanted, limits);
        ids.into_iter().map(|id| found.get(&id?).copied()).collect()
    }

    fn positions_of(&self, wanted: &HashSet<ObjectId>, limits: &Limits) -> HashMap<ObjectId, u32> {
        let deadline = Instant::now() + limits.time;
        // Commits to visit by committer date, newest first; those of the same second in the order of insertion.
        let (mut queue, mut queued) = (BinaryHeap::new(), HashSet::new());
        let (mut found, mut position): (_, u32) = (HashMap::new(), 0);
        let mut next: Vec<ObjectId> = self.head_id().into_iter().collect();
        loop {
            for id in next.drain(..) {
                // In a shallow clone, or if the object is damaged, the history ends here.
                let Ok(commit) = self.commit(id) else { continue };
                if queued.insert(id) {
                    queue.push((commit.committed_s, Reverse(queued.len()), id));
                }
            }
            let Some((_, _, id)) = queue.pop() else { return found };
            if wanted.contains(&id) {
                found.insert(id, position);
            }
            position = position.saturating_add(1);
            let is_over = usize::try_from(position).is_ok_and(|seen| seen >= limits.commits_max);
            if is_over || found.len() == wanted.len() || Instant::now() >= deadline {
                return found;
            }
            if let Ok(commit) = self.commit(id) {
                next.extend(commit.parents.iter().filter(|parent| !queued.contains(*parent)));
            }
        }
    }
}
