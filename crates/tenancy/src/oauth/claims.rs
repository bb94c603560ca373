//! What a believed token says about its bearer: who it is, where it may work, what it may do.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::denied::Denied;
use crate::{Principal, Projects, Scope};
use contract::ProjectId;

/// Longest subject; OpenID Connect's own limit.
const SUBJECT_CHARS_MAX: usize = 255;
/// Authorization servers that know several services prefix scopes with the service.
const SCOPE_PREFIX: &str = "pairofcleats:";

/// The principal of claims whose signature and validity were checked.
pub(super) fn principal(
    claims: &Map<String, Value>,
    issuer: &str,
    projects_claim: &str,
    scopes_claim: &str,
) -> Result<Principal, Denied> {
    let readable = |claim: &str| claims.get(claim).and_then(Value::as_str).filter(|text| is_readable(text));
    let subject = readable("sub").ok_or_else(|| Denied::Claim("sub".to_owned()))?;
    let name = readable("client_id").or_else(|| readable("azp")).unwrap_or(subject);
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

/// Names end up in logs and in the audit table.
fn is_readable(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= SUBJECT_CHARS_MAX && !text.contains(char::is_control)
}

fn projects(words: &[&str]) -> Projects {
    if words.contains(&"*") {
        return Projects::All;
    }
    Projects::These(words.iter().filter_map(|word| ProjectId::parse(word).ok()).collect())
}

fn scopes(words: &[&str]) -> BTreeSet<Scope> {
    let bare = words.iter().map(|word| word.strip_prefix(SCOPE_PREFIX).unwrap_or(word));
    bare.filter_map(Scope::parse).collect()
}

/// A list, as an array or as a text with spaces; anything else is an empty one.
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

    fn of(claims: Value) -> Result<Principal, Denied> {
        principal(claims.as_object().unwrap(), "https://id.example.com", "projects", "scope")
    }

    #[test]
    fn projects_and_scopes_come_as_arrays_or_texts() {
        let these =
            |ids: &[&str]| Projects::These(ids.iter().map(|text| ProjectId::parse(text).unwrap()).collect());
        for (claim, expected) in [
            (json!(["client-a", "b"]), these(&["client-a", "b"])),
            (json!("client-a  b"), these(&["client-a", "b"])),
            (json!(["client-a", "Not_An_Id", 7, ""]), these(&["client-a"])),
            (json!(["*"]), Projects::All),
            (json!("*"), Projects::All),
            (json!("client-*"), these(&[])),
            (json!(null), these(&[])),
            (json!({ "client-a": true }), these(&[])),
            (json!(true), these(&[])),
        ] {
            assert_eq!(of(json!({ "sub": "s", "projects": claim })).unwrap().projects, expected, "{claim}");
        }
        assert_eq!(of(json!({ "sub": "s" })).unwrap().projects, these(&[]), "absent is none");
        for (claim, expected) in [
            (json!("openid search pairofcleats:index"), vec![Scope::Search, Scope::Index]),
            (json!(["admin", "other:search", "Search"]), vec![Scope::Admin]),
            (json!(["search index"]), vec![]),
            (json!(7), vec![]),
        ] {
            let scopes = of(json!({ "sub": "s", "scope": claim })).unwrap().scopes;
            assert_eq!(scopes.into_iter().collect::<Vec<_>>(), expected, "{claim}");
        }
    }

    #[test]
    fn the_subject_makes_the_id_and_the_client_the_name() {
        let principal = of(json!({ "sub": "u1", "client_id": "ci", "azp": "other" })).unwrap();
        assert_eq!(principal.id, "oauth:https://id.example.com#u1");
        assert_eq!(principal.name, "ci");
        assert!(!principal.is_local);
        assert_eq!(of(json!({ "sub": "u1", "azp": "other" })).unwrap().name, "other");
        assert_eq!(of(json!({ "sub": "u1", "client_id": "a\nb" })).unwrap().name, "u1");
        let long = "x".repeat(256);
        for bad in [json!(""), json!(7), json!(null), json!("a\u{0}b"), json!("a\nb"), json!(long)] {
            assert_eq!(of(json!({ "sub": bad })), Err(Denied::Claim("sub".into())), "{bad}");
        }
    }
}
