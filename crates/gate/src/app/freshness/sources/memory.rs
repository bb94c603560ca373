//! A process's memory of sources between syncs. Losing it costs requests and lines of the log, nothing else.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use code_hosts::PageCache;
use store::SourceRepository;

/// The memory of all sources, by name.
#[derive(Default)]
pub(in super::super) struct SourceMemory(Mutex<HashMap<String, Remembered>>);

/// The memory of one source.
#[derive(Default)]
pub(super) struct Remembered {
    /// The pages that its host sent, which it does not send again while they are the same.
    pub(super) pages: PageCache,
    /// Repositories that may not be fetched, to log each only once.
    refused: HashSet<SourceRepository>,
}

impl SourceMemory {
    /// Takes the memory of a source for the time of a sync; empty while another sync has it.
    pub(super) fn take(&self, source: &str) -> Remembered {
        self.lock().remove(source).unwrap_or_default()
    }

    pub(super) fn put_back(&self, source: &str, remembered: Remembered) {
        self.lock().insert(source.to_owned(), remembered);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    /// Logs the repositories that may not be fetched, unless they were logged before.
    pub(super) fn log_refused(&mut self, source: &str, refused: &[SourceRepository]) {
        let still: HashSet<&SourceRepository> = refused.iter().collect();
        self.refused.retain(|before| still.contains(before));
        for repository in refused {
            if self.refused.insert(repository.clone()) {
                tracing::warn!(
                    source,
                    address = repository.address,
                    project = repository.project_id.as_str(),
                    "a repository of a source is not fetched, because it is not among the allowed addresses of its project"
                );
            }
        }
    }
}
