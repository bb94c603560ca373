//! Durations of calls by project and method, for `metrics/snapshot`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// Projects whose calls are timed; those of further ones are not.
const PROJECTS_MAX: usize = 10_000;

/// Calls of one method.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CallTimes {
    /// Number of calls.
    pub(crate) count: u64,
    /// Their durations in milliseconds, added up.
    pub(crate) total_ms: f64,
    /// The longest, in milliseconds.
    pub(crate) max_ms: f64,
}

impl CallTimes {
    /// The mean duration in milliseconds.
    #[must_use]
    pub(crate) fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of calls is far below 2^52")]
        let count = self.count as f64;
        self.total_ms / count
    }
}

/// Times of all projects in this process.
#[derive(Default)]
pub(crate) struct MethodTimes(Mutex<HashMap<String, BTreeMap<&'static str, CallTimes>>>);

impl MethodTimes {
    /// Records a call that ran.
    pub(crate) fn record(&self, project: &str, method: &'static str, ms: f64) {
        let mut projects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if projects.len() >= PROJECTS_MAX && !projects.contains_key(project) {
            return;
        }
        let times = projects.entry(project.to_owned()).or_default().entry(method).or_default();
        times.count += 1;
        times.total_ms += ms;
        times.max_ms = times.max_ms.max(ms);
    }

    /// The methods that were called for a project, by name.
    #[must_use]
    pub(crate) fn of_project(&self, project: &str) -> Vec<(&'static str, CallTimes)> {
        let projects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        projects
            .get(project)
            .map(|methods| methods.iter().map(|(method, times)| (*method, *times)).collect())
            .unwrap_or_default()
    }
}
