//! SHA-256 of bytes in memory, of readers, and incrementally, as lower-case hexadecimal text.

use std::fmt::Write as _;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Bytes read at a time; `on_progress` is called after each block.
const BLOCK_BYTES: usize = 4 << 20;

/// An incremental SHA-256.
#[derive(Debug, Clone, Default)]
pub struct Hasher {
    state: Sha256,
    bytes: u64,
}

impl Hasher {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the number of bytes added so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the hash as 64 hexadecimal digits.
    #[must_use]
    pub fn hex(self) -> String {
        to_hex(&self.state.finalize())
    }
}

/// Hashes `bytes`.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Hashes `bytes`, and returns 64 hexadecimal digits.
#[must_use]
pub fn digest_hex(bytes: &[u8]) -> String {
    to_hex(&digest(bytes))
}

/// Reads `reader` to its end; returns the hash as 64 hexadecimal digits, and the number of bytes. Calls `on_progress` with the
/// bytes read so far at least every 4 MiB. Blocks.
///
/// # Errors
/// The reader's errors.
pub fn hash_reader(mut reader: impl Read, on_progress: impl Fn(u64)) -> io::Result<(String, u64)> {
    let mut hasher = Hasher::default();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let read = reader.read(&mut block)?;
        if read == 0 {
            let bytes = hasher.bytes();
            return Ok((hasher.hex(), bytes));
        }
        hasher.update(&block[..read]);
        on_progress(hasher.bytes());
    }
}

/// Formats `bytes` as lower-case hexadecimal text.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc`, as published in the standard.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn bytes_readers_and_increments_have_the_same_hash() {
        assert_eq!(digest_hex(b"abc"), ABC);
        assert_eq!(hash_reader(&b"abc"[..], |_| ()).unwrap(), (ABC.to_owned(), 3));
        let mut hasher = Hasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!((hasher.bytes(), hasher.hex()), (3, ABC.to_owned()));
        assert_eq!(to_hex(&[0, 10, 255]), "000aff");
    }
}
