//! Variants of the ranking, to measure the effect of each signal.

use serde_json::{Map, Value};

use contract::{ErrorCode, Fault};
use engine::search::{Ranking, Vectors};

/// A ranking to measure.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Its name in reports.
    pub name: String,
    /// The ranking.
    pub ranking: Ranking,
    /// The use of vectors.
    pub vectors: Vectors,
}

/// Names of the signals that ship, each with the settings that disable it.
const DISABLED_SIGNALS: &[(&str, &str)] = &[
    ("definitions", "definition_boost=0,embedded_name_boost=0"),
    ("file named after the symbol", "definition_stem_factor=1"),
    ("names in a sentence", "embedded_name_boost=0"),
    ("container of a name", "name_container_boost=0,name_path_boost=0,name_outer_boost=0"),
    ("kind and case of a name", "name_kind_boost=0,name_case_boost=0"),
    ("path", "stem_boost=0,stem_boost_meant=0,parent_boost=0"),
    ("file's name", "stem_boost=0,stem_boost_meant=0"),
    ("directory's name", "parent_boost=0"),
    ("definitions used widely", "used_boost=0"),
    ("coherence of files", "coherence_boost=0,coherence_bend=0,coherence_bend_lexical=0"),
    ("saturation of files", "saturation=1"),
    (
        "path kinds",
        "test_factor=1,example_factor=1,compat_factor=1,stub_factor=1,reexport_factor=1,prose_factor=1,\
         platform_factor=1",
    ),
    ("documents for questions of use", "usage_prose=0"),
    ("package manifest", "manifest_boost=0"),
    ("smaller weight of vectors for symbols", "dense_weight_symbol=0.5"),
    ("folding of equal texts", "duplicate_lines_min=4294967295,duplicate_bytes_min=4294967295"),
    ("long texts as issues", "subject_factor=1,dense_weight_issue=0.5,role_bend_issue=0"),
];

impl Variant {
    /// The default ranking.
    #[must_use]
    pub fn shipped() -> Self {
        Self { name: "shipped".to_owned(), ranking: Ranking::default(), vectors: Vectors::Auto }
    }

    /// The default ranking with the vectors named `vectors`, `shipped` or others; it has their name.
    #[must_use]
    pub fn with_vectors(vectors: &str) -> Self {
        Self { name: vectors.to_owned(), ..Self::shipped() }
    }

    /// The default ranking without vectors.
    #[must_use]
    pub fn lexical_only() -> Self {
        Self { name: "words".to_owned(), vectors: Vectors::Off, ..Self::shipped() }
    }

    /// The same ranking without vectors.
    #[must_use]
    pub fn without_vectors(&self) -> Self {
        let is_named = self.vectors == Vectors::Off;
        let name = if is_named { self.name.clone() } else { format!("words, {}", self.name) };
        Self { name, vectors: Vectors::Off, ..self.clone() }
    }

    /// Parses `NAME:field=value,…`, or `field=value,…`, which is then also the name. `vectors=off` is accepted like a field.
    ///
    /// # Errors
    /// `INVALID_REQUEST` for an unknown field or a value of the wrong type.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let (name, fields) = text.split_once(':').unwrap_or((text, text));
        let mut settings = Map::new();
        let mut vectors = Vectors::Auto;
        for field in fields.split(',').filter(|field| !field.trim().is_empty()) {
            let (key, value) =
                field.split_once('=').ok_or_else(|| invalid_variant(field, "it has no `=`"))?;
            match (key.trim(), value.trim()) {
                ("vectors", "off") => vectors = Vectors::Off,
                (key, value) => {
                    let number = serde_json::from_str::<Value>(value)
                        .map_err(|error| invalid_variant(field, error))?;
                    settings.insert(key.to_owned(), number);
                }
            }
        }
        let ranking = serde_json::from_value(Value::Object(settings))
            .map_err(|error| invalid_variant(fields, error))?;
        Ok(Self { name: name.to_owned(), ranking, vectors })
    }

    /// A variant without each signal in turn, two with the retrieval scores only, and one without lexical scores.
    ///
    /// # Errors
    /// Only if `DISABLED_SIGNALS` names a field that the ranking no longer has.
    pub fn ablation() -> Result<Vec<Self>, Fault> {
        let one = |(name, fields): &(&str, &str)| Self::parse(&format!("without {name}:{fields}"));
        let flat = "definition_boost=0,embedded_name_boost=0,stem_boost=0,stem_boost_meant=0,parent_boost=0,used_boost=0,\
                    coherence_boost=0,saturation=1,test_factor=1,example_factor=1,compat_factor=1,stub_factor=1,reexport_factor=1,prose_factor=1,\
                    platform_factor=1";
        let bare = [
            Self::parse(&format!("BM25 and vectors alone:{flat}"))?,
            Self::parse(&format!("BM25 alone:{flat},vectors=off"))?,
            Self::parse("vectors with the ranking, no words:dense_weight=1,dense_weight_symbol=1")?,
        ];
        Ok(DISABLED_SIGNALS.iter().map(one).collect::<Result<Vec<_>, _>>()?.into_iter().chain(bare).collect())
    }
}

fn invalid_variant(text: &str, reason: impl std::fmt::Display) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("The variant `{text}` is not valid: {reason}.")).with_hint(
        "Write it as name:field=value,field=value with settings of the ranking, for example stem_boost=0.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_overridden_one_by_one() {
        let variant = Variant::parse("no path:stem_boost=0, parent_boost=0.5,vectors=off").unwrap();
        assert_eq!((variant.name.as_str(), variant.vectors), ("no path", Vectors::Off));
        assert_eq!(variant.ranking, Ranking { stem_boost: 0.0, parent_boost: 0.5, ..Ranking::default() });
        assert_eq!(Variant::parse("saturation=1").unwrap().name, "saturation=1");
    }

    #[test]
    fn unknown_and_malformed_fields_are_refused() {
        for text in ["x:stem=1", "stem_boost", "stem_boost=high"] {
            assert_eq!(Variant::parse(text).unwrap_err().code, ErrorCode::InvalidRequest, "{text}");
        }
    }

    #[test]
    fn the_ablation_covers_every_signal_that_ships() {
        // Settings that select candidates are not signals of the order.
        let retrieval = ["terms_max", "common_share", "lexical_exact_rows", "dense_weight"];
        let serde_json::Value::Object(fields) = serde_json::to_value(Ranking::default()).unwrap() else {
            panic!("the ranking is an object")
        };
        let listed = |field: &str| {
            let names =
                |settings: &str| settings.split(',').any(|one| one.trim().starts_with(&format!("{field}=")));
            DISABLED_SIGNALS.iter().any(|(_, settings)| names(settings))
        };
        let missing: Vec<&String> =
            fields.keys().filter(|field| !retrieval.contains(&field.as_str()) && !listed(field)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_variant_is_named_after_its_vectors() {
        assert_eq!(Variant::with_vectors("stub").name, "stub");
        let flat = Variant::parse("flat:stem_boost=0").unwrap();
        assert_eq!(flat.without_vectors().name, "words, flat");
        assert_eq!(flat.without_vectors().without_vectors().name, "words, flat");
        assert_eq!(flat.without_vectors().ranking, flat.ranking);
    }

    #[test]
    fn each_part_of_the_ablation_differs_from_what_ships() {
        for variant in Variant::ablation().unwrap() {
            assert!(
                variant.ranking != Ranking::default() || variant.vectors == Vectors::Off,
                "{}",
                variant.name
            );
        }
    }
}
