//! The running calls of one session, for `$/cancelRequest`: found by request id whatever its JSON type.
//!
//! `notifications/cancelled` is rmcp's to handle, which then drops the answer; see `twin` for its ids.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// The running calls of one session. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<Vec<Entry>>>);

#[derive(Debug)]
struct Entry {
    id: String,
    cancel: CancellationToken,
}

/// Keeps a call on the list; takes it off when dropped.
pub(super) struct Registered {
    calls: InFlight,
    cancel: CancellationToken,
}

impl InFlight {
    /// Notes a call; `stop` is the token that rmcp fires, the answer's token also fires by id.
    pub(super) fn register(&self, id: &RequestId, stop: &CancellationToken) -> Registered {
        let cancel = stop.child_token();
        self.with(|calls| calls.push(Entry { id: canonical(id), cancel: cancel.clone() }));
        Registered { calls: self.clone(), cancel }
    }

    /// Cancels every running call with that id. An unknown id is ignored, as the protocol says.
    pub(super) fn cancel(&self, id: &RequestId) {
        let id = canonical(id);
        self.with(|calls| calls.iter().filter(|call| call.id == id).for_each(|call| call.cancel.cancel()));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Registered {
    /// Fires when the client cancels this call.
    pub(super) fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // Marks the entry as over, so that exactly it is found again, also among equal ids.
        self.cancel.cancel();
        self.calls.with(|calls| calls.retain(|call| !call.cancel.is_cancelled()));
    }
}

/// `String(id)`.
pub(super) fn canonical(id: &RequestId) -> String {
    match id {
        RequestId::Number(number) => number.to_string(),
        RequestId::String(text) => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_text_are_the_same_id() {
        let calls = InFlight::default();
        let stop = CancellationToken::new();
        let call = calls.register(&RequestId::Number(22), &stop);
        calls.cancel(&RequestId::String("23".into()));
        assert!(!call.token().is_cancelled());
        calls.cancel(&RequestId::String("22".into()));
        assert!(call.token().is_cancelled());
        assert!(!stop.is_cancelled(), "rmcp's own token is left alone");
    }

    #[test]
    fn a_finished_call_leaves_the_list() {
        let calls = InFlight::default();
        let stop = CancellationToken::new();
        let (first, second) =
            (calls.register(&RequestId::Number(1), &stop), calls.register(&RequestId::Number(1), &stop));
        drop(first);
        assert_eq!(calls.with(|calls| calls.len()), 1);
        assert!(!second.token().is_cancelled());
        drop(second);
        assert_eq!(calls.with(|calls| calls.len()), 0);
    }
}
