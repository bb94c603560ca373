//! Facets: how all hits of an answer, not only those of its page, are spread over repositories, languages, kinds, folders, risks
//! and authors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::rank::ranked::RankedCandidates;
use crate::search::request::SearchRequest;
use contract::Fault;
use languages::facts::Field;
use store::{CountedValue, Reads};

/// Maximum number of chunks whose hits are counted. Only lists of everything that passes a filter are longer.
pub(in crate::search) const CHUNKS_MAX: usize = 5_000;
/// Maximum number of values of a property that are listed.
const VALUES_MAX: usize = 8;
/// Fields of facts that are properties, with the names of these.
const FIELDS: [(i16, &str); 2] = [(Field::Kind as i16, "kind"), (Field::RiskTag as i16, "risk")];

/// A property by which hits are counted. A hit has several kinds if its chunk has definitions of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FacetProperty {
    /// The repository.
    Repository,
    /// The language of the file.
    Language,
    /// A kind of the chunk or of a definition in it.
    Kind,
    /// The first folder of the path.
    Folder,
    /// A risk tag.
    Risk,
    /// The author of the file's last commit.
    Author,
}

impl FacetProperty {
    /// All properties, in the order in which they are shown.
    const ALL: [Self; 6] =
        [Self::Repository, Self::Language, Self::Kind, Self::Folder, Self::Risk, Self::Author];

    /// Returns the name of the property.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Language => "language",
            Self::Kind => "kind",
            Self::Folder => "folder",
            Self::Risk => "risk",
            Self::Author => "author",
        }
    }
}

/// The properties that distinguish the hits of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facets {
    /// Whether the numbers are lower bounds, because not all hits are known or not all were counted.
    pub is_least: bool,
    /// The properties, without those in which all hits agree.
    pub facets: Vec<Facet>,
}

/// One property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Facet {
    /// The property.
    pub property: FacetProperty,
    /// Its values, the most frequent first.
    pub values: Vec<FacetValue>,
    /// Number of further values.
    pub others: usize,
}

/// One value of a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FacetValue {
    /// The value.
    pub value: String,
    /// How many hits have it; of an exact search, how many lines.
    pub hits: i64,
}

impl Facets {
    /// Counts the candidates of a ranking, if the request wants that.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn of_ranked(
        reads: &mut Reads,
        request: &SearchRequest,
        ranked: &RankedCandidates,
    ) -> Result<Self, Fault> {
        if !request.for_page {
            return Ok(Self::default());
        }
        let hits: Vec<(i64, i64)> = ranked.chunks.iter().map(|chunk| (chunk.chunk_id, 1)).collect();
        Self::count(reads, &hits, (ranked.total, ranked.total_is_least)).await
    }

    /// Counts the hits of an answer, given as chunk and number of hits. `total` is their number, with whether it is a lower bound.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn count(
        reads: &mut Reads,
        hits: &[(i64, i64)],
        (total, total_is_least): (usize, bool),
    ) -> Result<Self, Fault> {
        let counted = &hits[..hits.len().min(CHUNKS_MAX)];
        let sum: i64 = counted.iter().map(|(_, hits)| hits).sum();
        let values = reads.facets(counted, &FIELDS).await?;
        let facets = FacetProperty::ALL.into_iter().filter_map(|property| Facet::new(property, &values, sum));
        let is_least = total_is_least || usize::try_from(sum).is_ok_and(|sum| sum < total);
        Ok(Self { is_least, facets: facets.collect() })
    }
}

impl Facet {
    /// Creates the values of one property among `counted`; `None` if every one of the `hits` has each of them.
    fn new(property: FacetProperty, counted: &[CountedValue], hits: i64) -> Option<Self> {
        let of_property = || counted.iter().filter(move |value| value.property == property.as_str());
        let named = of_property().take(VALUES_MAX);
        let values = named.map(|value| FacetValue { value: value.value.clone(), hits: value.hits });
        let others = of_property().count().saturating_sub(VALUES_MAX);
        let distinguishes = of_property().any(|value| value.hits < hits);
        distinguishes.then(|| Self { property, values: values.collect(), others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(property: &str, value: &str, hits: i64) -> CountedValue {
        CountedValue { property: property.to_owned(), value: value.to_owned(), hits }
    }

    #[test]
    fn a_property_in_which_all_hits_agree_is_left_out() {
        let values = [
            counted("language", "rust", 3),
            counted("kind", "class", 3),
            counted("kind", "method", 2),
            counted("risk", "sql", 1),
        ];
        let facet = |property| Facet::new(property, &values, 3);
        assert_eq!((facet(FacetProperty::Language), facet(FacetProperty::Author)), (None, None));
        let kinds = facet(FacetProperty::Kind).unwrap();
        assert_eq!((kinds.values.len(), kinds.values[0].value.as_str(), kinds.others), (2, "class", 0));
        assert_eq!(facet(FacetProperty::Risk).unwrap().values[0].hits, 1, "two have no risk");
    }

    #[test]
    fn the_most_frequent_values_are_named_and_the_others_counted() {
        let values = (0..20).map(|at| counted("folder", &format!("f{at}"), 20 - at));
        let folders = Facet::new(FacetProperty::Folder, &values.collect::<Vec<_>>(), 100).unwrap();
        assert_eq!((folders.values.len(), folders.values[0].hits, folders.others), (VALUES_MAX, 20, 12));
    }

    #[test]
    fn properties_have_the_names_under_which_they_are_counted() {
        for (_, name) in FIELDS {
            assert!(FacetProperty::ALL.iter().any(|property| property.as_str() == name), "{name}");
        }
        for property in FacetProperty::ALL {
            assert_eq!(serde_json::to_value(property).unwrap(), property.as_str());
        }
    }
}
