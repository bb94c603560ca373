//! The requests of one session that are not answered yet, by id. A second one with the id of such a request could not be told
//! from it, and one of the two would wait for ever; so it is refused while the first goes on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// The ids. Cheap to clone; all clones are of one session.
#[derive(Debug, Clone, Default)]
pub(super) struct Unanswered(Arc<Mutex<HashSet<RequestId>>>);

impl Unanswered {
    /// Notes a request; false if one with its id is not answered yet.
    pub(super) fn begin(&self, id: &RequestId) -> bool {
        self.with(|ids| ids.insert(id.clone()))
    }

    /// A request is answered, or was never handed on.
    pub(super) fn end(&self, id: &RequestId) {
        self.with(|ids| ids.remove(id));
    }

    /// What was said to the client.
    fn said(&self, message: &ServerJsonRpcMessage) {
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

    /// What the client said: a request that it cancels is never answered.
    fn heard(&self, message: &ClientJsonRpcMessage) {
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

/// A transport that notes what is answered.
pub(super) struct Noted<T> {
    inner: T,
    unanswered: Unanswered,
}

impl<T> Noted<T> {
    /// `inner`, whose answers are noted in `unanswered`.
    pub(super) fn new(inner: T, unanswered: Unanswered) -> Self {
        Self { inner, unanswered }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Noted<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.unanswered.said(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await?;
        self.unanswered.heard(&message);
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
        let unanswered = Unanswered::default();
        let (number, text) = (RequestId::Number(7), RequestId::String("7".into()));
        assert!(unanswered.begin(&number) && !unanswered.begin(&number));
        assert!(unanswered.begin(&text), "the answer to a text has the text");
        unanswered.said(&serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 7, "result": {} })).unwrap());
        assert!(unanswered.begin(&number) && !unanswered.begin(&text));
        let error = json!({ "jsonrpc": "2.0", "id": "7", "error": { "code": -32600, "message": "no" } });
        unanswered.said(&serde_json::from_value(error).unwrap());
        assert!(unanswered.begin(&text));
        unanswered.heard(&client(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }),
        ));
        assert!(unanswered.begin(&number));
        unanswered.heard(&client(json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" })));
        assert!(!unanswered.begin(&number));
    }
}
