//! The other places of a hit's text: the copies that are folded into the hit.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::present::total_relation::TotalRelation;

/// Other places with the same text, in the searched repositories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherPlaces {
    /// How many there are; with `totalRelation`, at least so many.
    pub total: u32,
    /// `gte` if `total` is a lower bound; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total_relation: Option<TotalRelation>,
    /// The first few, those in the hit's repository before others.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub first: Vec<OtherPlace>,
}

/// Another place of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherPlace {
    /// Name of the repository; if more than one was searched, and in `full` and `json`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repo: Option<String>,
    /// Path relative to the repository.
    pub file: String,
    /// First line there, 1-based.
    pub line: u32,
}

impl OtherPlaces {
    /// Returns the places with at most `named` of them listed, and without repositories unless `with_repository`.
    pub(in crate::search) fn shortened(mut self, named: usize, with_repository: bool) -> Self {
        self.first.truncate(named);
        if !with_repository {
            self.first.iter_mut().for_each(|place| place.repo = None);
        }
        self
    }

    /// Returns the places as a part of a sentence: `also in lib/x.py:12 and 2 more places`. Paths are not escaped.
    #[must_use]
    pub fn sentence(&self) -> String {
        let least = if self.total_relation.is_some() { "at least " } else { "" };
        let place = |place: &OtherPlace| {
            let repository = place.repo.as_deref().map(|repo| format!("{repo}: ")).unwrap_or_default();
            format!("{repository}{}:{}", place.file, place.line)
        };
        let named: Vec<String> = self.first.iter().map(place).collect();
        let more = self.total.saturating_sub(u32::try_from(named.len()).unwrap_or(u32::MAX));
        let places = if more == 1 { "place" } else { "places" };
        if named.is_empty() {
            return format!("also in {least}{more} other {places}");
        }
        let mut sentence = format!("also in {}", named.join(", "));
        if more > 0 || self.total_relation.is_some() {
            let _ = write!(sentence, " and {least}{more} more {places}");
        }
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_a_short_line() {
        let place = |repo: Option<&str>, line| OtherPlace {
            repo: repo.map(str::to_owned),
            file: "lib/x.py".to_owned(),
            line,
        };
        let sentence = |total, total_relation, first: &[OtherPlace]| {
            OtherPlaces { total, total_relation, first: first.to_vec() }.sentence()
        };
        assert_eq!(sentence(1, None, &[place(None, 12)]), "also in lib/x.py:12");
        let two = [place(None, 12), place(Some("fork"), 3)];
        assert_eq!(sentence(3, None, &two), "also in lib/x.py:12, fork: lib/x.py:3 and 1 more place");
        let least = Some(TotalRelation::Gte);
        assert_eq!(sentence(9, least, &two[..1]), "also in lib/x.py:12 and at least 8 more places");
        assert_eq!(sentence(2, None, &[]), "also in 2 other places");
    }
}
