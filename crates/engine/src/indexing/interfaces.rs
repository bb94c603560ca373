//! Reads the stored interfaces of files. Recently read interfaces are kept, so that after the edit of one file those of all others need not
//! be decoded again.

use std::sync::Arc;

use languages::symbols::{Interface, Scope, ScopeKind};
use navigation::KnownInterface;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Stored bytes of the interfaces that are kept; in memory they take several times as much.
const KEPT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Expected bytes of an interface.
const BYTES_OF_ONE: u64 = 2048;

/// A blake3 hash of the stored bytes.
type BytesHash = [u8; 32];

/// Interfaces by their stored bytes. Cloning shares them.
#[derive(Clone)]
pub struct Interfaces(Arc<Cache<BytesHash, Kept, ByBytes>>);

#[derive(Clone)]
struct Kept {
    interface: Arc<KnownInterface>,
    bytes: u64,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<BytesHash, Kept> for ByBytes {
    fn weight(&self, _: &BytesHash, kept: &Kept) -> u64 {
        // An empty entry takes memory as well.
        kept.bytes.max(64)
    }
}

impl Default for Interfaces {
    fn default() -> Self {
        let expected = usize::try_from(KEPT_BYTES_MAX / BYTES_OF_ONE).unwrap_or(usize::MAX);
        Self(Arc::new(Cache::with_weighter(expected, KEPT_BYTES_MAX, ByBytes)))
    }
}

impl Interfaces {
    /// Returns the interface that these bytes encode.
    pub(super) fn read(&self, bytes: &[u8]) -> Arc<KnownInterface> {
        let hash = *blake3::hash(bytes).as_bytes();
        if let Some(kept) = self.0.get(&hash) {
            return kept.interface;
        }
        let interface = Arc::new(KnownInterface::from(read_interface(bytes)));
        self.0.insert(hash, Kept { interface: Arc::clone(&interface), bytes: bytes.len() as u64 });
        interface
    }
}

/// Reads an interface. The row may come from an archive: an invalid one counts as that of an empty file.
pub(crate) fn read_interface(bytes: &[u8]) -> Interface {
    let read = postcard::from_bytes::<Interface>(bytes).ok().filter(Interface::is_sound);
    read.unwrap_or_else(|| Interface {
        scopes: vec![Scope {
            parent: 0,
            kind: ScopeKind::File,
            symbol: None,
            target: None,
            bases: Vec::new(),
        }],
        ..Interface::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_decoded_once() {
        let interfaces = Interfaces::default();
        let bytes = postcard::to_stdvec(&read_interface(&[])).unwrap();
        let (first, again) = (interfaces.read(&bytes), interfaces.clone().read(&bytes));
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &interfaces.read(&[])), "other bytes, though of an equal interface");
    }
}
