//! The slot of a running call. While the call only waits for the run of another call, others can use its slot.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Admission, Queue, Slot};
use crate::app::admission::fair_queue::Requester;

/// The slot of a call. Cheap to clone; all clones belong to one call.
#[derive(Clone, Default)]
pub struct CallSlot(Arc<Mutex<SlotState>>);

#[derive(Default)]
enum SlotState {
    /// The call needs no slot, or has ended.
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

impl CallSlot {
    /// The slot that a call was admitted to.
    #[must_use]
    pub fn new(Admission(slot): Admission) -> Self {
        Self(Arc::new(Mutex::new(slot.map_or(SlotState::None, SlotState::Held))))
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
            match queue.acquire(&requester, |calls| calls.resume_parked(&requester), |_| ()).await {
                Ok(slot) => return self.with_state(|state| *state = SlotState::Held(slot)),
                // It was displaced, or waited too long: it waits again.
                Err(_) => {
                    queue.with_state(|state| state.calls.add_parked(&requester));
                    self.with_state(|state| {
                        *state = SlotState::Parked(ParkedCall { queue, requester, resumed: false });
                    });
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Releases the slot for good: the call has been answered, even if a part of its work goes on.
    pub fn release(&self) {
        drop(self.with_state(std::mem::take));
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut SlotState) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
