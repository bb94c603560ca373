//! `POST /webhooks/git`: a git host reports a push.
//!
//! The message proves that its sender knows the secret of `git.webhook_secret_file`, and is otherwise only a hint: indexed
//! repositories that it names are fetched from their own address, and only the result of the fetch counts. Supported are the
//! messages of GitHub, GitLab, Gitea, Forgejo and Bitbucket, and `{"url": "…"}` of a custom hook.

use std::path::Path;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::Value;
use sha2::Sha256;

use super::body::json_bytes;
use super::entrances::{Action, Sender};
use super::request_parts::RequestId;
use super::{answer, body};
use contract::{ErrorCode, Fault, RepositoryAddress, parse_unique};
use gate::app::freshness::refresh_pushed;
use gate::app::{App, blocking};
use platform::safe_open::read_secret;

/// The path to which hosts send their messages.
pub(super) const PATH: &str = "/webhooks/git";
/// Maximum number of addresses in a message that are considered.
const ADDRESSES_MAX: usize = 32;
/// Headers with a keyed hash of the body, in order of preference, and the prefix of the hash.
const SIGNATURES: [(&str, &str); 3] =
    [("x-hub-signature-256", "sha256="), ("x-gitea-signature", ""), ("x-hub-signature", "sha256=")];
/// GitLab's header, which contains the secret itself.
const TOKEN: &str = "x-gitlab-token";
/// Objects of messages that describe the repository.
const DESCRIPTIONS: [&str; 3] = ["/repository", "/project", ""];
/// Fields of these objects that contain an address.
const ADDRESS_FIELDS: [&str; 11] = [
    "clone_url", "ssh_url", "git_url", "html_url", "git_http_url", "git_ssh_url", "http_url", "web_url",
    "homepage", "url", "links/html/href",
];

/// The result of `POST /webhooks/git`. It does not reveal what is indexed: hosts of several tenants may know the secret.
#[derive(Serialize)]
struct Received {
    /// The message is signed; the repositories that it names are refreshed if they are indexed.
    received: bool,
}

/// `POST /webhooks/git`.
pub(super) async fn git(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    request: Request,
) -> Response {
    let sender = Sender::of(request.extensions());
    match receive(&app, request).await {
        Ok(pushed) => {
            let about: Vec<&str> = pushed.iter().map(RepositoryAddress::as_str).collect();
            sender.delivered(&app, &about.join(", "));
            refresh_pushed(&app, pushed);
            answer::answered(&app, &Received { received: true }, id)
        }
        Err((_, fault)) if fault.code == ErrorCode::Unauthorized => {
            let (status, fault) = failed(sender.refused(&app, Action::Webhook, "a host", fault));
            answer::refused(&app, status, &fault, &id.0)
        }
        Err((status, fault)) => answer::refused(&app, status, &fault, &id.0),
    }
}

fn failed(fault: Fault) -> body::BodyError {
    let status = StatusCode::from_u16(fault.code.info().http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, fault)
}

/// Returns the addresses that a signed message names.
async fn receive(app: &Arc<App>, request: Request) -> Result<Vec<RepositoryAddress>, body::BodyError> {
    let headers = request.headers().clone();
    let unsigned = || {
        failed(
            Fault::new(ErrorCode::Unauthorized, "The message is not signed with the secret of this server.")
                .with_hint("Configure the same secret at the host, and JSON as the content type."),
        )
    };
    // Checked before the secret and the body are read.
    if !SIGNATURES.iter().map(|(name, _)| *name).chain([TOKEN]).any(|name| headers.contains_key(name)) {
        return Err(unsigned());
    }
    let Some(file) = app.config.git.webhook_secret_file.clone() else {
        return Err(failed(
            Fault::new(ErrorCode::NotFound, "Webhooks are not configured.")
                .with_hint("Set git.webhook_secret_file to a file with the secret that the host signs with."),
        ));
    };
    let secret = blocking(move || secret(&file)).await.map_err(failed)?;
    let body = json_bytes(request, app.config.server.body_bytes_max).await?;
    if !is_signed(&headers, &body, secret.as_bytes()) {
        return Err(unsigned());
    }
    let message = parse_unique(&body).map_err(|_| {
        failed(
            Fault::new(ErrorCode::InvalidRequest, "The message is not one JSON object.")
                .with_hint("Configure JSON as the content type at the host."),
        )
    })?;
    Ok(addresses(&message))
}

