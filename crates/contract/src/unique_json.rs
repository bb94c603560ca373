//! Parses JSON and rejects objects with duplicate members: a proxy in front, or a person who reviews a file, could use a different
//! duplicate than this server does.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::echo;

/// The reason why a text is rejected.
#[derive(Debug)]
pub enum JsonRejection {
    /// It is not valid JSON.
    Malformed(serde_json::Error),
    /// An object has a duplicate member, which the text names.
    DuplicateMember(String),
}

impl fmt::Display for JsonRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::DuplicateMember(which) => f.write_str(which),
        }
    }
}

/// Parses one JSON text.
///
/// # Errors
/// The reason why it is rejected.
pub fn parse_unique(bytes: &[u8]) -> Result<Value, JsonRejection> {
    serde_json::from_slice::<UniqueValue>(bytes).map(|UniqueValue(value)| value).map_err(|error| {
        // Any JSON matches our type, so the only data error is the one that the visitor raises.
        if error.is_data() {
            JsonRejection::DuplicateMember(error.to_string())
        } else {
            JsonRejection::Malformed(error)
        }
    })
}

/// A JSON value without duplicate members.
struct UniqueValue(Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueValueVisitor).map(Self)
    }
}

struct UniqueValueVisitor;

impl<'de> Visitor<'de> for UniqueValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueValue(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format_args!(
                    "an object has the member `{}` twice",
                    echo(&name)
                )));
            }
            let UniqueValue(value) = members.next_value()?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_member_named_twice_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"\u0061":3}}]"#] {
            assert!(
                matches!(parse_unique(text.as_bytes()), Err(JsonRejection::DuplicateMember(why)) if why.contains("`a` twice")),
                "{text}"
            );
        }
        for text in ["", "{", r#"{"a":1,}"#, "1e999", "\u{feff}{}"] {
            assert!(matches!(parse_unique(text.as_bytes()), Err(JsonRejection::Malformed(_))), "{text}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(
            matches!(parse_unique(deep.as_bytes()), Err(JsonRejection::Malformed(_))),
            "as deep as serde_json goes"
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn everything_else_is_read_as_serde_json_reads_it(value in any_json()) {
            let text = value.to_string();
            let plain: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(matches!(parse_unique(text.as_bytes()), Ok(read) if read == plain));
        }
    }
}
