//! The pending requests of one session. A second request with the id of a pending one is refused, because the answers would be
//! indistinguishable and one request would wait forever.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// The ids of the pending requests; clones refer to the same session.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingRequests(Arc<Mutex<HashSet<RequestId>>>);

impl PendingRequests {
    /// Adds a request; returns `false` if one with its id is pending.
    pub(super) fn begin(&self, id: &RequestId) -> bool {
        self.with(|ids| ids.insert(id.clone()))
    }

    /// Removes a request that was answered or never passed on.
    pub(super) fn end(&self, id: &RequestId) {
        self.with(|ids| ids.remove(id));
    }

    /// Removes the request that an outgoing message answers.
    fn on_sent(&self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(answer) => self.end(&answer.id),
            JsonRpcMessage::Error(failed) => {
                if let Some(id) = &failed.id {
                    self.end(id);
                }
            }
            _ => {}
        }
    }

    /// Removes the request that an incoming message cancels, because it will not be answered.
    fn on_received(&self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.end(id);
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashSet<RequestId>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A transport that tracks which requests are answered or cancelled.
pub(super) struct PendingTransport<T> {
    inner: T,
    pending: PendingRequests,
}

impl<T> PendingTransport<T> {
    /// Wraps `inner`; tracks requests in `pending`.
    pub(super) fn new(inner: T, pending: PendingRequests) -> Self {
        Self { inner, pending }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for PendingTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.pending.on_sent(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await?;
        self.pending.on_received(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn client(message: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn an_id_is_free_again_once_it_is_answered_or_cancelled() {
        let pending = PendingRequests::default();
        let (number, text) = (RequestId::Number(7), RequestId::String("7".into()));
        assert!(pending.begin(&number) && !pending.begin(&number));
        assert!(pending.begin(&text), "the answer to a text has the text");
        pending.on_sent(&serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 7, "result": {} })).unwrap());
        assert!(pending.begin(&number) && !pending.begin(&text));
        let error = json!({ "jsonrpc": "2.0", "id": "7", "error": { "code": -32600, "message": "no" } });
        pending.on_sent(&serde_json::from_value(error).unwrap());
        assert!(pending.begin(&text));
        pending.on_received(&client(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }),
        ));
        assert!(pending.begin(&number));
        pending.on_received(&client(json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" })));
        assert!(!pending.begin(&number));
    }
}
