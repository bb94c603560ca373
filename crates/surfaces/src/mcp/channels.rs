//! rmcp's `Transport` over two channels: parsed messages come in, serialised answers go out.

use std::io;

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::message::{MessageDisposition, RefusedMessage, admit, duplicate_id};
use super::pending_requests::PendingRequests;
use super::wire;
use gate::tools::Toolbox;

/// Capacity of each channel; a client that does not read blocks only its own session.
pub(super) const CHANNEL_CAPACITY: usize = 64;

/// The transport of one session.
pub(super) struct ChannelTransport {
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    outgoing: mpsc::Sender<String>,
    tools: &'static Toolbox,
    open: bool,
    pending: PendingRequests,
}

impl ChannelTransport {
    /// Creates a session that is not initialised yet.
    pub(super) fn new(
        incoming: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
        outgoing: mpsc::Sender<String>,
        tools: &'static Toolbox,
    ) -> Self {
        Self { incoming, outgoing, tools, open: false, pending: PendingRequests::default() }
    }

    /// Returns the session's pending requests.
    pub(super) fn pending(&self) -> PendingRequests {
        self.pending.clone()
    }

    fn refuse(&self, refused: &RefusedMessage) {
        // rmcp may drop a `receive` future at any await, so a separate task sends the answer.
        let (outgoing, answer) = (self.outgoing.clone(), refused.answer().to_string());
        tokio::spawn(async move { outgoing.send(answer).await });
    }
}

impl Transport<RoleServer> for ChannelTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let text = serde_json::to_string(&wire::with_error_code(item))?;
            outgoing.send(text).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.incoming.recv().await?;
            let admission = admit(&message, self.open, self.tools);
            if let (MessageDisposition::Passes | MessageDisposition::Opens, JsonRpcMessage::Request(request)) =
                (&admission, &message)
                && !self.pending.begin(&request.id)
            {
                self.refuse(&duplicate_id(&request.id));
                continue;
            }
            match admission {
                MessageDisposition::Passes => return Some(message),
                MessageDisposition::Opens => {
                    self.open = true;
                    return Some(message);
                }
                MessageDisposition::Ignored => tracing::debug!("a message before `initialize` is ignored"),
                MessageDisposition::Refused(refused) => self.refuse(&refused),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::message;
    use super::super::pending_requests::PendingTransport;
    use super::*;
    use crate::modules::TEST_MODULES;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn a_second_request_with_the_id_of_an_open_one_is_refused() {
        let ((inbox, incoming), (outgoing, mut outbox)) = (mpsc::channel(8), mpsc::channel(8));
        let channels = ChannelTransport::new(incoming, outgoing, TEST_MODULES.gate().tools());
        let pending = channels.pending();
        let mut session = PendingTransport::new(channels, pending);
        let say = async |sent: Value| {
            let sent = message::parse_message(sent.to_string().as_bytes(), TEST_MODULES.gate().tools())
                .unwrap()
                .unwrap();
            inbox.send(sent).await.unwrap();
        };
        let list = || json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" });
        say(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }))
        .await;
        for sent in [list(), list(), json!({ "jsonrpc": "2.0", "id": 6, "method": "ping" })] {
            say(sent).await;
        }
        let mut heard = Vec::new();
        for _ in 0..3 {
            let Some(JsonRpcMessage::Request(request)) = session.receive().await else { panic!() };
            heard.push(request.id.to_string());
        }
        assert_eq!(heard, ["0", "5", "6"]);
        let refused: Value = serde_json::from_str(&outbox.recv().await.unwrap()).unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5), &json!(-32600)), "{refused}");
        let answer = serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 5, "result": {} })).unwrap();
        session.send(answer).await.unwrap();
        say(list()).await;
        assert!(
            matches!(session.receive().await, Some(JsonRpcMessage::Request(_))),
            "answered, its id is free"
        );
    }
}
