//! The roots (open folders) of a client on stdio: requested once, and again after the client reports a change.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rmcp::model::{ClientNotification, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;

/// The time that a call waits for the client's answer. A later answer counts for subsequent calls.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Timeout of the request to the client.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of roots; further ones are ignored.
const ROOTS_MAX: usize = 1000;
/// The only scheme that the protocol allows for roots.
const SCHEME: &str = "file://";

/// The roots of one client.
#[derive(Debug)]
pub(super) struct Roots {
    /// Number of the latest change, counted from 1.
    changes: AtomicU64,
    /// The change for which the client was last asked; 0 for never.
    requested: AtomicU64,
    /// The latest answer and the change that it belongs to.
    answer: watch::Sender<(u64, Vec<PathBuf>)>,
    /// The change for which a call timed out, so that no other call waits for it.
    timed_out: AtomicU64,
}

impl Default for Roots {
    fn default() -> Self {
        Self { changes: 1.into(), requested: 0.into(), answer: watch::Sender::default(), timed_out: 0.into() }
    }
}

impl Roots {
    /// Returns the client's current roots. Requests them if necessary; concurrent calls share one request. Empty if the client
    /// does not support roots or has not answered in time.
    pub(super) async fn current(self: &Arc<Self>, client: &Peer<RoleServer>) -> Vec<PathBuf> {
        if client.peer_info().is_none_or(|info| info.capabilities.roots.is_none()) {
            return Vec::new();
        }
        let change = self.changes.load(Ordering::Acquire);
        if self.requested.swap(change, Ordering::AcqRel) != change {
            let (roots, client) = (Arc::clone(self), client.clone());
            tokio::spawn(async move { roots.request_and_store(change, &client).await });
        }
        let mut answer = self.answer.subscribe();
        let known = answer.wait_for(|(at, _)| *at >= change);
        let wait = if self.timed_out.load(Ordering::Acquire) == change { Duration::ZERO } else { WAIT_MAX };
        match tokio::time::timeout(wait, known).await {
            Ok(Ok(known)) => known.1.clone(),
            _ => {
                self.timed_out.store(change, Ordering::Release);
                Vec::new()
            }
        }
    }

    /// Requests the roots and stores the answer, unless a later one has arrived.
    async fn request_and_store(&self, change: u64, client: &Peer<RoleServer>) {
        let roots = match request_roots(client).await {
            Some(uris) => {
                if uris.len() > ROOTS_MAX {
                    tracing::warn!(
                        roots = uris.len(),
                        most = ROOTS_MAX,
                        "a client has too many roots; the rest is ignored"
                    );
                }
                uris.iter().take(ROOTS_MAX).filter_map(|uri| folder(uri)).collect()
            }
            None => {
                tracing::debug!("the client did not answer the request for its roots");
                Vec::new()
            }
        };
        self.answer.send_if_modified(|latest| {
            let newer = latest.0 < change;
            if newer {
                *latest = (change, roots);
            }
            newer
        });
    }

    /// Records that the client's roots changed.
    fn record_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// A transport that records changes of the roots when they are received. rmcp handles notifications concurrently with later requests,
/// so its handler could run after the next call.
pub(super) struct RootsTransport<T> {
    inner: T,
    roots: Arc<Roots>,
}

impl<T> RootsTransport<T> {
    /// Wraps `inner`; records changes in `roots`.
    pub(super) fn new(inner: T, roots: Arc<Roots>) -> Self {
        Self { inner, roots }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for RootsTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await?;
        if let JsonRpcMessage::Notification(notification) = &message
            && matches!(notification.notification, ClientNotification::RootsListChangedNotification(_))
        {
            self.roots.record_change();
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Requests the URIs of the client's roots.
#[expect(deprecated, reason = "a later revision of the protocol drops roots; clients of ours have them")]
async fn request_roots(client: &Peer<RoleServer>) -> Option<Vec<String>> {
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, client.list_roots()).await.ok()?.ok()?;
    Some(answer.roots.into_iter().map(|root| root.uri).collect())
}

/// Returns the path of a local `file` URI.
fn folder(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_at_checked(SCHEME.len())?;
    let (host, _) = rest.split_once('/')?;
    if !scheme.eq_ignore_ascii_case(SCHEME) || !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        return None;
    }
    let path = percent_decode_str(&rest[host.len()..]).decode_utf8().ok()?;
    (!path.contains('\0')).then(|| PathBuf::from(path.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_folders_of_this_machine() {
        let path = |uri| folder(uri).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(path("file:///home/me/my%20shop").as_deref(), Some("/home/me/my shop"));
        assert_eq!(path("FILE://localhost/srv").as_deref(), Some("/srv"));
        for other in
            ["", "file:", "file://", "file://other/srv", "https://a/b", "file:///a%00b", "file:///%ff"]
        {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
