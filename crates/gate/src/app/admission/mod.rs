//! Admission: queues with a limited number of slots, so that index runs and launch runs cannot starve searches and none can pile
//! up without bound. Within each queue, principals share the slots fairly.

mod call_slot;
mod fair_queue;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use contract::Refusal;
use contract::config;
use fair_queue::{Arrival, FairQueue, Requester, Ticket};
use tenancy::Principal;

pub use call_slot::CallSlot;

/// The queue that admits a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulkhead {
    /// Searches and other reads.
    Search,
    /// Calls that write to a project: index runs, triage, instructions, portable files, bootstrap and cleaning.
    Index,
    /// Calls that advance launch runs.
    Launch,
    /// No queue: the call never waits for a slot, even under load.
    None,
}

/// The queues of one server.
pub struct Queues {
    search: Arc<Queue>,
    index: Arc<Queue>,
    launch: Arc<Queue>,
}

/// Lets calls wait for a slot; [`FairQueue`] decides which call gets one.
struct Queue {
    state: Mutex<QueueState>,
    slots: usize,
    waiting_max: usize,
    wait: Duration,
}

struct QueueState {
    calls: FairQueue,
    /// The channel that notifies each waiting call.
    notify: HashMap<Ticket, oneshot::Sender<Notice>>,
}

/// The notification that ends the wait of a call.
#[derive(Debug)]
enum Notice {
    /// The call has a slot.
    SlotGranted,
    /// A call of another principal took its position in the queue.
    Displaced,
}

/// Permission to run; dropping it frees the slot.
pub struct Admission(Option<Slot>);

/// A slot of a queue, freed on drop.
struct Slot {
    queue: Arc<Queue>,
    requester: Requester,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.queue.with_state(|state| {
            let started = state.calls.finish(&self.requester);
            state.notify_started(started);
        });
    }
}

/// A waiting call. Dropping it takes the call out of the queue, even if the future that waits is dropped.
struct WaitingCall {
    queue: Arc<Queue>,
    requester: Requester,
    ticket: Ticket,
    notice: oneshot::Receiver<Notice>,
}

impl WaitingCall {
    /// The slot that was granted but not taken yet, if any.
    fn granted_slot(&mut self) -> Option<Slot> {
        let granted = matches!(self.notice.try_recv(), Ok(Notice::SlotGranted));
        granted.then(|| Slot { queue: Arc::clone(&self.queue), requester: self.requester.clone() })
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let was_waiting = self.queue.with_state(|state| {
            state.notify.remove(&self.ticket);
            state.calls.leave(&self.requester, self.ticket)
        });
        if !was_waiting {
            // It may have been granted a slot just now: dropping the slot passes it on to the next call.
            drop(self.granted_slot());
        }
    }
}

impl Queues {
    /// Queues of the configured sizes; `queue.search_running = 0` means two slots for each core.
    #[must_use]
    pub fn new(settings: &config::Queue) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let running = if settings.search_running == 0 { 2 * cores } else { settings.search_running };
        Self {
            search: Queue::new(running, settings.search_waiting_max, settings.search_wait_ms),
            index: Queue::new(settings.index_running, settings.index_waiting_max, settings.index_wait_ms),
            launch: Queue::new(settings.launch_running, settings.launch_waiting_max, settings.launch_wait_ms),
        }
    }

    /// Numbers of running and waiting calls: of the search queue, then of the index queue.
    #[must_use]
    pub fn load(&self) -> [(usize, usize); 2] {
        [&self.search, &self.index]
            .map(|queue| queue.with_state(|state| (state.calls.running(), state.calls.waiting())))
    }

    /// Waits for a slot, for at most `queue.search_wait_ms`, `queue.index_wait_ms` or `queue.launch_wait_ms`. Dropping the future
    /// leaves the queue.
    ///
    /// # Errors
    /// [`Refusal::QueueOverloaded`]: at once if too many calls wait already, of this principal or in total; later if the
    /// call of a principal with fewer calls took its position in the queue, or if the wait was too long.
    pub async fn admit(&self, bulkhead: Bulkhead, principal: &Principal) -> Result<Admission, Refusal> {
        self.admit_with_notice(bulkhead, principal, |_| ()).await
    }

    /// Like [`Queues::admit`]; if the call has to wait, `on_wait` is called once with the number of other waiting calls.
    ///
    /// # Errors
    /// As [`Queues::admit`].
    pub async fn admit_with_notice(
        &self,
        bulkhead: Bulkhead,
        principal: &Principal,
        on_wait: impl FnOnce(usize),
    ) -> Result<Admission, Refusal> {
        let queue = match bulkhead {
            Bulkhead::None => return Ok(Admission(None)),
            Bulkhead::Search => &self.search,
            Bulkhead::Index => &self.index,
            Bulkhead::Launch => &self.launch,
        };
        let requester = Requester::from(principal);
        let slot = queue.acquire(&requester, |calls| calls.arrive(&requester), on_wait).await?;
        Ok(Admission(Some(slot)))
    }
}

impl Queues {
    /// Admits an index run that no call waits for. It counts as waiting for its principal until it gets a slot with
    /// [`CallSlot::resume`].
    ///
    /// # Errors
    /// [`Refusal::QueueOverloaded`] if the principal has too many waiting calls.
    pub fn admit_background_run(&self, principal: &Principal) -> Result<CallSlot, Refusal> {
        let (queue, requester) = (&self.index, Requester::from(principal));
        queue.with_state(|state| match state.calls.arrive_parked(&requester) {
            true => Ok(()),
            false => Err(queue.overloaded(&state.calls)),
        })?;
        Ok(CallSlot::parked(Arc::clone(queue), requester))
    }
}

