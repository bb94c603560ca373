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
    /// Whether vectors are used.
    pub vectors: Vectors,
}

/// Names of the ranking's signals with the settings that disable each.
const DISABLED_SIGNALS: &[(&str, &str)] = &[
    ("definitions", "definition_boost=0,embedded_name_boost=0"),
    ("file named after the symbol", "definition_stem_factor=1"),
    ("names in a sentence", "embedded_name_boost=0"),
    ("path", "stem_boost=0,stem_boost_meant=0,parent_boost=0"),
    ("file's name", "stem_boost=0,stem_boost_meant=0"),
    ("directory's name", "parent_boost=0"),
    ("coherence of files", "coherence_boost=0"),
    ("saturation of files", "saturation=1"),
    (
        "roles",
        "test_factor=1,example_factor=1,compat_factor=1,stub_factor=1,reexport_factor=1,prose_factor=1,\
         platform_factor=1",
    ),
    ("shape of symbols", "dense_weight_symbol=0.5"),
];

impl Variant {
    /// The default ranking.
    #[must_use]
    pub fn shipped() -> Self {
        Self { name: "shipped".to_owned(), ranking: Ranking::default(), vectors: Vectors::Auto }
    }

    /// The default ranking without vectors.
    #[must_use]
    pub fn lexical_only() -> Self {
        Self { name: "words".to_owned(), vectors: Vectors::Off, ..Self::shipped() }
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
        let flat = "definition_boost=0,embedded_name_boost=0,stem_boost=0,stem_boost_meant=0,parent_boost=0,coherence_boost=0,\
                    saturation=1,test_factor=1,example_factor=1,compat_factor=1,stub_factor=1,reexport_factor=1,prose_factor=1,\
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
    fn what_is_no_field_is_refused() {
        for text in ["x:stem=1", "stem_boost", "stem_boost=high"] {
            assert_eq!(Variant::parse(text).unwrap_err().code, ErrorCode::InvalidRequest, "{text}");
        }
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
