//! Builds the principal from the claims of a verified token.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::token_error::TokenError;
use crate::{Principal, Projects, Scope};
use contract::ProjectId;

/// Longest subject, in characters; the limit of OpenID Connect.
const SUBJECT_CHARS_MAX: usize = 255;
/// Prefix that authorization servers with several services add to scopes.
const SCOPE_PREFIX: &str = "pairofcleats:";

/// Builds the principal from claims whose signature and validity were checked.
pub(super) fn principal(
    claims: &Map<String, Value>,
    issuer: &str,
    projects_claim: &str,
    scopes_claim: &str,
) -> Result<Principal, TokenError> {
    let loggable = |claim: &str| claims.get(claim).and_then(Value::as_str).filter(|text| is_loggable(text));
    let subject = loggable("sub").ok_or_else(|| TokenError::Claim("sub".to_owned()))?;
    let name = loggable("client_id").or_else(|| loggable("azp")).unwrap_or(subject);
    Ok(Principal {
        id: format!("oauth:{issuer}#{subject}"),
        name: name.to_owned(),
        projects: projects(&words(claims.get(projects_claim))),
        scopes: scopes(&words(claims.get(scopes_claim))),
        calls_per_minute: None,
        roots: None,
        is_local: false,
    })
}

/// Returns `true` if a name may be written to logs and the audit table.
fn is_loggable(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= SUBJECT_CHARS_MAX && !text.contains(char::is_control)
}

fn projects(words: &[&str]) -> Projects {
    if words.contains(&"*") {
        return Projects::All;
    }
    Projects::Only(words.iter().filter_map(|word| ProjectId::parse(word).ok()).collect())
}

fn scopes(words: &[&str]) -> BTreeSet<Scope> {
    let names = words.iter().map(|word| word.strip_prefix(SCOPE_PREFIX).unwrap_or(word));
    names.filter_map(Scope::parse).collect()
}

/// The words of a claim: an array, or a text separated by spaces; empty for anything else.
fn words(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(text)) => text.split_whitespace().collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn principal_of(claims: Value) -> Result<Principal, TokenError> {
        principal(claims.as_object().unwrap(), "https://id.example.com", "projects", "scope")
    }

    #[test]
    fn projects_and_scopes_are_read_from_arrays_and_texts() {
        let only =
            |ids: &[&str]| Projects::Only(ids.iter().map(|text| ProjectId::parse(text).unwrap()).collect());
        for (claim, expected) in [
            (json!(["client-a", "b"]), only(&["client-a", "b"])),
            (json!("client-a  b"), only(&["client-a", "b"])),
            (json!(["client-a", "Not_An_Id", 7, ""]), only(&["client-a"])),
            (json!(["*"]), Projects::All),
            (json!("*"), Projects::All),
            (json!("client-*"), only(&[])),
            (json!(null), only(&[])),
            (json!({ "client-a": true }), only(&[])),
            (json!(true), only(&[])),
        ] {
            let principal = principal_of(json!({ "sub": "s", "projects": claim })).unwrap();
            assert_eq!(principal.projects, expected, "{claim}");
        }
        let without_claim = principal_of(json!({ "sub": "s" })).unwrap();
        assert_eq!(without_claim.projects, only(&[]));
        for (claim, expected) in [
            (json!("openid search pairofcleats:index"), vec![Scope::Search, Scope::Index]),
            (json!(["admin", "other:search", "Search"]), vec![Scope::Admin]),
            (json!(["search index"]), vec![]),
            (json!(7), vec![]),
        ] {
            let scopes = principal_of(json!({ "sub": "s", "scope": claim })).unwrap().scopes;
            assert_eq!(scopes.into_iter().collect::<Vec<_>>(), expected, "{claim}");
        }
    }

    #[test]
    fn the_id_is_from_the_subject_and_the_name_from_the_client() {
        let principal = principal_of(json!({ "sub": "u1", "client_id": "ci", "azp": "other" })).unwrap();
        assert_eq!(principal.id, "oauth:https://id.example.com#u1");
        assert_eq!(principal.name, "ci");
        assert!(!principal.is_local);
        assert_eq!(principal_of(json!({ "sub": "u1", "azp": "other" })).unwrap().name, "other");
        assert_eq!(principal_of(json!({ "sub": "u1", "client_id": "a\nb" })).unwrap().name, "u1");
        let long = "x".repeat(256);
        for bad in [json!(""), json!(7), json!(null), json!("a\u{0}b"), json!("a\nb"), json!(long)] {
            assert_eq!(principal_of(json!({ "sub": bad })), Err(TokenError::Claim("sub".into())), "{bad}");
        }
    }
}
