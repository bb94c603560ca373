//! Two bulkheads, so that index runs cannot starve questions and neither can pile up without bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use contract::Refusal;
use contract::config;

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
    search: Queue,
    index: Queue,
}

struct Queue {
    running: Arc<Semaphore>,
    running_max: usize,
    waiting: Arc<AtomicUsize>,
    waiting_max: usize,
    wait: Duration,
}

/// Permission to run, given back on drop.
pub struct Admission {
    _permit: Option<OwnedSemaphorePermit>,
}

/// Counts a caller as waiting for exactly as long as it waits, also when its future is dropped.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
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
        [&self.search, &self.index].map(|queue| {
            let running = queue.running_max - queue.running.available_permits();
            (running, queue.waiting.load(Ordering::Acquire))
        })
    }

    /// Waits for a place, for at most `queue.search_wait_ms` or `queue.index_wait_ms`. Dropping the future gives the
    /// place in the queue up.
    ///
    /// # Errors
    /// [`Refusal::QueueOverloaded`] at once when too many wait already, or when the wait is over.
    pub async fn admit(&self, bulkhead: Bulkhead) -> Result<Admission, Refusal> {
        self.admit_telling(bulkhead, |_| ()).await
    }

    /// The same; a call that has to wait is told once how many wait before it.
    ///
    /// # Errors
    /// As [`Queues::admit`].
    pub async fn admit_telling(
        &self,
        bulkhead: Bulkhead,
        waits: impl FnOnce(usize),
    ) -> Result<Admission, Refusal> {
        match bulkhead {
            Bulkhead::None => Ok(Admission { _permit: None }),
            Bulkhead::Search => self.search.admit(waits).await,
            Bulkhead::Index => self.index.admit(waits).await,
        }
    }
}

impl Queue {
    fn new(running_max: usize, waiting_max: usize, wait_ms: u64) -> Self {
        Self {
            running: Arc::new(Semaphore::new(running_max)),
            running_max,
            waiting: Arc::default(),
            waiting_max,
            wait: Duration::from_millis(wait_ms),
        }
    }

    async fn admit(&self, waits: impl FnOnce(usize)) -> Result<Admission, Refusal> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Admission { _permit: Some(permit) });
        }
        let before = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(Arc::clone(&self.waiting));
        if before >= self.waiting_max {
            return Err(self.overloaded(before));
        }
        waits(before);
        let acquire = Arc::clone(&self.running).acquire_owned();
        match tokio::time::timeout(self.wait, acquire).await.ok().and_then(Result::ok) {
            Some(permit) => Ok(Admission { _permit: Some(permit) }),
            None => Err(self.overloaded(before)),
        }
    }

    fn overloaded(&self, waiting: usize) -> Refusal {
        Refusal::QueueOverloaded {
            max: self.running_max + self.waiting_max,
            size: self.running_max + waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refuses_when_full_and_recovers() {
        let queue = Queue::new(1, 1, 20);
        let first = queue.admit(|_| ()).await.unwrap();
        let (second, third) = tokio::join!(queue.admit(|_| ()), queue.admit(|_| ()));
        assert!(matches!(second, Err(Refusal::QueueOverloaded { max: 2, .. })), "waited in vain");
        assert!(matches!(third, Err(Refusal::QueueOverloaded { size: 2, .. })), "no place to wait");
        drop(first);
        assert!(queue.admit(|_| ()).await.is_ok());
        assert_eq!(queue.waiting.load(Ordering::Acquire), 0);
    }
}
