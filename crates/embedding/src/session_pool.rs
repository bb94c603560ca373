//! Sessions for bulk work: made when first needed, shared by everybody who embeds.

use std::sync::{Condvar, Mutex, PoisonError};

use super::onnx::Model;

/// Makes a session.
type Open = Box<dyn Fn() -> Result<Model, String> + Send + Sync>;

/// At most `sessions_max` sessions; who finds none idle waits for about one text's time.
pub(super) struct SessionPool {
    sessions_max: usize,
    open: Open,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Model>,
    /// Idle and busy ones together.
    made: usize,
}

impl SessionPool {
    pub(super) fn new(sessions_max: usize, open: Open) -> Self {
        Self { sessions_max, open, state: Mutex::default(), returned: Condvar::new() }
    }

    pub(super) fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    /// Runs `work` with a session of its own.
    pub(super) fn with_session<T>(
        &self,
        work: impl FnOnce(&mut Model) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut lent = Lent { model: Some(self.take()?), pool: self };
        let Some(model) = &mut lent.model else { return Err("a session was lost".to_owned()) };
        work(model)
    }

    fn take(&self) -> Result<Model, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(model) = state.idle.pop() {
                return Ok(model);
            }
            if state.made < self.sessions_max {
                break;
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.made += 1;
        drop(state);
        let made = (self.open)();
        if made.is_err() {
            // Somebody else may have the luck that we had not.
            self.state.lock().unwrap_or_else(PoisonError::into_inner).made -= 1;
            self.returned.notify_one();
        }
        made
    }
}

/// A session on loan; it comes back even from a panic, else everybody would wait for it.
struct Lent<'a> {
    model: Option<Model>,
    pool: &'a SessionPool,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.idle.extend(self.model.take());
        self.pool.returned.notify_one();
    }
}