fn secret(file: &Path) -> Result<String, Fault> {
    read_secret(file).map_err(|source| {
        Fault::new(ErrorCode::CapabilityMissing, "The secret of webhooks cannot be read.")
            .with_hint("Ask the operator to correct git.webhook_secret_file.")
            .with_source(source)
    })
}

/// Checks whether the message proves that its sender knows the secret. All comparisons take the same time for every guess.
fn is_signed(headers: &HeaderMap, body: &[u8], secret: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Ok(keyed) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    for (name, before) in SIGNATURES {
        if let Some(signature) = text(name).and_then(|value| value.strip_prefix(before)) {
            // Hashes of both kinds have the same length.
            let Ok(signature) = blake3::Hash::from_hex(signature) else { return false };
            return keyed.chain_update(body).verify_slice(signature.as_bytes()).is_ok();
        }
    }
    let Some(token) = text(TOKEN) else { return false };
    // Comparing the keyed hashes of both does not reveal how much of a guess is right.
    let of_secret = keyed.clone().chain_update(secret).finalize().into_bytes();
    keyed.chain_update(token.as_bytes()).verify_slice(&of_secret).is_ok()
}

/// Returns the addresses that a message names.
fn addresses(message: &Value) -> Vec<RepositoryAddress> {
    let described = DESCRIPTIONS.iter().filter_map(|place| message.pointer(place));
    let fields = described.flat_map(|object| {
        ADDRESS_FIELDS.iter().filter_map(|field| object.pointer(&format!("/{field}"))?.as_str())
    });
    let mut found: Vec<RepositoryAddress> =
        fields.filter_map(|text| RepositoryAddress::parse(text)?.ok()).take(ADDRESSES_MAX).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &[u8] = b"It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    /// The example of GitHub's documentation.
    const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn only_messages_that_know_the_secret_are_accepted() {
        let signed = |name, value: &str| is_signed(&headers(name, value), BODY, SECRET);
        assert!(signed("x-hub-signature-256", SIGNATURE));
        assert!(signed("x-gitea-signature", &SIGNATURE[7..]));
        assert!(signed("x-gitlab-token", "It's a Secret to Everybody"));
        assert!(!signed("x-gitlab-token", "It's a Secret to Everybody "));
        assert!(!signed("x-gitlab-token", ""));
        assert!(!signed("x-hub-signature-256", "sha256="));
        assert!(!signed("x-hub-signature-256", &SIGNATURE[..70]));
        assert!(!signed("x-hub-signature-256", &SIGNATURE[7..]));
        assert!(!signed("x-hub-signature", "sha1=0000"));
        assert!(!is_signed(&HeaderMap::new(), BODY, SECRET));
        assert!(!is_signed(&headers("x-hub-signature-256", SIGNATURE), b"Hello, World?", SECRET));
        // A correct token does not make up for a wrong signature.
        let mut both = headers("x-hub-signature-256", "sha256=00");
        both.insert(TOKEN, "It's a Secret to Everybody".parse().unwrap());
        assert!(!is_signed(&both, BODY, SECRET));
    }

    #[test]
    fn the_addresses_of_each_host_are_found() {
        let found = |message: Value| {
            addresses(&message).iter().map(|address| address.as_str().to_owned()).collect::<Vec<_>>()
        };
        let both = ["https://host/acme/shop", "ssh://git@host/acme/shop"];
        let github = json!({ "repository": { "clone_url": "https://host/acme/shop.git", "ssh_url": "git@host:acme/shop.git", "url": 7 } });
        assert_eq!(found(github), both);
        let gitlab = json!({ "project": { "git_http_url": "https://host/acme/shop.git", "git_ssh_url": "git@host:acme/shop.git" } });
        assert_eq!(found(gitlab), both);
        let bitbucket =
            json!({ "repository": { "links": { "html": { "href": "https://host/acme/shop" } } } });
        assert_eq!(found(bitbucket), both[..1]);
        assert_eq!(found(json!({ "url": "https://host/acme/shop" })), both[..1]);
        assert_eq!(found(json!({ "url": "ext::sh -c id", "repository": "x", "project": [1] })), [""; 0]);
    }
}
