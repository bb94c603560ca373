//! Deterministic mutations of inputs, without coverage guidance.

/// A pseudo-random number generator (xorshift64*).
pub(super) struct Random(u64);

impl Random {
    /// Equal seeds produce equal numbers.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which must be positive.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % bound
    }
}

/// Bytes that parsers treat specially.
const SPECIAL_BYTES: &[&[u8]] = &[
    b"\0", b"\n", b"\r\n", b"\"", b"'", b"\\", b"(", b")", b"[", b"]", b"{", b"}", b"<", b"/", b"..", b":",
    b"=", b"-", b" ", b"\xff", b"\x80", b"\xc3", b"\xf0\x9f\xa6\x80", b"\xef\xbb\xbf", b"0", b"-1",
    b"99999999999999999999", b"1e999", b"null", b"#", b"*/", b"/*", b"```", b"%00", b"AND ", b"OR ", b"NOT ",
];

/// One of `inputs` after one to six random changes, truncated to `bytes_max` bytes.
pub(super) fn mutated(inputs: &[Vec<u8>], random: &mut Random, bytes_max: usize) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = u8::try_from(random.below(256)).unwrap_or(0),
            2 => drop(bytes.splice(at..at, SPECIAL_BYTES[random.below(SPECIAL_BYTES.len())].iter().copied())),
            3 => {
                let end = at + random.below(bytes.len() - at + 1).min(64);
                drop(bytes.drain(at..end));
            }
            4 => {
                let end = at + random.below(bytes.len() - at + 1).min(64);
                let again = bytes[at..end].repeat(1 + random.below(4));
                drop(bytes.splice(at..at, again));
            }
            5 => {
                let other = &inputs[random.below(inputs.len())];
                let from = random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes.truncate(bytes_max);
    bytes
}
