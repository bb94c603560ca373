//! Removes secrets from settings. It recognises them by name and form, so that it also covers settings that are added later.

use serde_json::Value;

/// A setting whose name contains one of these is a secret.
const SECRET_NAMES: [&str; 5] = ["password", "secret", "token", "credential", "tls_key"];
/// Replaces a secret that is set.
const HIDDEN: &str = "(set)";

/// Hides secrets: the values of secret names, and user and password in URLs. Unless `shows_paths`, absolute paths are cut to
/// their last component, because callers on other machines must not learn where files are.
pub(super) fn redact_settings(settings: Value, shows_paths: bool) -> Value {
    match settings {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let secret = SECRET_NAMES.iter().any(|part| name.contains(part)) && value.is_string();
                let value = if secret { HIDDEN.into() } else { redact_settings(value, shows_paths) };
                (name, value)
            })
            .collect(),
        Value::Array(values) => values.into_iter().map(|value| redact_settings(value, shows_paths)).collect(),
        Value::String(text) => Value::String(redact_text(text, shows_paths)),
        other => other,
    }
}

fn redact_text(text: String, shows_paths: bool) -> String {
    if let Some((scheme, rest)) = text.split_once("://") {
        // The query of a URL may contain a password, too, so all of it is dropped.
        let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
        let (host, path) =
            rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
        return match (rest.rfind('@'), host.rsplit_once('@')) {
            (None, _) => format!("{scheme}://{rest}{query}"),
            (Some(_), Some((_, host))) if !path.contains('@') => format!("{scheme}://…@{host}{path}{query}"),
            // The password contains a slash, so the host begins after the last `@`.
            (Some(at), _) => format!("{scheme}://…@{}{query}", &rest[at + 1..]),
        };
    }
    match text.strip_prefix('/') {
        Some(path) if !shows_paths => format!("…/{}", path.rsplit('/').next().unwrap_or_default()),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        let settings = serde_json::json!({
            "database": { "url": "postgres://me:hunter2@db.example:5432/poc?password=hunter2" },
            "odd": ["postgres://me:hun/ter2@db/poc", "http://127.0.0.1:8765", "info,x=warn"],
            "server": { "tls_key": "/etc/keys/hunter2.pem", "tls_certificate": "/etc/keys/chain.pem", "port": 1 },
            "future": { "registry_token": "hunter2", "token_cache_ms": 5 },
        });
        let shown = redact_settings(settings.clone(), false);
        assert!(!shown.to_string().contains("unter2") && !shown.to_string().contains("ter2"), "{shown}");
        assert_eq!(shown["database"]["url"], "postgres://…@db.example:5432/poc?…");
        assert_eq!(shown["odd"][1], "http://127.0.0.1:8765");
        assert_eq!(shown["server"]["tls_certificate"], "…/chain.pem");
        assert_eq!(shown["future"]["token_cache_ms"], 5);
        let local = redact_settings(settings, true);
        assert_eq!(local["server"]["tls_certificate"], "/etc/keys/chain.pem");
        assert_eq!(local["server"]["tls_key"], "(set)");
    }
}
