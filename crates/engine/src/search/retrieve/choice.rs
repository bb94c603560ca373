//! Chooses the repositories with the best candidates. A text counts for one of the repositories that have it, so that work trees
//! and forks of one repository do not take the places of others.

use std::collections::{HashMap, HashSet};

use crate::search::rank::duplicates::{TextHash, text_hash};
use crate::search::rank::fuse::Retrieved;
use crate::search::rank::ranking::Ranking;
use crate::search::retrieve::retrievers::chunk_ids;
use contract::Fault;
use store::{Reads, RepositoryRow, TextPlace};

/// Candidates of each list by which repositories are chosen.
pub(in crate::search) const CHOICE_CANDIDATES: usize = 200;
/// The same if copies leave fewer texts than [`CHOICE_TEXTS_MIN`]: that many texts of twenty copies each.
pub(in crate::search) const CHOICE_CANDIDATES_MAX: usize = 1_000;
/// Texts among the candidates of a list that are enough to choose by.
const CHOICE_TEXTS_MIN: usize = 50;

/// Lists of candidates over many repositories, with their places.
pub(in crate::search) struct Choice {
    /// Definitions with the queried name, then the candidates of both retrievers.
    lists: [Retrieved; 3],
    places: HashMap<i64, Candidate>,
}

/// A candidate by which its repository may be chosen.
struct Candidate {
    place: TextPlace,
    root: String,
    text: Option<TextHash>,
}

impl Candidate {
    fn location(&self) -> (&str, &str, i32) {
        (&self.place.path, &self.root, self.place.start_line)
    }
}

impl Choice {
    /// Reads the places of the candidates of `lists`.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn read(
        reads: &mut Reads,
        lists: [Retrieved; 3],
        searched: &[&RepositoryRow],
        ranking: &Ranking,
    ) -> Result<Self, Fault> {
        let roots: HashMap<i64, &str> = searched.iter().map(|row| (row.id, row.root.as_str())).collect();
        let mut ids: Vec<i64> = lists.iter().flat_map(chunk_ids).collect();
        ids.sort_unstable();
        ids.dedup();
        let candidate = |place: TextPlace| {
            let root = (*roots.get(&place.repository_id)?).to_owned();
            let text = text_hash(place.text, ranking);
            Some((place.chunk_id, Candidate { place, root, text }))
        };
        let places = reads.places(&ids).await?.into_iter().filter_map(candidate).collect();
        Ok(Self { lists, places })
    }

    /// Returns whether a retriever's list of at least `limit` candidates consists of so few texts that other repositories may be
    /// missing.
    pub(in crate::search) fn is_crowded(&self, limit: usize) -> bool {
        let [_, retrieved @ ..] = &self.lists;
        retrieved.iter().any(|list| {
            let mut seen = HashSet::new();
            let candidates = chunk_ids(list).filter_map(|id| self.places.get(&id));
            let texts = candidates.filter(|candidate| candidate.text.is_none_or(|text| seen.insert(text)));
            list.len() >= limit && texts.count() < CHOICE_TEXTS_MIN
        })
    }

    /// Returns at most `limit` repositories, those with the best candidates of each list in turn. A text counts for the first
    /// repository that was indexed with it; repositories with copies only are taken if there is room.
    pub(in crate::search) fn repositories(&self, limit: usize) -> Vec<i64> {
        let mut owners: HashMap<TextHash, i64> = HashMap::new();
        for Candidate { place, text, .. } in self.places.values() {
            if let Some(text) = text {
                let owner = owners.entry(*text).or_insert(place.repository_id);
                *owner = place.repository_id.min(*owner);
            }
        }
        let all = self.lists.each_ref().map(|list| self.ordered(list));
        let is_own = |candidate: &&&Candidate| {
            candidate.text.is_none_or(|text| owners.get(&text) == Some(&candidate.place.repository_id))
        };
        let ids = |list: &Vec<&Candidate>, own_only: bool| {
            let chosen = list.iter().filter(|candidate| !own_only || is_own(candidate));
            chosen.map(|candidate| candidate.place.repository_id).collect::<Vec<i64>>()
        };
        let mut chosen = in_turn(all.each_ref().map(|list| ids(list, true)), limit);
        for id in in_turn(all.each_ref().map(|list| ids(list, false)), limit * 2) {
            if chosen.len() < limit && !chosen.contains(&id) {
                chosen.push(id);
            }
        }
        chosen
    }

    /// Returns the candidates of a list, best first; ties are ordered by path, root and line.
    fn ordered(&self, list: &Retrieved) -> Vec<&Candidate> {
        let located = |(id, score): &(i64, f32)| Some((*score, self.places.get(id)?));
        let mut all: Vec<(f32, &Candidate)> = list.iter().filter_map(located).collect();
        all.sort_by(|(score, a), (other_score, b)| {
            other_score.total_cmp(score).then_with(|| a.location().cmp(&b.location()))
        });
        all.into_iter().map(|(_, candidate)| candidate).collect()
    }
}

