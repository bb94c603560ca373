//! Reads JSON in which no object names a member twice: of two such members, whoever stands before us may read another one
//! than we do.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use contract::echo;

/// Why a text is not taken.
pub(super) enum Unread {
    /// It is no JSON.
    Malformed(serde_json::Error),
    /// It is, but an object names a member twice; what serde says of it.
    Doubled(String),
}

/// Reads one JSON text.
///
/// # Errors
/// [`Unread`].
pub(super) fn read(bytes: &[u8]) -> Result<Value, Unread> {
    serde_json::from_slice::<Once>(bytes).map(|Once(value)| value).map_err(|error| {
        // The only fault that is not of the text itself is ours.
        if error.is_data() { Unread::Doubled(error.to_string()) } else { Unread::Malformed(error) }
    })
}

/// A value of which every object names each member once.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Members).map(Self)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
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
        while let Some(Once(value)) = items.next_element()? {
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
            let Once(value) = members.next_value()?;
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
                matches!(read(text.as_bytes()), Err(Unread::Doubled(why)) if why.contains("`a` twice")),
                "{text}"
            );
        }
        for text in ["", "{", r#"{"a":1,}"#, "1e999", "\u{feff}{}"] {
            assert!(matches!(read(text.as_bytes()), Err(Unread::Malformed(_))), "{text}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(matches!(read(deep.as_bytes()), Err(Unread::Malformed(_))), "as deep as serde_json goes");
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
            prop_assert!(matches!(read(text.as_bytes()), Ok(read) if read == plain));
        }
    }
}
