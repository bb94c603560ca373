//! One attempt at a time for a key inside this process; others wait and then look again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// A lock by key. A key's lock is forgotten when nobody holds or awaits it.
#[derive(Default)]
pub(crate) struct SingleFlight {
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// Holds a key until dropped.
pub(crate) struct Flight {
    flights: Arc<SingleFlight>,
    key: String,
    guard: Option<OwnedMutexGuard<()>>,
}

impl SingleFlight {
    /// Waits until nobody else holds `key`.
    pub(crate) async fn enter(self: &Arc<Self>, key: &str) -> Flight {
        let lock = Arc::clone(
            self.locks.lock().unwrap_or_else(PoisonError::into_inner).entry(key.to_owned()).or_default(),
        );
        let guard = lock.lock_owned().await;
        Flight { flights: Arc::clone(self), key: key.to_owned(), guard: Some(guard) }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut locks = self.flights.locks.lock().unwrap_or_else(PoisonError::into_inner);
        // Counted under the map's lock: nobody can take a clone between the look and the removal.
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
    async fn one_at_a_time_and_nothing_left_behind() {
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
}
