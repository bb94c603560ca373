//! Cancels a call whatever JSON type its id has: 7 and "7" are one id.
//!
//! rmcp compares ids with their type, so `"22"` would not cancel `22`. Every `notifications/cancelled` is
//! therefore handed on twice, once in each type, before rmcp sees it.

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// The same cancellation with the id in the other JSON type, if `message` is one and its id has another form.
pub(super) fn twin(message: &ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
    let JsonRpcMessage::Notification(notification) = message else { return None };
    let ClientNotification::CancelledNotification(cancelled) = &notification.notification else {
        return None;
    };
    let other = match cancelled.params.request_id.as_ref()? {
        RequestId::Number(number) => RequestId::String(number.to_string().into()),
        RequestId::String(text) => RequestId::Number(text.parse().ok()?),
    };
    let mut twin = notification.clone();
    if let ClientNotification::CancelledNotification(cancelled) = &mut twin.notification {
        cancelled.params = CancelledNotificationParam::new(Some(other), cancelled.params.reason.clone());
    }
    Some(JsonRpcMessage::Notification(twin))
}

/// A transport whose cancellations come twice.
pub(super) struct Twinned<T> {
    inner: T,
    pending: Option<RxJsonRpcMessage<RoleServer>>,
}

impl<T> Twinned<T> {
    /// `inner`, with twins.
    pub(super) fn new(inner: T) -> Self {
        Self { inner, pending: None }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Twinned<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let Some(pending) = self.pending.take() {
            return Some(pending);
        }
        let message = self.inner.receive().await?;
        self.pending = twin(&message);
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

    fn twin_of(id: Value) -> Option<Value> {
        let message =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        let twin = twin(&serde_json::from_value(message).unwrap())?;
        Some(serde_json::to_value(twin).unwrap()["params"]["requestId"].clone())
    }

    #[test]
    fn each_type_has_its_twin() {
        assert_eq!(twin_of(json!(22)), Some(json!("22")));
        assert_eq!(twin_of(json!("22")), Some(json!(22)));
        assert_eq!(twin_of(json!(0)), Some(json!("0")));
        assert_eq!(twin_of(json!("call-a")), None, "no number has this form");
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert!(twin(&serde_json::from_value(ping).unwrap()).is_none());
    }
}
