//! A filter that knows most keys that a table does not have.

/// Bits set by the hashes of all keys of a table.
#[derive(Debug, Clone)]
pub struct BloomFilter {
    bits: Vec<u8>,
    probes: u32,
}

impl BloomFilter {
    /// A filter over `keys` with about `bits_per_key` bits for each.
    pub fn build<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]>, bits_per_key: u32) -> Self {
        let bytes = (keys.len() * bits_per_key as usize).div_ceil(8).max(8);
        // ln 2 times the bits a key makes false positives rarest.
        let probes = (f64::from(bits_per_key) * std::f64::consts::LN_2).round().clamp(1.0, 30.0) as u32;
        let mut filter = Self { bits: vec![0; bytes], probes };
        for key in keys {
            for bit in filter.places(key).collect::<Vec<_>>() {
                filter.bits[bit / 8] |= 1 << (bit % 8);
            }
        }
        filter
    }

    /// False only if the key is certainly not there.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.places(key).all(|bit| self.bits[bit / 8] & (1 << (bit % 8)) != 0)
    }

    /// One hash, turned a little further for each probe.
    fn places(&self, key: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let hash = hash(key);
        let step = hash.rotate_right(17) | 1;
        let size = self.bits.len() as u64 * 8;
        (0..u64::from(self.probes)).map(move |probe| (hash.wrapping_add(probe.wrapping_mul(step)) % size) as usize)
    }

    /// The bytes of the filter block.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.bits.clone();
        bytes.push(self.probes as u8);
        bytes
    }

    /// Reads a filter block; an empty one has no filter.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (probes, bits) = bytes.split_last()?;
        Some(Self { bits: bits.to_vec(), probes: u32::from(*probes) })
    }
}

fn hash(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
