//! Requests that identify their sender without passing the gate of calls: sign-ins, refused credentials and webhooks. Each is
//! audited, and those of unknown senders count for their address, so that none can fill the audit log or try keys without limit.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;

use super::request_parts::{ConnectionAddresses, RequestId};
use contract::Fault;
use gate::app::{App, Entrance};
use tenancy::{Keyring, Principal};

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// A form, or the answer of an issuer, with a key or token.
    SignIn,
    /// A key or token with a request.
    Credential,
    /// A message of a git host.
    Webhook,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::Credential => "credential",
            Self::Webhook => "webhook",
        }
    }
}

/// The sender of a request, before its credential is checked.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    address: Option<IpAddr>,
    request_id: String,
}

impl Sender {
    /// The sender of the request with these extensions.
    pub(super) fn of(extensions: &Extensions) -> Self {
        let addresses = extensions.get::<ConnectionAddresses>();
        let address = addresses.map(|addresses| addresses.peer.ip().to_canonical());
        Self { address, request_id: extensions.get::<RequestId>().cloned().unwrap_or_default().0 }
    }

    /// Records that a sender was accepted.
    ///
    /// # Errors
    /// `RATE_LIMITED` if the principal made too many calls; nothing is recorded then.
    pub(super) fn accepted(&self, app: &App, action: Action, principal: &Principal) -> Result<(), Fault> {
        let admitted = app.limits.admit(principal, app.clock.instant());
        let outcome = admitted.as_ref().map_or_else(|refusal| refusal.code().as_str(), |()| "ok");
        self.audit(app, action, &principal.id, &principal.name, outcome);
        admitted.map_err(|refusal| {
            app.metrics.record_refusal(outcome);
            refusal.to_fault()
        })
    }

    /// Records that a sender was refused who claims to be `claimed`. Returns the fault to answer with: `fault`, or `RATE_LIMITED`
    /// if too many requests from this address were refused. The latter are no longer recorded.
    pub(super) fn refused(&self, app: &App, action: Action, claimed: &str, fault: Fault) -> Fault {
        if let Some(address) = self.address
            && let Err(refusal) = app.limits.admit_unknown(address, app.clock.instant())
        {
            app.metrics.record_refusal(refusal.code().as_str());
            return refusal.to_fault();
        }
        self.audit(app, action, &Principal::unauthenticated().id, claimed, fault.code.as_str());
        fault
    }

    /// Records a message of a host that knows the secret of this server.
    pub(super) fn delivered(&self, app: &App, about: &str) {
        self.audit(app, Action::Webhook, Action::Webhook.as_str(), about, "ok");
    }

    fn audit(&self, app: &App, action: Action, principal: &str, name: &str, outcome: &'static str) {
        let name = match self.address {
            Some(address) => format!("{name} from {address}"),
            None => name.to_owned(),
        };
        let (action, request_id) = (action.as_str(), self.request_id.as_str());
        app.audit_entrance(Entrance { principal, name, action, outcome, request_id });
    }
}

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// Returns whom a refused credential claims to be: the public part of a key, else only the kind.
pub(super) fn claimed(credential: Option<&str>) -> String {
    match credential {
        Some(credential) => Keyring::public_id(credential).unwrap_or_else(|| "a token".to_owned()),
        None => "malformed credentials".to_owned(),
    }
}
