//! The running calls of one session, which `$/cancelRequest` finds by request id, as a number or a string.
//!
//! rmcp handles `notifications/cancelled` itself and then drops the answer; see `cancellation_ids` for its ids.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// The running calls of one session. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<Vec<RunningCall>>>);

#[derive(Debug)]
struct RunningCall {
    id: String,
    cancel: CancellationToken,
}

/// The registration of a running call; dropping it removes the call from the list.
pub(super) struct CallRegistration {
    calls: InFlight,
    cancel: CancellationToken,
}

impl InFlight {
    /// Registers a call. Its token fires with rmcp's `stop` token, and on a cancellation by id.
    pub(super) fn register(&self, id: &RequestId, stop: &CancellationToken) -> CallRegistration {
        let cancel = stop.child_token();
        self.with(|calls| calls.push(RunningCall { id: canonical(id), cancel: cancel.clone() }));
        CallRegistration { calls: self.clone(), cancel }
    }

    /// Cancels every running call with this id. Ignores an unknown id, as the protocol requires.
    pub(super) fn cancel(&self, id: &RequestId) {
        let id = canonical(id);
        self.with(|calls| calls.iter().filter(|call| call.id == id).for_each(|call| call.cancel.cancel()));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Vec<RunningCall>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallRegistration {
    /// Returns the token that fires when the client cancels this call.
    pub(super) fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        // The cancelled token marks this entry, because several entries may have the same id.
        self.cancel.cancel();
        self.calls.with(|calls| calls.retain(|call| !call.cancel.is_cancelled()));
    }
}

/// Returns the id as a string, so that 7 and "7" are equal.
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
