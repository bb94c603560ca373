//! Finds the stored record of each item of a report.
//!
//! An item with all facts of a record is that record, as often as both occur. For the others, the strongest claim decides that only one
//! item of the report and only one record has. A claim that several share identifies nothing, and the next one is tried. Last, records of
//! older programs are recognised by the id that those programs assigned to the item.

use std::collections::{HashMap, HashSet, VecDeque};

use super::identity::{Digest, ItemKey};
use super::record::record_id;
use store::triage::Related;

/// If more records share a claim, checking each of them is not worth it.
const SHARED_MAX: usize = 64;

/// A stored record.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidate {
    pub(super) id: String,
    /// The strongest claim first; empty for a record of an older program.
    pub(super) claims: Vec<Digest>,
    /// Service, environment and repository, folded.
    pub(super) related: Related,
    /// The place of a record of an older program.
    pub(super) place: Option<Digest>,
    pub(super) is_decided: bool,
}

/// A record of an older program that represents several items of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitRecord {
    pub(super) id: String,
    /// Positions of the items.
    pub(super) items: Vec<usize>,
    pub(super) is_decided: bool,
    /// `true` if one of the items has the content of the record, and keeps it.
    pub(super) is_kept: bool,
}

/// The records of a report's items.
#[derive(Debug, Default)]
pub(super) struct Matched {
    /// For each item, the id of its record; `None` if it is new.
    pub(super) ids: Vec<Option<String>>,
    pub(super) splits: Vec<SplitRecord>,
}

/// Finds the record of each item among `candidates`.
pub(super) fn match_items(items: &[ItemKey], candidates: &[Candidate]) -> Matched {
    let mut matching =
        Matching { items, candidates, found: vec![None; items.len()], taken: vec![false; candidates.len()] };
    matching.by_occurrence();
    matching.by_all_facts();
    matching.by_claims();
    let splits = matching.by_former_ids();
    let id = |at: &Option<usize>| at.map(|at| candidates[at].id.clone());
    Matched { ids: matching.found.iter().map(id).collect(), splits }
}

