//! Looks into the text of files that are not indexed.
//!
//! These files are what was too hard for the index, so everything is bounded: bytes of one file and of all, and time. Secrets are
//! redacted as in the index, so that an answer says no more about them.

use std::time::{Duration, Instant};

use super::sought::Sought;
use crate::indexing::{ByteOrder, OpenRoot, SkipReason, redact_file, unmarked_utf16};

/// Why a file may be left out although it is text, the likeliest to hold code first. What is binary or holds secrets is not read.
pub const SCANNED: &[SkipReason] =
    &[SkipReason::Minified, SkipReason::NotUtf8, SkipReason::TooLarge, SkipReason::Generated];

/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of all files.
const BYTES_MAX: u64 = 64 << 20;
/// Longest time for all files. The one that is read when it ends is finished.
const TIME_MAX: Duration = Duration::from_millis(500);
/// Bytes at the beginning of a file that tell whether it is binary.
const EXAMINED_BYTES: usize = 8 << 10;

/// What may still be read for one answer.
#[derive(Debug)]
pub struct ScanBudget {
    bytes: u64,
    until: Instant,
}

impl Default for ScanBudget {
    fn default() -> Self {
        Self { bytes: BYTES_MAX, until: Instant::now() + TIME_MAX }
    }
}

impl ScanBudget {
    fn is_spent(&self) -> bool {
        self.bytes == 0 || Instant::now() >= self.until
    }
}

/// The result of a look into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookedInto {
    /// This occurs in this line, 1-based.
    Occurs(String, u32),
    /// Nothing of it occurs, or the file is gone.
    Absent,
    /// The file was not read: it is too large, or others were.
    NotRead,
}

/// Looks for something in the file at a path below the root; `redacts` secrets before it says that something occurs. Blocks.
#[must_use]
pub fn look_into(
    root: &OpenRoot,
    path: &str,
    sought: &Sought,
    redacts: bool,
    budget: &mut ScanBudget,
) -> LookedInto {
    if budget.is_spent() {
        return LookedInto::NotRead;
    }
    let bytes = match root.read_bytes(path, FILE_BYTES_MAX.min(budget.bytes)) {
        Ok(bytes) => bytes,
        Err(SkipReason::TooLarge) => return LookedInto::NotRead,
        Err(_) => return LookedInto::Absent,
    };
    budget.bytes = budget.bytes.saturating_sub(bytes.len() as u64);
    for text in texts(&bytes) {
        let Some(found) = sought.first_in(&text) else { continue };
        if !redacts {
            return LookedInto::Occurs(found.0, found.1);
        }
        // Only now, because it takes longer than the search.
        if let Some((what, line)) = sought.first_in(&redact_file(path, &text).text) {
            return LookedInto::Occurs(what, line);
        }
    }
    LookedInto::Absent
}

/// Readings of a file whose encoding is not known; in each of them, ASCII is right. There are none of a binary file, and of what is not
/// UTF-8 there is also the one in Latin-1.
fn texts(bytes: &[u8]) -> Vec<String> {
    let utf16 = |bytes: &[u8], order: ByteOrder| {
        let (units, _) = bytes.as_chunks::<2>();
        let unit: fn([u8; 2]) -> u16 = match order {
            ByteOrder::Little => u16::from_le_bytes,
            ByteOrder::Big => u16::from_be_bytes,
        };
        let units = units.iter().map(|pair| unit(*pair));
        char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return vec![utf16(rest, ByteOrder::Little)],
        [0xfe, 0xff, rest @ ..] => return vec![utf16(rest, ByteOrder::Big)],
        _ => {}
    }
    if let Some(order) = unmarked_utf16(bytes) {
        return vec![utf16(bytes, order)];
    }
    if bytes[..bytes.len().min(EXAMINED_BYTES)].contains(&0) {
        return Vec::new();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => vec![text.to_owned()],
        Err(_) => vec![
            String::from_utf8_lossy(bytes).into_owned(),
            bytes.iter().map(|byte| char::from(*byte)).collect(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(bytes: &[u8], name: &str, redacts: bool) -> LookedInto {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.js"), bytes).unwrap();
        let root = OpenRoot::open(&folder.path().canonicalize().unwrap()).unwrap();
        let sought = Sought::texts([name.to_owned()], [], true).unwrap();
        look_into(&root, "a.js", &sought, redacts, &mut ScanBudget::default())
    }

    #[test]
    fn a_name_is_found_in_every_encoding() {
        let text = "// größer\nfunction drawBadge() {}\n";
        let latin: Vec<u8> = text.chars().map(|char| u8::try_from(u32::from(char)).unwrap()).collect();
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [vec![0xff, 0xfe], little.clone()].concat();
        // "比较" in GBK, right beside the name.
        let gbk = [b"// x\n".as_slice(), &[0xb1, 0xc8, 0xbd, 0xcf], b"drawBadge\n"].concat();
        let bad_byte = [text.as_bytes(), &[0xc3, b'\n']].concat();
        let all = [text.as_bytes().to_vec(), latin, little, big, marked, gbk, bad_byte];
        for bytes in &all {
            let found = look(bytes, "drawBadge", false);
            assert_eq!(found, LookedInto::Occurs("drawBadge".to_owned(), 2), "{bytes:?}");
        }
        for bytes in all.iter().take(5).chain([&all[6]]) {
            let found = look(bytes, "größer", true);
            assert_eq!(found, LookedInto::Occurs("größer".to_owned(), 1), "{bytes:?}");
        }
        assert_eq!(look(b"\x7fELF\0\0\0\x01drawBadge\0", "drawBadge", false), LookedInto::Absent);
    }

    #[test]
    fn secrets_do_not_occur() {
        let text = b"const password = 'needle-Xk29fLq81mZ0';\nlet other = 1;\n";
        assert_eq!(look(text, "needle-Xk29fLq81mZ0", true), LookedInto::Absent);
        assert!(matches!(look(text, "needle-Xk29fLq81mZ0", false), LookedInto::Occurs(_, 1)));
        assert!(matches!(look(text, "other", true), LookedInto::Occurs(_, 2)));
    }

    #[test]
    fn what_is_too_large_or_too_much_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let large = std::fs::File::create(folder.path().join("large.sql")).unwrap();
        large.set_len(FILE_BYTES_MAX + 1).unwrap();
        std::fs::write(folder.path().join("small.js"), "needle").unwrap();
        std::fs::write(folder.path().join(".env"), "needle").unwrap();
        std::os::unix::fs::symlink("small.js", folder.path().join("link.js")).unwrap();
        let root = OpenRoot::open(&folder.path().canonicalize().unwrap()).unwrap();
        let sought = Sought::texts(["needle".to_owned()], [], true).unwrap();
        let mut budget = ScanBudget::default();
        let mut look = |path: &str| look_into(&root, path, &sought, true, &mut budget);
        assert_eq!(look("large.sql"), LookedInto::NotRead);
        for absent in [".env", "link.js", "gone.js", "../small.js"] {
            assert_eq!(look(absent), LookedInto::Absent, "{absent}");
        }
        assert!(matches!(look("small.js"), LookedInto::Occurs(..)));
        budget.bytes = 3;
        assert_eq!(look_into(&root, "small.js", &sought, true, &mut budget), LookedInto::NotRead);
        let mut late = ScanBudget { until: Instant::now(), ..ScanBudget::default() };
        assert_eq!(look_into(&root, "small.js", &sought, true, &mut late), LookedInto::NotRead);
    }
}
