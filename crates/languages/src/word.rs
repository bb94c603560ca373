//! Serialises `&'static str` values of a closed set (kinds of definitions, and reasons) between processes as text; only known values are
//! accepted.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// An alias, because serde's derive would borrow a field of the type `&'static str` from its input.
pub(super) type Word = &'static str;

/// Kinds of definition a query may name (`@definition.<kind>`). `impl` adds to a type and defines nothing itself.
pub(super) const KINDS: &[&str] = &[
    "function", "method", "class", "struct", "interface", "trait", "enum", "impl", "module", "type",
    "variable", "section",
];

/// Other words: the kind of a chunk without definitions, and the reasons why a file has no tree or no facts.
const OTHERS: &[&str] = &[
    "block", "no_grammar", "too_large", "hazard", "parse_timeout", "parse_failed", "bad_query",
    "bad_grammar", "facts_timeout", "too_many_facts",
];

fn known<E: Error>(word: &str) -> Result<&'static str, E> {
    let found = KINDS.iter().chain(OTHERS).find(|known| **known == word);
    found.copied().ok_or_else(|| E::custom("an unknown word"))
}

pub(super) fn serialize<S: Serializer>(word: &&'static str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    known(<&str>::deserialize(from)?)
}

/// The same for optional words.
pub(super) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(word: &Option<&'static str>, to: S) -> Result<S::Ok, S::Error> {
        word.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'static str>, D::Error> {
        Option::<&str>::deserialize(from)?.map(super::known).transpose()
    }
}
