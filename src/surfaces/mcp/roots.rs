//! The folders that a client on stdin has open (its roots): asked for once, and again when the client says that they changed.

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

/// Longest wait of a call for the client's answer. The answer counts when it comes later, for the calls after it.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Longest time until the client's answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Roots that are looked at; an editor has a handful.
const ROOTS_MAX: usize = 1000;
/// Scheme of the only roots that the protocol knows.
const SCHEME: &str = "file://";

/// What is known of one client's roots.
#[derive(Debug)]
pub(super) struct Roots {
    /// Counts the changes that the client told of.
    changes: AtomicU64,
    /// The change after which the client was asked last, 0 for never; changes count from 1.
    asked: AtomicU64,
    /// The answer, and at which change it was asked for.
    told: watch::Sender<(u64, Vec<PathBuf>)>,
    /// The change for which a call waited in vain, so that no other does.
    late: AtomicU64,
}

impl Default for Roots {
    fn default() -> Self {
        Self { changes: 1.into(), asked: 0.into(), told: watch::Sender::default(), late: 0.into() }
    }
}

impl Roots {
    /// The roots, from the client if they are not known yet. Calls that come meanwhile wait for the same answer. Empty for a
    /// client that has none, and as long as one does not answer.
    pub(super) async fn of(self: &Arc<Self>, client: &Peer<RoleServer>) -> Vec<PathBuf> {
        if client.peer_info().is_none_or(|info| info.capabilities.roots.is_none()) {
            return Vec::new();
        }
        let change = self.changes.load(Ordering::Acquire);
        if self.asked.swap(change, Ordering::AcqRel) != change {
            let (roots, client) = (Arc::clone(self), client.clone());
            tokio::spawn(async move { roots.learn(change, &client).await });
        }
        let mut told = self.told.subscribe();
        let known = told.wait_for(|(at, _)| *at >= change);
        let wait = if self.late.load(Ordering::Acquire) == change { Duration::ZERO } else { WAIT_MAX };
        match tokio::time::timeout(wait, known).await {
            Ok(Ok(known)) => known.1.clone(),
            _ => {
                self.late.store(change, Ordering::Release);
                Vec::new()
            }
        }
    }

    /// Asks the client and keeps its answer, unless a later one is there.
    async fn learn(&self, change: u64, client: &Peer<RoleServer>) {
        let roots = match ask(client).await {
            Some(uris) => {
                if uris.len() > ROOTS_MAX {
                    tracing::warn!(
                        roots = uris.len(),
                        most = ROOTS_MAX,
                        "a client has more roots than are looked at"
                    );
                }
                uris.iter().take(ROOTS_MAX).filter_map(|uri| folder(uri)).collect()
            }
            None => {
                tracing::debug!("the client did not tell its roots");
                Vec::new()
            }
        };
        self.told.send_if_modified(|told| {
            let newer = told.0 < change;
            if newer {
                *told = (change, roots);
            }
            newer
        });
    }

    /// Notes that the client's roots are others now.
    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// A transport that notes changes of the roots as they arrive: the call that comes next must know of them, and rmcp handles
/// notifications beside later requests.
pub(super) struct Noting<T> {
    inner: T,
    roots: Arc<Roots>,
}

impl<T> Noting<T> {
    /// `inner`, whose changes are noted in `roots`.
    pub(super) fn new(inner: T, roots: Arc<Roots>) -> Self {
        Self { inner, roots }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Noting<T> {
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
            self.roots.changed();
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// The URIs of the client's roots.
#[expect(deprecated, reason = "a later revision of the protocol drops roots; clients of ours have them")]
async fn ask(client: &Peer<RoleServer>) -> Option<Vec<String>> {
    let answer = tokio::time::timeout(ANSWER_MAX, client.list_roots()).await.ok()?.ok()?;
    Some(answer.roots.into_iter().map(|root| root.uri).collect())
}

/// The folder of a `file` URI on this machine.
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
