//! The slot of a running call. While the call only waits for the run of another call, others can use its slot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Admission, Queue, Slot};
use crate::app::admission::fair_queue::Requester;

/// The slot of a call. Cheap to clone; all clones belong to one call.
#[derive(Clone, Default)]
pub struct CallSlot(Arc<SharedSlot>);

#[derive(Default)]
struct SharedSlot {
    state: Mutex<SlotState>,
    /// `true` if the call's work continues after the call is answered: without the slot, but counted as parked.
    outlives_call: AtomicBool,
}

#[derive(Default)]
enum SlotState {
    /// The call needs no slot, has ended, or is asking for a slot again ([`CallSlot::resume`]).
    #[default]
    None,
    Held(Slot),
    Parked(ParkedCall),
}

/// A call that released its slot for a while. It still counts towards the waiting calls of its principal.
struct ParkedCall {
    queue: Arc<Queue>,
    requester: Requester,
    /// True once the call has asked for a slot again, which ends its parking.
    resumed: bool,
}

impl Drop for ParkedCall {
    fn drop(&mut self) {
        if !self.resumed {
            self.queue.with_state(|state| state.calls.remove_parked(&self.requester));
        }
    }
}

/// A parked call that asks for a slot. It is parked again if the wait ends without one, even if the future that waits is dropped.
struct Resuming<'a> {
    call: &'a CallSlot,
    parked: Option<ParkedCall>,
}

impl Drop for Resuming<'_> {
    fn drop(&mut self) {
        let Some(mut parked) = self.parked.take() else { return };
        parked.queue.with_state(|state| state.calls.add_parked(&parked.requester));
        parked.resumed = false;
        self.call.with_state(|state| *state = SlotState::Parked(parked));
    }
}

impl CallSlot {
    /// The slot that a call was admitted to.
    #[must_use]
    pub fn new(Admission(slot): Admission) -> Self {
        Self::with(slot.map_or(SlotState::None, SlotState::Held))
    }

    /// The slot of work that was admitted without one and waits for it.
    pub(super) fn parked(queue: Arc<Queue>, requester: Requester) -> Self {
        Self::with(SlotState::Parked(ParkedCall { queue, requester, resumed: false }))
    }

    /// Parks the call for good, although it is answered: its work, which goes on without a slot, counts towards the waiting calls
    /// of its principal until the last clone is dropped.
    pub fn outlive_call(&self) {
        self.park();
        self.0.outlives_call.store(true, Ordering::Release);
    }

    /// Releases the slot while the call waits for work that is done elsewhere.
    pub fn park(&self) {
        self.with_state(|state| {
            *state = match std::mem::take(state) {
                SlotState::Held(slot) => SlotState::Parked(slot.park()),
                other => other,
            }
        });
    }

    /// Waits until the call has a slot again if it was parked. The call cannot be refused, because it counted towards its
    /// principal's limit all the time. Dropping the future ends the wait.
    pub async fn resume(&self) {
        loop {
            let Some(mut parked) = self.with_state(|state| match std::mem::take(state) {
                SlotState::Parked(parked) => Some(parked),
                other => {
                    *state = other;
                    None
                }
            }) else {
                return;
            };
            parked.resumed = true;
            let (queue, requester) = (Arc::clone(&parked.queue), parked.requester.clone());
            let mut resuming = Resuming { call: self, parked: Some(parked) };
            match queue.acquire(&requester, |calls| calls.resume_parked(&requester), |_| ()).await {
                Ok(slot) => {
                    resuming.parked = None;
                    return self.with_state(|state| *state = SlotState::Held(slot));
                }
                // It was displaced, or waited too long: it is parked and waits again.
                Err(_) => {
                    drop(resuming);
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Releases the slot because the call has been answered, unless it [outlives](Self::outlive_call) the call.
    pub fn release(&self) {
        if !self.0.outlives_call.load(Ordering::Acquire) {
            drop(self.with_state(std::mem::take));
        }
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut SlotState) -> T) -> T {
        act(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with(state: SlotState) -> Self {
        Self(Arc::new(SharedSlot { state: Mutex::new(state), outlives_call: AtomicBool::new(false) }))
    }
}

impl Slot {
    /// Frees the slot, but keeps counting the call.
    fn park(self) -> ParkedCall {
        // Counted as parked before the slot is freed, so that the call is counted at every moment.
        self.queue.with_state(|state| state.calls.add_parked(&self.requester));
        ParkedCall { queue: Arc::clone(&self.queue), requester: self.requester.clone(), resumed: false }
    }
}
