//! Finds the stored records that a report is about, and assigns ids to new ones.

use super::identity::{Digest, ItemKey, stored_place};
use super::matching::{Candidate, NewIds, SplitRecord, match_items};
use super::record::Record;
use contract::Fault;
use store::triage::{self, KnownFinding};
use store::{Access, Project, ProjectTx, Store};

/// The number of items whose records are looked up at once.
const LOOKUP_ITEMS: usize = 500;
/// Maximum number of attempts to find free ids for new records. Each attempt skips all ids found to be taken.
const TRIES_MAX: usize = 50;

/// The records of a report's items.
pub(super) struct Recognised {
    /// The record id of each item.
    pub(super) ids: Vec<String>,
    pub(super) splits: Vec<SplitRecord>,
}

/// Finds the record of each item; `keys` are the positions and keys of the items.
pub(super) async fn recognise(
    store: &Store,
    project: &Project,
    keys: &[(usize, ItemKey)],
) -> Result<Recognised, Fault> {
    let keys: Vec<ItemKey> = keys.iter().map(|(_, key)| key.clone()).collect();
    let mut candidates: Vec<Candidate> = Vec::new();
    for batch in keys.chunks(LOOKUP_ITEMS) {
        let claims = batch.iter().flat_map(|key| &key.claims).map(|claim| claim.digest.to_text());
        let claims: Vec<String> = claims.collect();
        let former_ids: Vec<&str> = batch.iter().map(|key| key.former_id.as_str()).collect();
        let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
        let known = triage::known(&mut tx, &claims, &former_ids).await?;
        tx.commit().await?;
        candidates.extend(known.into_iter().map(Candidate::from));
    }
    candidates.sort_by(|one, other| one.id.cmp(&other.id));
    candidates.dedup_by(|one, other| one.id == other.id);
    let matched = match_items(&keys, &candidates);
    let mut new_ids = NewIds::default();
    new_ids.reserve(candidates.iter().map(|candidate| candidate.id.clone()));
    let wholes: Vec<Digest> = keys.iter().filter_map(ItemKey::whole).collect();
    let mut ids = matched.ids;
    for (id, whole) in ids.iter_mut().zip(&wholes).filter(|(id, _)| id.is_none()) {
        *id = Some(new_ids.next_id(*whole));
    }
    let mut ids: Vec<String> = ids.into_iter().flatten().collect();
    avoid_foreign_ids(store, project, &mut ids, (&wholes, &candidates, new_ids)).await?;
    Ok(Recognised { ids, splits: matched.splits })
}

/// Replaces ids of new records under which another finding is stored: one that was in this place before and moved.
async fn avoid_foreign_ids(
    store: &Store,
    project: &Project,
    ids: &mut [String],
    (wholes, candidates, mut new_ids): (&[Digest], &[Candidate], NewIds),
) -> Result<(), Fault> {
    let is_new = |id: &String| candidates.binary_search_by(|candidate| candidate.id.cmp(id)).is_err();
    let mut open: Vec<usize> = (0..ids.len()).filter(|at| is_new(&ids[*at])).collect();
    for _ in 0..TRIES_MAX {
        let mut foreign = std::collections::HashSet::new();
        for batch in open.chunks(LOOKUP_ITEMS) {
            let wanted: Vec<&str> = batch.iter().map(|at| ids[*at].as_str()).collect();
            let claims: Vec<String> = batch.iter().map(|at| wholes[*at].to_text()).collect();
            let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
            foreign.extend(triage::foreign_ids(&mut tx, &wanted, &claims).await?);
            tx.commit().await?;
        }
        open.retain(|at| foreign.contains(&ids[*at]));
        if open.is_empty() {
            return Ok(());
        }
        for at in &open {
            ids[*at] = new_ids.next_id(wholes[*at]);
        }
    }
    Err(Fault::internal("New findings have the ids of others.", "no free id was found"))
}

impl From<KnownFinding> for Candidate {
    fn from(known: KnownFinding) -> Self {
        let record = known.record.and_then(|json| serde_json::from_str::<Record>(&json).ok());
        Self {
            id: known.id,
            claims: known.claims.iter().filter_map(|claim| Digest::from_text(claim)).collect(),
            related: known.related,
            place: record.as_ref().map(stored_place),
            is_decided: known.is_decided,
        }
    }
}
