//! Fits the result of a navigation into an answer within its size limit.

use serde::Serialize;

use super::answer::{FilePlaces, NavigationPayload, OmittedPlaces, Place, SymbolInfo, Unresolved};
use super::navigator::{Located, Navigation};
use crate::search::{Budget, Fitted, Shrinks, TotalRelation, fit};

/// Hint of `omitted`.
const HINT: &str = "Page with `offset`, use a smaller `limit`, or narrow with `kind` or `repoPath`.";

/// Presents the result. Places that do not fit lose their text first and are then omitted.
#[must_use]
pub fn present(found: Navigation, budget: impl Into<Budget>) -> NavigationPayload {
    let least = |is_least: bool| is_least.then_some(TotalRelation::Gte);
    let unresolved = found.unresolved.as_ref().map(|uses| Unresolved {
        total: uses.total,
        total_relation: least(uses.is_least),
        candidates: uses.candidates,
        candidates_relation: least(uses.candidates_is_least),
        files: Vec::new(),
    });
    let listed = found.unresolved.as_ref().filter(|uses| uses.is_listed).map_or(0, |uses| uses.total);
    let all = found.total.saturating_add(listed);
    let count = found.places.len()
        + found.candidates.len()
        + found.unresolved.as_ref().map_or(0, |uses| uses.places.len());
    let mut payload = NavigationPayload {
        relation: found.relation,
        symbol: found.symbol,
        candidates: Vec::new(),
        files: Vec::new(),
        total: found.total,
        total_relation: least(found.total_is_least),
        next_offset: Some(all),
        by_certainty: found.by_certainty,
        by_kind: found.by_kind,
        steps: found.steps,
        unresolved,
        stopped: found.stopped,
        // The longest possible `omitted`, so that the real one fits.
        omitted: omitted(count, count),
    };
    let budget = budget.into().less_frame(&payload);
    let guesses = found.unresolved.map(|uses| uses.places).unwrap_or_default();
    let mut items: Vec<Item> = found.candidates.into_iter().map(Item::Candidate).collect();
    items.extend(as_items(found.places, false));
    items.extend(as_items(guesses, true));
    let Fitted { items, shrunk, dropped } = fit(items, budget);
    let next = found.offset + items.len();
    payload.next_offset = (!items.is_empty() && next < all).then_some(next);
    payload.omitted = omitted(shrunk, dropped);
    for item in items {
        match item {
            Item::Candidate(candidate) => payload.candidates.push(candidate),
            Item::Place { file, place, is_guess, .. } => {
                let files = match (is_guess, &mut payload.unresolved) {
                    (true, Some(unresolved)) => &mut unresolved.files,
                    _ => &mut payload.files,
                };
                add(files, file, place);
            }
        }
    }
    payload
}

fn omitted(texts: usize, places: usize) -> Option<OmittedPlaces> {
    (texts + places > 0).then(|| OmittedPlaces { texts, places, hint: HINT.to_owned() })
}

/// Adds a place to the group of its file, if that is the last one.
fn add(files: &mut Vec<FilePlaces>, file: FilePlaces, place: Place) {
    match files.last_mut() {
        Some(last) if last.file == file.file && last.repo == file.repo => last.places.push(place),
        _ => files.push(FilePlaces { places: vec![place], ..file }),
    }
}

/// An item of an answer, as the size limit counts it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Item {
    Candidate(SymbolInfo),
    Place {
        /// Counted for the first place of a file only.
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<FilePlaces>,
        #[serde(skip)]
        file: FilePlaces,
        place: Place,
        #[serde(skip)]
        is_guess: bool,
    },
}

fn as_items(places: Vec<Located>, is_guess: bool) -> Vec<Item> {
    let mut last: Option<FilePlaces> = None;
    let item = |located: Located| {
        let Located { repo, file, place } = located;
        let file = FilePlaces { repo, file, places: Vec::new() };
        let head = (last.as_ref() != Some(&file)).then(|| file.clone());
        last = Some(file.clone());
        Item::Place { head, file, place, is_guess }
    };
    places.into_iter().map(item).collect()
}

impl Shrinks for Item {
    fn shrink(&mut self) -> bool {
        match self {
            Self::Candidate(candidate) => candidate.signature.take().is_some(),
            Self::Place { place, .. } => {
                if place.text.take().is_some() {
                    return true;
                }
                let more = !place.at.is_empty() || !place.overrides.is_empty() || place.within.is_some();
                place.at.clear();
                place.overrides.clear();
                place.within = None;
                more
            }
        }
    }
}
