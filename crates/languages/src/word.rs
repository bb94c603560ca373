//! Words of a closed set, kinds of definitions and reasons, as serde carries them between processes: as text, and taken only
//! if known.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use super::query::KINDS;

/// Serde would borrow a plain `&'static str` from what it reads.
pub(super) type Word = &'static str;

/// Words that are no kinds of definitions: the chunk that defines nothing, and why a file has no tree or no facts.
const OTHERS: &[&str] = &[
    "block",
    "no_grammar",
    "too_large",
    "hazard",
    "parse_timeout",
    "parse_failed",
    "bad_query",
    "bad_grammar",
    "facts_timeout",
    "too_many_facts",
];

fn known<E: Error>(word: &str) -> Result<&'static str, E> {
    let found = KINDS.iter().chain(OTHERS).find(|known| **known == word);
    found.copied().ok_or_else(|| E::custom("a word that is not known here"))
}

pub(super) fn serialize<S: Serializer>(word: &&'static str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    known(<&str>::deserialize(from)?)
}

/// The same where there may be none.
pub(super) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(word: &Option<&'static str>, to: S) -> Result<S::Ok, S::Error> {
        word.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'static str>, D::Error> {
        Option::<&str>::deserialize(from)?.map(super::known).transpose()
    }
}
