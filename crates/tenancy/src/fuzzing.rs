//! What fuzzing drives here: access tokens with the keys that an issuer publishes, and session configurations.

use super::resolve;
use contract::ProjectId;

pub use super::oauth::fuzzing::{token, tokens};

/// Session configurations to begin with.
pub fn sessions() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"project_id": "client-a"}"#,
        r#"{"search": {}, "project_id": null}"#,
        r#"{"project_id": "A\u0000"}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// A session configuration: an id that is taken is one of a project, in the form of ids.
pub fn session(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(Some(named)) = resolve::named_project(text) else { return };
    if let Ok(id) = ProjectId::parse(&named) {
        assert_eq!(id.as_str(), named);
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(named.len() <= 50 && named.bytes().all(plain), "{named:?}");
    }
}
