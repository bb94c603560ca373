//! A session between two channels: messages that somebody reads for it come in, answers go out as text.

use std::io;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::message::{Admission, admit};
use super::wire;

/// Messages that wait on their way in or out; a client that does not read holds only itself up.
pub(super) const WAITING_MAX: usize = 64;

/// rmcp's view of a session.
pub(super) struct Channels {
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    outgoing: mpsc::Sender<String>,
    open: bool,
}

impl Channels {
    /// A session that begins with the next message.
    pub(super) fn new(
        incoming: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
        outgoing: mpsc::Sender<String>,
    ) -> Self {
        Self { incoming, outgoing, open: false }
    }
}

impl Transport<RoleServer> for Channels {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let text = serde_json::to_string(&wire::completed(item))?;
            outgoing.send(text).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.incoming.recv().await?;
            match admit(&message, self.open) {
                Admission::Passes => return Some(message),
                Admission::Opens => {
                    self.open = true;
                    return Some(message);
                }
                Admission::Ignored => tracing::debug!("a message before `initialize` is ignored"),
                Admission::Refused(refused) => {
                    // rmcp may drop this future at any await; a task of its own keeps the answer.
                    let (outgoing, answer) = (self.outgoing.clone(), refused.answer().to_string());
                    tokio::spawn(async move { outgoing.send(answer).await });
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}
