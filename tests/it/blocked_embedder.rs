//! An embedder that embeds passages only while it is open, so that a test can look at a run that has not ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::{Fault, ModelIdentity};
use embedding::{Embedder, StubEmbedder};

pub(crate) struct BlockedEmbedder {
    stub: StubEmbedder,
    is_open: AtomicBool,
}

impl BlockedEmbedder {
    /// An embedder whose passages wait until it is opened or they are cancelled.
    pub(crate) fn closed() -> Arc<Self> {
        Arc::new(Self { stub: StubEmbedder::default(), is_open: AtomicBool::new(false) })
    }

    pub(crate) fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Release);
    }
}

impl Embedder for BlockedEmbedder {
    fn model(&self) -> &ModelIdentity {
        self.stub.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        while !self.is_open.load(Ordering::Acquire) && !cancelled() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.stub.embed_passages(texts, cancelled)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.stub.embed_query(text)
    }
}