struct Matching<'a> {
    items: &'a [ItemKey],
    candidates: &'a [Candidate],
    /// For each item, the position of its record.
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Matching<'_> {
    fn take(&mut self, item: usize, candidate: usize) {
        self.found[item] = Some(candidate);
        self.taken[candidate] = true;
    }

    /// Matches the first, second … item with the same facts to the record that was made of it, so that ingesting the same report again
    /// changes nothing.
    fn by_occurrence(&mut self) {
        let by_id: HashMap<&str, usize> =
            self.candidates.iter().enumerate().map(|(at, candidate)| (candidate.id.as_str(), at)).collect();
        let mut numbers: HashMap<Digest, u32> = HashMap::new();
        for item in 0..self.items.len() {
            let key = &self.items[item];
            let Some(whole) = key.whole() else { continue };
            let number = numbers.entry(whole).or_default();
            *number += 1;
            let Some(at) = by_id.get(occurrence_id(whole, *number).as_str()).copied() else { continue };
            let candidate = &self.candidates[at];
            let is_it = candidate.claims.last() == Some(&whole) && candidate.related == key.related;
            if is_it && !self.taken[at] {
                self.take(item, at);
            }
        }
    }

    /// Matches items to records with the same facts: first those with the same service, environment and repository, then those where one of
    /// the two does not specify them.
    fn by_all_facts(&mut self) {
        let mut queues: HashMap<(Digest, &Related), VecDeque<usize>> = HashMap::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            if let (Some(whole), false) = (candidate.claims.last(), self.taken[at]) {
                queues.entry((*whole, &candidate.related)).or_default().push_back(at);
            }
        }
        for item in 0..self.items.len() {
            let key = &self.items[item];
            if self.found[item].is_some() {
                continue;
            }
            let queue = key.whole().and_then(|whole| queues.get_mut(&(whole, &key.related)));
            if let Some(candidate) = queue.and_then(VecDeque::pop_front) {
                self.take(item, candidate);
            }
        }
        let mut left: HashMap<Digest, VecDeque<usize>> = HashMap::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            if let (Some(whole), false) = (candidate.claims.last(), self.taken[at]) {
                left.entry(*whole).or_default().push_back(at);
            }
        }
        for item in 0..self.items.len() {
            let key = &self.items[item];
            let Some(queue) = key.whole().and_then(|whole| left.get_mut(&whole)) else { continue };
            if self.found[item].is_some() {
                continue;
            }
            let fits = |at: &usize| are_compatible(&key.related, &self.candidates[*at].related);
            if let Some(place) = queue.iter().take(SHARED_MAX).position(fits)
                && let Some(candidate) = queue.remove(place)
            {
                self.take(item, candidate);
            }
        }
    }

    /// Matches items to records by the claims that exactly one item and one record have.
    fn by_claims(&mut self) {
        let mut in_report: HashMap<Digest, usize> = HashMap::new();
        for claim in self.items.iter().flat_map(|item| &item.claims) {
            *in_report.entry(claim.digest).or_default() += 1;
        }
        let mut stored: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            for claim in &candidate.claims {
                stored.entry(*claim).or_default().push(at);
            }
        }
        let most = self.items.iter().map(|item| item.claims.len()).max().unwrap_or(0);
        for rank in 0..most {
            for item in 0..self.items.len() {
                let key = &self.items[item];
                let Some(claim) = key.claims.get(rank).filter(|_| self.found[item].is_none()) else {
                    continue;
                };
                let holders = stored.get(&claim.digest).map_or(&[][..], Vec::as_slice);
                if in_report.get(&claim.digest) != Some(&1) || holders.len() > SHARED_MAX {
                    continue;
                }
                if let Some(candidate) = self.only_holder(key, claim.is_global, holders) {
                    self.take(item, candidate);
                }
            }
        }
    }

    /// Returns the only one of `holders` that the item can be; `None` if it was found already, or if there are several.
    fn only_holder(&self, key: &ItemKey, is_global: bool, holders: &[usize]) -> Option<usize> {
        let one = |fits: &dyn Fn(&Related) -> bool| {
            let mut fitting = holders.iter().copied().filter(|at| fits(&self.candidates[*at].related));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let equal = one(&|related| *related == key.related);
        let holder = equal.or_else(|| one(&|related| is_global || are_compatible(&key.related, related)))?;
        (!self.taken[holder]).then_some(holder)
    }

    /// Matches items to records of older programs. A record that represented several items stays with the one that has its content, if
    /// there is one.
    fn by_former_ids(&mut self) -> Vec<SplitRecord> {
        let mut by_former_id: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, item) in self.items.iter().enumerate() {
            by_former_id.entry(&item.former_id).or_default().push(at);
        }
        let mut splits = Vec::new();
        for (at, candidate) in self.candidates.iter().enumerate().filter(|(_, it)| it.claims.is_empty()) {
            let Some(items) = by_former_id.get(candidate.id.as_str()) else { continue };
            let has_its_content = |item: &&usize| Some(self.items[**item].place) == candidate.place;
            let keeper = match items.as_slice() {
                [only] => Some(*only),
                several => several.iter().find(has_its_content).copied(),
            };
            let keeper = keeper.filter(|item| self.found[*item].is_none());
            if let Some(item) = keeper {
                self.take(item, at);
            }
            if items.len() > 1 {
                let (id, is_decided) = (candidate.id.clone(), candidate.is_decided);
                splits.push(SplitRecord { id, items: items.clone(), is_decided, is_kept: keeper.is_some() });
            }
        }
        splits
    }
}

/// Returns whether two findings can be of the same service, environment and repository: equal, or not specified.
fn are_compatible(one: &Related, other: &Related) -> bool {
    let fits =
        |one: &Option<String>, other: &Option<String>| one.is_none() || other.is_none() || one == other;
    fits(&one.service, &other.service) && fits(&one.env, &other.env) && fits(&one.repo, &other.repo)
}

/// Returns the id of the record that is made of the item that is the `number`th with these facts.
fn occurrence_id(whole: Digest, number: u32) -> String {
    record_id("finding", &format!("{}#{number}", whole.to_text()))
}

/// Ids for new records: hashes of all facts, with a number if others have the same.
#[derive(Debug, Default)]
pub(super) struct NewIds {
    used: HashSet<String>,
    next: HashMap<Digest, u32>,
}

impl NewIds {
    /// Reserves `ids`, which are then not assigned.
    pub(super) fn reserve(&mut self, ids: impl IntoIterator<Item = String>) {
        self.used.extend(ids);
    }

