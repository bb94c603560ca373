//! Two bulkheads, so that index runs cannot starve questions and neither can pile up without bound; within each, principals
//! share the places.

mod line;
mod seat;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use contract::Refusal;
use contract::config;
use line::{Arrival, Line, Ticket, Who};
use tenancy::Principal;

pub use seat::Seat;

/// The queue that admits a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulkhead {
    /// Questions.
    Search,
    /// Index runs and administration.
    Index,
    /// Answers at once, even under load.
    None,
}

/// The queues of one server.
pub struct Queues {
    search: Arc<Queue>,
    index: Arc<Queue>,
}

/// The one place where calls wait; [`Line`] decides.
struct Queue {
    state: Mutex<State>,
    places: usize,
    waiting_max: usize,
    wait: Duration,
}

struct State {
    line: Line,
    /// How the calls that wait are told.
    told: HashMap<Ticket, oneshot::Sender<Turn>>,
}

/// What a call that waits is told.
#[derive(Debug)]
enum Turn {
    /// It has a place.
    Comes,
    /// Its room to wait is another principal's now.
    Displaced,
}

/// Permission to run, given back on drop.
pub struct Admission(Option<Place>);

/// A place of a queue.
struct Place {
    queue: Arc<Queue>,
    who: Who,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.with(|state| {
            let begun = state.line.end(&self.who);
            state.tell(begun);
        });
    }
}

/// A call that waits, for exactly as long as this lives, also when its future is dropped.
struct Waiting {
    queue: Arc<Queue>,
    who: Who,
    ticket: Ticket,
    turn: oneshot::Receiver<Turn>,
}

impl Waiting {
    /// The place that it was given, once; None if it was given none.
    fn place(&mut self) -> Option<Place> {
        let comes = matches!(self.turn.try_recv(), Ok(Turn::Comes));
        comes.then(|| Place { queue: Arc::clone(&self.queue), who: self.who.clone() })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let waited = self.queue.with(|state| {
            state.told.remove(&self.ticket);
            state.line.leave(&self.who, self.ticket)
        });
        if !waited {
            // Its turn may have come just now: the place goes to the next one.
            drop(self.place());
        }
    }
}

impl Queues {
    /// Queues of the configured sizes.
    #[must_use]
    pub fn new(settings: &config::Queue) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let running = if settings.search_running == 0 { 2 * cores } else { settings.search_running };
        Self {
            search: Queue::new(running, settings.search_waiting_max, settings.search_wait_ms),
            index: Queue::new(settings.index_running, settings.index_waiting_max, settings.index_wait_ms),
        }
    }

    /// How many run and how many wait: searches, then index calls.
    #[must_use]
    pub fn load(&self) -> [(usize, usize); 2] {
        [&self.search, &self.index]
            .map(|queue| queue.with(|state| (state.line.running(), state.line.waiting())))
    }

    /// Waits for a place, for at most `queue.search_wait_ms` or `queue.index_wait_ms`. Dropping the future gives the
    /// place in the queue up.
    ///
    /// # Errors
    /// [`Refusal::QueueOverloaded`] at once when too many calls wait already, of this principal or in all, when a principal
    /// with fewer calls needs the room to wait, or when the wait is over.
    pub async fn admit(&self, bulkhead: Bulkhead, principal: &Principal) -> Result<Admission, Refusal> {
        self.admit_telling(bulkhead, principal, |_| ()).await
    }

    /// The same; a call that has to wait is told once how many others wait.
    ///
    /// # Errors
    /// As [`Queues::admit`].
    pub async fn admit_telling(
        &self,
        bulkhead: Bulkhead,
        principal: &Principal,
        waits: impl FnOnce(usize),
    ) -> Result<Admission, Refusal> {
        let queue = match bulkhead {
            Bulkhead::None => return Ok(Admission(None)),
            Bulkhead::Search => &self.search,
            Bulkhead::Index => &self.index,
        };
        let who = Who::from(principal);
        let place = queue.place(&who, |line| line.arrive(&who), waits).await?;
        Ok(Admission(Some(place)))
    }
}

impl Queue {
    fn new(places: usize, waiting_max: usize, wait_ms: u64) -> Arc<Self> {
        let state = State { line: Line::new(places, waiting_max), told: HashMap::new() };
        Arc::new(Self { state: Mutex::new(state), places, waiting_max, wait: Duration::from_millis(wait_ms) })
    }