impl Queue {
    fn new(slots: usize, waiting_max: usize, wait_ms: u64) -> Arc<Self> {
        let state = QueueState { calls: FairQueue::new(slots, waiting_max), notify: HashMap::new() };
        Arc::new(Self { state: Mutex::new(state), slots, waiting_max, wait: Duration::from_millis(wait_ms) })
    }

    /// Enters the queue with `enter` and waits for a slot.
    async fn acquire(
        self: &Arc<Self>,
        requester: &Requester,
        enter: impl FnOnce(&mut FairQueue) -> Arrival,
        on_wait: impl FnOnce(usize),
    ) -> Result<Slot, Refusal> {
        let slot = || Slot { queue: Arc::clone(self), requester: requester.clone() };
        let entered = self.with_state(|state| match enter(&mut state.calls) {
            Arrival::Started => Ok(None),
            Arrival::Refused => Err(self.overloaded(&state.calls)),
            Arrival::Waits { ticket, others, displaced } => {
                if let Some(sender) = displaced.and_then(|ticket| state.notify.remove(&ticket)) {
                    // Fails if that call has just left.
                    let _ = sender.send(Notice::Displaced);
                }
                let (sender, notice) = oneshot::channel();
                state.notify.insert(ticket, sender);
                let (queue, requester) = (Arc::clone(self), requester.clone());
                Ok(Some((WaitingCall { queue, requester, ticket, notice }, others)))
            }
        });
        let Some((mut waiting, others)) = entered? else { return Ok(slot()) };
        on_wait(others);
        match tokio::time::timeout(self.wait, &mut waiting.notice).await {
            Ok(Ok(Notice::SlotGranted)) => Ok(slot()),
            _ => Err(self.with_state(|state| self.overloaded(&state.calls))),
        }
    }

    fn overloaded(&self, calls: &FairQueue) -> Refusal {
        Refusal::QueueOverloaded {
            max: self.slots + self.waiting_max,
            size: calls.running() + calls.waiting(),
        }
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut QueueState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl QueueState {
    /// Notifies waiting calls that they have a slot.
    fn notify_started(&mut self, started: Vec<Ticket>) {
        for ticket in started {
            if let Some(sender) = self.notify.remove(&ticket) {
                // A call that leaves removes its ticket under the same lock and then finds the notice in its channel.
                let _ = sender.send(Notice::SlotGranted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn admit(queue: &Arc<Queue>, requester: &Requester) -> Result<Slot, Refusal> {
        queue.acquire(requester, |calls| calls.arrive(requester), |_| ()).await
    }

    fn load(queue: &Queue) -> (usize, usize) {
        queue.with_state(|state| (state.calls.running(), state.calls.waiting()))
    }

    fn local() -> Requester {
        Requester::from(&Principal::local())
    }

    fn key(id: &str) -> Requester {
        Requester { id: id.into(), is_local: false }
    }

    #[tokio::test]
    async fn refuses_when_full_and_recovers() {
        let queue = Queue::new(1, 1, 20);
        let first = admit(&queue, &local()).await.unwrap();
        let (one, other) = (local(), local());
        let (second, third) = tokio::join!(admit(&queue, &one), admit(&queue, &other));
        assert!(matches!(second, Err(Refusal::QueueOverloaded { max: 2, .. })), "the wait ended");
        assert!(matches!(third, Err(Refusal::QueueOverloaded { size: 2, .. })), "the queue is full");
        drop(first);
        assert!(admit(&queue, &local()).await.is_ok());
        assert_eq!(load(&queue), (0, 0));
        assert!(queue.with_state(|state| state.notify.is_empty()));
    }

    #[tokio::test]
    async fn a_call_that_leaves_passes_on_its_slot() {
        let queue = Queue::new(1, 4, 60_000);
        let first = admit(&queue, &local()).await.unwrap();
        let (one, other) = (key("a"), key("b"));
        let mut leaves = Box::pin(admit(&queue, &one));
        assert!(futures::poll!(&mut leaves).is_pending());
        let mut stays = Box::pin(admit(&queue, &other));
        assert!(futures::poll!(&mut stays).is_pending());
        drop(first);
        drop(leaves);
        assert!(stays.await.is_ok());
        assert_eq!(load(&queue), (0, 0));
    }

    #[tokio::test]
    async fn a_call_of_a_greedy_principal_is_displaced_by_a_modest_one() {
        let queue = Queue::new(1, 4, 60_000);
        let held = admit(&queue, &local()).await.unwrap();
        let (greedy, modest) = (key("greedy"), key("modest"));
        let mut waits: Vec<_> = (0..3).map(|_| Box::pin(admit(&queue, &greedy))).collect();
        for wait in &mut waits {
            assert!(futures::poll!(wait).is_pending());
        }
        assert!(admit(&queue, &greedy).await.is_err(), "it may not have more waiting calls");
        let (third, fourth) = (local(), modest.clone());
        let mut last = Box::pin(admit(&queue, &third));
        assert!(futures::poll!(&mut last).is_pending());
        let mut admitted = Box::pin(admit(&queue, &fourth));
        assert!(futures::poll!(&mut admitted).is_pending(), "it waits although the queue was full");
        assert!(waits.pop().unwrap().await.is_err(), "the newest call of the greedy principal was displaced");
        drop(held);
        drop((last, waits));
        assert!(admitted.await.is_ok());
        assert_eq!(load(&queue), (0, 0));
    }
}