    /// Returns the next free id for a finding with these facts.
    pub(super) fn next_id(&mut self, whole: Digest) -> String {
        let number = self.next.entry(whole).or_insert(0);
        loop {
            *number += 1;
            let id = occurrence_id(whole, *number);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::identity::Claim;

    fn digest(text: &str) -> Digest {
        Digest::of(&[text])
    }

    fn item(claims: &[&str]) -> ItemKey {
        let claims = claims.iter().map(|text| Claim { digest: digest(text), is_global: false }).collect();
        let former_id = "former".to_owned();
        ItemKey { scope: digest("s"), claims, former_id, place: digest("p"), related: Related::default() }
    }

    fn record(id: &str, claims: &[&str]) -> Candidate {
        let claims = claims.iter().map(|text| digest(text)).collect();
        Candidate { id: id.to_owned(), claims, ..Candidate::default() }
    }

    fn matched(items: &[ItemKey], candidates: &[Candidate]) -> Vec<String> {
        let ids = match_items(items, candidates).ids;
        ids.into_iter().map(|id| id.unwrap_or_else(|| "new".to_owned())).collect()
    }

    #[test]
    fn a_claim_that_several_share_identifies_nothing() {
        let stored =
            [record("a", &["f", "line 1"]), record("b", &["f", "line 2"]), record("c", &["g", "line 3"])];
        let lines = |lines: [&str; 2]| lines.map(|line| item(&["f", line]));
        assert_eq!(matched(&lines(["line 2", "line 1"]), &stored), ["b", "a"], "by all facts");
        assert_eq!(matched(&lines(["line 8", "line 9"]), &stored), ["new", "new"]);
        assert_eq!(matched(&[item(&["f", "line 7"])], &stored), ["new"], "two records have it");
        assert_eq!(matched(&[item(&["g", "line 7"])], &stored), ["c"], "the line moved");
        assert_eq!(matched(&[item(&["g", "line 7"]), item(&["g", "line 8"])], &stored), ["new", "new"]);
        assert_eq!(matched(&[item(&["g", "line 8"]), item(&["g", "line 3"])], &stored), ["new", "c"]);
    }

    #[test]
    fn equal_items_are_as_many_records() {
        let stored = [record("a", &["x"]), record("b", &["x"])];
        assert_eq!(matched(&[item(&["x"]), item(&["x"]), item(&["x"])], &stored), ["a", "b", "new"]);
        let mut ids = NewIds::default();
        let first = ids.next_id(digest("x"));
        assert_ne!(first, ids.next_id(digest("x")));
        let mut again = NewIds::default();
        again.reserve([first.clone()]);
        assert_ne!(again.next_id(digest("x")), first);
    }

    #[test]
    fn the_strongest_claim_decides() {
        let stored = [record("a", &["f1", "place", "all a"]), record("b", &["f2", "place 2", "all b"])];
        assert_eq!(matched(&[item(&["f2", "place", "all c"])], &stored), ["b"]);
        assert_eq!(matched(&[item(&["f3", "place", "all c"])], &stored), ["a"]);
    }

    #[test]
    fn services_do_not_share_findings_unless_the_claim_is_global() {
        let of = |name: &str| Related { service: Some(name.to_owned()), ..Related::default() };
        let stored = |name: &str| Candidate { related: of(name), ..record(name, &["f", "all"]) };
        let of_item = |name: &str, is_global| {
            let mut item = ItemKey { related: of(name), ..item(&["f", "other"]) };
            item.claims[0].is_global = is_global;
            item
        };
        let (one, both) = ([stored("shop")], [stored("shop"), stored("api")]);
        assert_eq!(matched(&[of_item("api", false)], &one), ["new"]);
        assert_eq!(matched(&[of_item("api", true)], &one), ["shop"]);
        assert_eq!(matched(&[of_item("api", false)], &both), ["api"]);
        assert_eq!(matched(&[item(&["f", "other"])], &one), ["shop"], "a report that does not say it");
        assert_eq!(matched(&[item(&["f", "other"])], &both), ["new"]);
        let same = [ItemKey { related: of("api"), ..item(&["f", "all"]) }, item(&["f", "all"])];
        assert_eq!(matched(&same, &both), ["api", "shop"]);
    }

    #[test]
    fn a_former_record_stays_with_the_item_that_it_describes() {
        let former =
            |place| Candidate { place: Some(digest(place)), is_decided: true, ..record("former", &[]) };
        let place = |place| ItemKey { place: digest(place), ..item(&[place]) };
        let found = match_items(&[place("p1"), place("p2")], &[former("p2")]);
        assert_eq!(found.ids, [None, Some("former".to_owned())]);
        let split =
            SplitRecord { id: "former".to_owned(), items: vec![0, 1], is_decided: true, is_kept: true };
        assert_eq!(found.splits, [split]);
        let found = match_items(&[place("p1"), place("p2")], &[former("p3")]);
        assert_eq!((found.ids, found.splits[0].is_kept), (vec![None, None], false));
        let found = match_items(&[place("p1")], &[former("p3")]);
        assert_eq!(
            (found.ids, found.splits.len()),
            (vec![Some("former".to_owned())], 0),
            "one item is the record"
        );
    }
}
