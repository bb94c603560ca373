//! Fuzz targets: access tokens with the keys of an issuer, and session configurations.

use super::resolve;
use contract::ProjectId;

pub use super::oauth::fuzzing::{fuzz_token, token_seeds};

/// Seeds: session configurations.
pub fn session_seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"project_id": "client-a"}"#,
        r#"{"search": {}, "project_id": null}"#,
        r#"{"project_id": "A\u0000"}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Checks that a project id that is accepted from a session configuration is well-formed.
pub fn fuzz_session(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(Some(project)) = resolve::project_in(text) else { return };
    if let Ok(id) = ProjectId::parse(&project) {
        assert_eq!(id.as_str(), project);
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(project.len() <= 50 && project.bytes().all(is_allowed), "{project:?}");
    }
}
