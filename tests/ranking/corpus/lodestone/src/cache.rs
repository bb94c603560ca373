//! Blocks that were read lately.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Which block: table and offset.
pub type BlockId = (u64, u64);

/// A cache bounded in bytes; what was used longest ago goes first.
pub struct BlockCache {
    bytes_max: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    blocks: HashMap<BlockId, (Arc<[u8]>, u64)>,
    /// Last use to block, the oldest first.
    order: BTreeMap<u64, BlockId>,
    tick: u64,
    bytes: usize,
    hits: u64,
    misses: u64,
}

impl BlockCache {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, inner: Mutex::default() }
    }

    /// The block, read through `load` if it is not here.
    pub fn get_or_load<E>(&self, id: BlockId, load: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Arc<[u8]>, E> {
        if let Some(block) = self.lookup(id) {
            return Ok(block);
        }
        let block: Arc<[u8]> = load()?.into();
        self.insert(id, Arc::clone(&block));
        Ok(block)
    }

    fn lookup(&self, id: BlockId) -> Option<Arc<[u8]>> {
        let mut inner = self.inner.lock().unwrap();
        inner.tick += 1;
        let tick = inner.tick;
        let Some((block, used)) = inner.blocks.get_mut(&id) else {
            inner.misses += 1;
            return None;
        };
        let (block, before) = (Arc::clone(block), std::mem::replace(used, tick));
        inner.order.remove(&before);
        inner.order.insert(tick, id);
        inner.hits += 1;
        Some(block)
    }

    fn insert(&self, id: BlockId, block: Arc<[u8]>) {
        let mut inner = self.inner.lock().unwrap();
        inner.tick += 1;
        let tick = inner.tick;
        inner.bytes += block.len();
        if let Some((old, used)) = inner.blocks.insert(id, (block, tick)) {
            inner.bytes -= old.len();
            inner.order.remove(&used);
        }
        inner.order.insert(tick, id);
        while inner.bytes > self.bytes_max {
            let Some((_, oldest)) = inner.order.pop_first() else { break };
            if let Some((gone, _)) = inner.blocks.remove(&oldest) {
                inner.bytes -= gone.len();
            }
        }
    }

    /// Share of lookups that found their block.
    pub fn hit_rate(&self) -> f64 {
        let inner = self.inner.lock().unwrap();
        inner.hits as f64 / (inner.hits + inner.misses).max(1) as f64
    }
}
