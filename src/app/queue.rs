//! Two bulkheads, so that index runs cannot starve questions and neither can pile up without bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config;
use crate::contract::Refusal;

/// The queue that admits a tool (serving.md: two bulkheads).
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
    wait: Option<Duration>,
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
            search: Queue::new(running, settings.search_waiting_max, Some(settings.search_wait_ms)),
            index: Queue::new(settings.index_running, settings.index_waiting_max, None),
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

    /// Waits for a place.
    ///
    /// # Errors
    /// [`Refusal::QueueOverloaded`] at once when too many wait already, or when the wait is over.
    pub async fn admit(&self, bulkhead: Bulkhead) -> Result<Admission, Refusal> {
        match bulkhead {
            Bulkhead::None => Ok(Admission { _permit: None }),
            Bulkhead::Search => self.search.admit().await,
            Bulkhead::Index => self.index.admit().await,
        }
    }
}

impl Queue {
    fn new(running_max: usize, waiting_max: usize, wait_ms: Option<u64>) -> Self {
        Self {
            running: Arc::new(Semaphore::new(running_max)),
            running_max,
            waiting: Arc::default(),
            waiting_max,
            wait: wait_ms.map(Duration::from_millis),
        }
    }

    async fn admit(&self) -> Result<Admission, Refusal> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Admission { _permit: Some(permit) });
        }
        let before = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(Arc::clone(&self.waiting));
        if before >= self.waiting_max {
            return Err(self.overloaded(before));
        }
        let acquire = Arc::clone(&self.running).acquire_owned();
        let permit = match self.wait {
            None => acquire.await.ok(),
            Some(wait) => tokio::time::timeout(wait, acquire).await.ok().and_then(Result::ok),
        };
        match permit {
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
        let queue = Queue::new(1, 1, Some(20));
        let first = queue.admit().await.unwrap();
        let (second, third) = tokio::join!(queue.admit(), queue.admit());
        assert!(matches!(second, Err(Refusal::QueueOverloaded { max: 2, .. })), "waited in vain");
        assert!(matches!(third, Err(Refusal::QueueOverloaded { size: 2, .. })), "no place to wait");
        drop(first);
        assert!(queue.admit().await.is_ok());
        assert_eq!(queue.waiting.load(Ordering::Acquire), 0);
    }
}
