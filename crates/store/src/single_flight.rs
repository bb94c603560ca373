//! Single flight: at most one task of this process at a time works on a key; the others wait and then check again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// Locks by key. A lock is dropped when no task holds it or waits for it.
#[derive(Default)]
pub(crate) struct SingleFlight {
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// Holds the lock of a key until dropped.
pub(crate) struct Flight {
    flights: Arc<SingleFlight>,
    key: String,
    guard: Option<OwnedMutexGuard<()>>,
}

impl SingleFlight {
    /// Waits for the lock of `key`.
    pub(crate) async fn enter(self: &Arc<Self>, key: &str) -> Flight {
        let lock = Arc::clone(
            self.locks.lock().unwrap_or_else(PoisonError::into_inner).entry(key.to_owned()).or_default(),
        );
        // Created before waiting, so that a cancelled wait removes the entry as well.
        let mut flight = Flight { flights: Arc::clone(self), key: key.to_owned(), guard: None };
        flight.guard = Some(lock.lock_owned().await);
        flight
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut locks = self.flights.locks.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the map's lock, no other task can clone the lock between the check and the removal.
        drop(self.guard.take());
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_task_at_a_time_and_no_locks_remain() {
        let flights = Arc::new(SingleFlight::default());
        let running = Arc::new(Mutex::new(0));
        let tasks = (0..50).map(|_| {
            let (flights, running) = (Arc::clone(&flights), Arc::clone(&running));
            tokio::spawn(async move {
                let _flight = flights.enter("a").await;
                *running.lock().unwrap() += 1;
                tokio::task::yield_now().await;
                assert_eq!(*running.lock().unwrap(), 1);
                *running.lock().unwrap() -= 1;
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert!(flights.locks.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_cancelled_wait_leaves_no_lock() {
        let flights = Arc::new(SingleFlight::default());
        let held = flights.enter("a").await;
        let waiting = Arc::clone(&flights);
        let waiter = tokio::spawn(async move { waiting.enter("a").await });
        tokio::task::yield_now().await;
        // The waiter is cancelled after the lock was passed on to it, before it runs again.
        drop(held);
        waiter.abort();
        assert!(waiter.await.is_err());
        assert!(flights.locks.lock().unwrap().is_empty());
    }
}