/// Takes the next new id of each list in turn, at most `limit` in all.
fn in_turn(lists: [Vec<i64>; 3], limit: usize) -> Vec<i64> {
    let mut lists = lists.map(Vec::into_iter);
    let mut taken: Vec<i64> = Vec::new();
    loop {
        let before = taken.len();
        for list in &mut lists {
            if taken.len() < limit
                && let Some(id) = list.find(|id| !taken.contains(id))
            {
                taken.push(id);
            }
        }
        if taken.len() == before {
            return taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a choice by one list of (repository, text), best first; text 0 is too short to be recognised.
    fn choice(rows: &[(i64, u8)]) -> Choice {
        let candidate = |(id, (repository_id, text)): (i64, &(i64, u8))| {
            let place = TextPlace {
                chunk_id: id,
                repository_id: *repository_id,
                path: "a.rs".to_owned(),
                start_line: 1,
                text: None,
            };
            let text = (*text > 0).then_some([*text; 32]);
            (id, Candidate { place, root: format!("/{repository_id}"), text })
        };
        let places: HashMap<i64, Candidate> = (0..).zip(rows).map(candidate).collect();
        let scores = (0_u16..).map(|rank| 1.0 / (1.0 + f32::from(rank)));
        let list = (0..).zip(scores).take(rows.len()).collect();
        Choice { lists: [Retrieved::new(), list, Retrieved::new()], places }
    }

    #[test]
    fn lists_take_turns_until_the_limit() {
        let lists = || [vec![7], vec![1, 1, 2, 3], vec![2, 7, 4, 5]];
        assert_eq!(in_turn(lists(), 8), [7, 1, 2, 3, 4, 5]);
        assert_eq!(in_turn(lists(), 3), [7, 1, 2]);
        assert!(in_turn([vec![], vec![], vec![]], 8).is_empty());
    }

    #[test]
    fn copies_are_chosen_after_all_others() {
        let rows = [(3, 1), (2, 1), (1, 1), (4, 1), (5, 2), (6, 0), (7, 0)];
        assert_eq!(
            choice(&rows).repositories(4),
            [1, 5, 6, 7],
            "the first that was indexed with a text counts"
        );
        assert_eq!(choice(&rows).repositories(9), [1, 5, 6, 7, 3, 2, 4]);
        let own = [(1, 1), (2, 1), (2, 3), (3, 4)];
        assert_eq!(
            choice(&own).repositories(9),
            [1, 2, 3],
            "a copy with a text of its own is chosen by that"
        );
    }

    #[test]
    fn a_full_list_of_few_texts_is_crowded() {
        let texts = |count: u8| {
            let copies = |text: u8| (0..4).map(move |repository| (repository, text));
            choice(&(1..=count).flat_map(copies).collect::<Vec<_>>())
        };
        assert!(texts(49).is_crowded(196) && !texts(50).is_crowded(200));
        assert!(!texts(49).is_crowded(197), "there are no further candidates");
    }
}
