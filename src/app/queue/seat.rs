//! The place of a call that runs: while it only waits for a run of another call, others may have it.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Admission, Place, Queue};
use crate::app::queue::line::Who;

/// The place of a call. Cheap to clone; all clones are of one call.
#[derive(Clone, Default)]
pub struct Seat(Arc<Mutex<Held>>);

#[derive(Default)]
enum Held {
    /// None is needed, or none any more.
    #[default]
    Nothing,
    /// It has its place.
    Place(Place),
    /// It gave it up, and counts as one of its principal's that wait.
    Parked(Parked),
}

struct Parked {
    queue: Arc<Queue>,
    who: Who,
    /// It came back.
    returned: bool,
}

impl Drop for Parked {
    fn drop(&mut self) {
        if !self.returned {
            self.queue.with(|state| state.line.unpark(&self.who));
        }
    }
}

impl Seat {
    /// The place that a call was admitted to.
    #[must_use]
    pub fn of(Admission(place): Admission) -> Self {
        Self(Arc::new(Mutex::new(place.map_or(Held::Nothing, Held::Place))))
    }

    /// The call waits for something that is done elsewhere: its place is free for others.
    pub fn give_up(&self) {
        self.with(|held| {
            *held = match std::mem::take(held) {
                Held::Place(place) => Held::Parked(place.park()),
                other => other,
            }
        });
    }

    /// Waits until the call has a place again, if it gave one up. It is not refused: its principal's bound counted it all the
    /// time. Dropping the future ends the wait.
    pub async fn take(&self) {
        loop {
            let Some(mut parked) = self.with(|held| match std::mem::take(held) {
                Held::Parked(parked) => Some(parked),
                other => {
                    *held = other;
                    None
                }
            }) else {
                return;
            };
            parked.returned = true;
            let (queue, who) = (Arc::clone(&parked.queue), parked.who.clone());
            match queue.place(&who, |line| line.return_from_parking(&who), |_| ()).await {
                Ok(place) => return self.with(|held| *held = Held::Place(place)),
                // Displaced, or the wait was long: it waits anew.
                Err(_) => {
                    queue.with(|state| state.line.park(&who));
                    self.with(|held| *held = Held::Parked(Parked { queue, who, returned: false }));
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// The call is over, whatever of it goes on.
    pub fn leave(&self) {
        drop(self.with(std::mem::take));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Held) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Place {
    /// Gives the place up without leaving.
    fn park(self) -> Parked {
        // Counted as waiting before the place is given back, so that the call is never counted as gone.
        self.queue.with(|state| state.line.park(&self.who));
        Parked { queue: Arc::clone(&self.queue), who: self.who.clone(), returned: false }
    }
}
