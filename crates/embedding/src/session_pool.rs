//! A pool of ONNX sessions for bulk work, opened when they are first needed.

use std::sync::{Condvar, Mutex, PoisonError};

use super::onnx::Model;

/// Opens a session.
type OpenSession = Box<dyn Fn() -> Result<Model, String> + Send + Sync>;

/// At most `sessions_max` sessions; a caller waits while all are busy, for about the time of one text.
pub(super) struct SessionPool {
    sessions_max: usize,
    open: OpenSession,
    state: Mutex<PoolState>,
    returned: Condvar,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Model>,
    /// Number of idle and busy sessions.
    open_count: usize,
}

impl SessionPool {
    pub(super) fn new(sessions_max: usize, open: OpenSession) -> Self {
        Self { sessions_max, open, state: Mutex::default(), returned: Condvar::new() }
    }

    pub(super) fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    /// Runs `work` with a session that no other thread uses meanwhile.
    pub(super) fn with_session<T>(
        &self,
        work: impl FnOnce(&mut Model) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut guard = SessionGuard { model: Some(self.take()?), pool: self };
        let Some(model) = &mut guard.model else { return Err("a session was lost".to_owned()) };
        work(model)
    }

    fn take(&self) -> Result<Model, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(model) = state.idle.pop() {
                return Ok(model);
            }
            if state.open_count < self.sessions_max {
                break;
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.open_count += 1;
        drop(state);
        let opened = (self.open)();
        if opened.is_err() {
            // Wakes a waiting caller, which may try to open one itself.
            self.state.lock().unwrap_or_else(PoisonError::into_inner).open_count -= 1;
            self.returned.notify_one();
        }
        opened
    }
}

/// Returns its session to the pool when dropped, also by a panic: otherwise callers would wait for it forever.
struct SessionGuard<'a> {
    model: Option<Model>,
    pool: &'a SessionPool,
}

impl Drop for SessionGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.idle.extend(self.model.take());
        self.pool.returned.notify_one();
    }
}
