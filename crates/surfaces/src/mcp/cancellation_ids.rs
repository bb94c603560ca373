//! Cancels calls regardless of the JSON type of the id: 7 and "7" mean the same request.
//!
//! rmcp compares ids including their type, so `"22"` would not cancel `22`. Every `notifications/cancelled` is therefore passed to
//! rmcp twice, once with each type.

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// Returns the same cancellation with the id in the other JSON type; `None` if `message` is not a cancellation or its id has no
/// other form.
pub(super) fn with_other_id_type(message: &ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
    let JsonRpcMessage::Notification(notification) = message else { return None };
    let ClientNotification::CancelledNotification(cancelled) = &notification.notification else {
        return None;
    };
    let other = match cancelled.params.request_id.as_ref()? {
        RequestId::Number(number) => RequestId::String(number.to_string().into()),
        RequestId::String(text) => RequestId::Number(text.parse().ok()?),
    };
    let mut converted = notification.clone();
    if let ClientNotification::CancelledNotification(cancelled) = &mut converted.notification {
        cancelled.params = CancelledNotificationParam::new(Some(other), cancelled.params.reason.clone());
    }
    Some(JsonRpcMessage::Notification(converted))
}

/// A transport that delivers each cancellation with both id types.
pub(super) struct CancelBothIdTypes<T> {
    inner: T,
    pending: Option<RxJsonRpcMessage<RoleServer>>,
}

impl<T> CancelBothIdTypes<T> {
    /// Wraps `inner`.
    pub(super) fn new(inner: T) -> Self {
        Self { inner, pending: None }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for CancelBothIdTypes<T> {
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
        self.pending = with_other_id_type(&message);
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
        let twin = with_other_id_type(&serde_json::from_value(message).unwrap())?;
        Some(serde_json::to_value(twin).unwrap()["params"]["requestId"].clone())
    }

    #[test]
    fn each_id_type_has_a_counterpart() {
        assert_eq!(twin_of(json!(22)), Some(json!("22")));
        assert_eq!(twin_of(json!("22")), Some(json!(22)));
        assert_eq!(twin_of(json!(0)), Some(json!("0")));
        assert_eq!(twin_of(json!("call-a")), None, "no number has this form");
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert!(with_other_id_type(&serde_json::from_value(ping).unwrap()).is_none());
    }
}
