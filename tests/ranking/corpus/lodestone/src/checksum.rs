//! CRC-32C, computed by table, and its mask.

const POLYNOMIAL: u32 = 0x82f6_3b78;
const MASK: u32 = 0xa282_ead8;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
}

/// The checksum of some bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8))
}

/// A checksum as it is stored: data may hold checksums itself.
pub fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(MASK)
}

/// The opposite of [`masked`].
pub fn unmasked(stored: u32) -> u32 {
    stored.wrapping_sub(MASK).rotate_left(15)
}
