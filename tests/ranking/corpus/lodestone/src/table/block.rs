//! Entries in key order, each key without what it shares with the one before.

/// Every so many keys, one is stored whole.
const RESTART: usize = 16;

/// Collects the entries of a block.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    last_key: Vec<u8>,
    count: usize,
}

impl BlockBuilder {
    /// Adds an entry; keys must come in order.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = if self.count % RESTART == 0 {
            self.restarts.push(self.bytes.len() as u32);
            0
        } else {
            self.last_key.iter().zip(key).take_while(|(a, b)| a == b).count()
        };
        for number in [shared, key.len() - shared, value.len()] {
            self.bytes.extend((number as u32).to_le_bytes());
        }
        self.bytes.extend(&key[shared..]);
        self.bytes.extend(value);
        self.last_key = key.to_vec();
        self.count += 1;
    }

    pub fn size(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len()
    }

    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// The bytes of the block; the builder is empty again.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        for restart in &self.restarts {
            bytes.extend(restart.to_le_bytes());
        }
        bytes.extend((self.restarts.len() as u32).to_le_bytes());
        *self = Self::default();
        bytes
    }
}

/// A block that is read.
pub struct Block<'a> {
    entries: &'a [u8],
    restarts: Vec<usize>,
}

impl<'a> Block<'a> {
    /// None where the block makes no sense.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (rest, count) = bytes.split_last_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (entries, restarts) = rest.split_at_checked(rest.len().checked_sub(4 * count)?)?;
        let restarts = restarts.chunks(4).map(|four| number(four) as usize).collect();
        Some(Self { entries, restarts })
    }

    /// The first entry at or after `key`: halving over the whole keys, then forward.
    pub fn seek(&self, key: &[u8]) -> Option<(Vec<u8>, &'a [u8])> {
        let after = self.restarts.partition_point(|at| self.key_at(*at) <= key);
        let mut at = *self.restarts.get(after.saturating_sub(1))?;
        let mut current = Vec::new();
        while at < self.entries.len() {
            let (value, next) = self.step(at, &mut current);
            if current.as_slice() >= key {
                return Some((current, value));
            }
            at = next;
        }
        None
    }

    fn key_at(&self, at: usize) -> &'a [u8] {
        let length = number(&self.entries[at + 4..]) as usize;
        &self.entries[at + 12..at + 12 + length]
    }

    fn step(&self, at: usize, key: &mut Vec<u8>) -> (&'a [u8], usize) {
        let [shared, fresh, value] = [0, 4, 8].map(|offset| number(&self.entries[at + offset..]) as usize);
        let start = at + 12;
        key.truncate(shared);
        key.extend(&self.entries[start..start + fresh]);
        let end = start + fresh + value;
        (&self.entries[start + fresh..end], end)
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
