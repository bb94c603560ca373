//! Reads query strings, in which each name may occur only once: a proxy in front could use a different value than this server does.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde_json::{Map, Value};

use contract::{ErrorCode, Fault, echo};

/// A query string as axum extracts it, with all its parameters.
pub type SentQuery = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// Returns the parameters by name. A repeated name is refused, even with an equal value.
///
/// # Errors
/// `INVALID_REQUEST`.
pub fn unique_parameters(sent: SentQuery) -> Result<BTreeMap<String, String>, Fault> {
    let Query(sent) =
        sent.map_err(|rejection| Fault::new(ErrorCode::InvalidRequest, rejection.body_text()))?;
    let mut parameters = BTreeMap::new();
    for (name, value) in sent {
        if parameters.contains_key(&name) {
            let message = format!("The query has the parameter `{}` more than once.", echo(&name));
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint("Send each parameter once."));
        }
        parameters.insert(name, value);
    }
    Ok(parameters)
}

/// Converts the parameters to arguments of a tool. Where its input schema requires a number or a boolean, a text that represents
/// one is converted; any other text is kept, and the gate reports the error.
#[must_use]
pub fn typed_arguments(parameters: BTreeMap<String, String>, input: &Map<String, Value>) -> Value {
    let typed = |(name, text): (String, String)| {
        let kind = input.get("properties").and_then(|fields| fields[&name]["type"].as_str());
        let value = match kind {
            Some("integer") => text.parse::<i64>().ok().map(Value::from),
            Some("boolean") => text.parse::<bool>().ok().map(Value::from),
            _ => None,
        };
        (name, value.unwrap_or(Value::String(text)))
    };
    Value::Object(parameters.into_iter().map(typed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Uri;
    use serde_json::json;

    fn read(query: &str) -> Result<BTreeMap<String, String>, Fault> {
        let uri: Uri = format!("/status?{query}").parse().unwrap();
        unique_parameters(Query::try_from_uri(&uri))
    }

    #[test]
    fn a_parameter_named_twice_is_refused_however_it_is_written() {
        let parameters = read("project_id=pa&repoPath=%2Fsrc+x").unwrap();
        assert_eq!((parameters["project_id"].as_str(), parameters["repoPath"].as_str()), ("pa", "/src x"));
        assert!(read("").unwrap().is_empty());
        for query in ["project_id=pa&project_id=pb", "a=1&b=2&a=1", "a&a", "project_id=pa&project%5Fid=pb"] {
            let fault = read(query).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{query}");
            assert!(fault.message.contains("more than once"), "{query}: {}", fault.message);
        }
    }

    #[test]
    fn texts_become_what_the_schema_demands() {
        let input = json!({ "properties": {
            "limit": { "type": "integer" }, "deep": { "type": "boolean" }, "category": { "type": "string" } } });
        let typed = |query: &str| typed_arguments(read(query).unwrap(), input.as_object().unwrap());
        assert_eq!(
            typed("limit=10&deep=true&category=7&odd=1"),
            json!({ "category": "7", "deep": true, "limit": 10, "odd": "1" })
        );
        assert_eq!(
            typed("limit=1.5&deep=yes&category="),
            json!({ "category": "", "deep": "yes", "limit": "1.5" })
        );
    }
}