    /// A place for a call that comes as `arrives` says.
    async fn place(
        self: &Arc<Self>,
        who: &Who,
        arrives: impl FnOnce(&mut Line) -> Arrival,
        waits: impl FnOnce(usize),
    ) -> Result<Place, Refusal> {
        let entered = self.with(|state| match arrives(&mut state.line) {
            Arrival::Runs => Ok(None),
            Arrival::Refused => Err(self.overloaded(&state.line)),
            Arrival::Waits { ticket, before, displaced } => {
                if let Some(sender) = displaced.and_then(|ticket| state.told.remove(&ticket)) {
                    // It may have left just now.
                    let _ = sender.send(Turn::Displaced);
                }
                let (sender, turn) = oneshot::channel();
                state.told.insert(ticket, sender);
                Ok(Some((Waiting { queue: Arc::clone(self), who: who.clone(), ticket, turn }, before)))
            }
        });
        let Some((mut waiting, before)) = entered? else {
            return Ok(Place { queue: Arc::clone(self), who: who.clone() });
        };
        waits(before);
        match tokio::time::timeout(self.wait, &mut waiting.turn).await {
            Ok(Ok(Turn::Comes)) => Ok(Place { queue: Arc::clone(self), who: who.clone() }),
            _ => Err(self.with(|state| self.overloaded(&state.line))),
        }
    }

    fn overloaded(&self, line: &Line) -> Refusal {
        Refusal::QueueOverloaded {
            max: self.places + self.waiting_max,
            size: line.running() + line.waiting(),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Tells calls that their turn has come.
    fn tell(&mut self, begun: Vec<Ticket>) {
        for ticket in begun {
            if let Some(sender) = self.told.remove(&ticket) {
                // Who leaves takes its ticket out under the same lock first, and finds its turn there.
                let _ = sender.send(Turn::Comes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn admit(queue: &Arc<Queue>, who: &Who) -> Result<Place, Refusal> {
        queue.place(who, |line| line.arrive(who), |_| ()).await
    }

    fn load(queue: &Queue) -> (usize, usize) {
        queue.with(|state| (state.line.running(), state.line.waiting()))
    }

    fn local() -> Who {
        Who::from(&Principal::local())
    }

    fn key(id: &str) -> Who {
        Who { id: id.into(), is_local: false }
    }

    #[tokio::test]
    async fn refuses_when_full_and_recovers() {
        let queue = Queue::new(1, 1, 20);
        let first = admit(&queue, &local()).await.unwrap();
        let (who, other) = (local(), local());
        let (second, third) = tokio::join!(admit(&queue, &who), admit(&queue, &other));
        assert!(matches!(second, Err(Refusal::QueueOverloaded { max: 2, .. })), "waited in vain");
        assert!(matches!(third, Err(Refusal::QueueOverloaded { size: 2, .. })), "no place to wait");
        drop(first);
        assert!(admit(&queue, &local()).await.is_ok());
        assert_eq!(load(&queue), (0, 0));
        assert!(queue.with(|state| state.told.is_empty()));
    }

    #[tokio::test]
    async fn who_leaves_when_its_turn_has_come_passes_it_on() {
        let queue = Queue::new(1, 4, 60_000);
        let first = admit(&queue, &local()).await.unwrap();
        let (who, other) = (key("a"), key("b"));
        let mut leaves = Box::pin(admit(&queue, &who));
        assert!(futures::poll!(&mut leaves).is_pending());
        let mut stays = Box::pin(admit(&queue, &other));
        assert!(futures::poll!(&mut stays).is_pending());
        drop(first);
        drop(leaves);
        assert!(stays.await.is_ok());
        assert_eq!(load(&queue), (0, 0));
    }

    #[tokio::test]
    async fn a_greedy_principal_makes_room_for_a_modest_one() {
        let queue = Queue::new(1, 4, 60_000);
        let held = admit(&queue, &local()).await.unwrap();
        let (greedy, modest) = (key("greedy"), key("modest"));
        let mut waits: Vec<_> = (0..3).map(|_| Box::pin(admit(&queue, &greedy))).collect();
        for wait in &mut waits {
            assert!(futures::poll!(wait).is_pending());
        }
        assert!(admit(&queue, &greedy).await.is_err(), "it has its share");
        let (third, fourth) = (local(), modest.clone());
        let mut last = Box::pin(admit(&queue, &third));
        assert!(futures::poll!(&mut last).is_pending());
        let mut comes = Box::pin(admit(&queue, &fourth));
        assert!(futures::poll!(&mut comes).is_pending(), "the queue was full, and it waits");
        assert!(waits.pop().unwrap().await.is_err(), "the newest of the greedy one");
        drop(held);
        drop((last, waits));
        assert!(comes.await.is_ok());
        assert_eq!(load(&queue), (0, 0));
    }
}
