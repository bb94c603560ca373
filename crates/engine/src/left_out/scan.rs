//! Searches the text of files that are not indexed.
//!
//! These are the files that were too hard for the index, so everything is bounded: the bytes of one file and of all files, and the time.
//! Secrets are redacted as in the index, so that an answer does not reveal more about them.

use std::time::{Duration, Instant};

use super::sought::Sought;
use crate::indexing::{ByteOrder, OpenRoot, SkipReason, redact_file, unmarked_utf16};

/// Reasons for which a text file may be omitted, the most likely to contain code first. Files that are binary or contain secrets are not
/// read.
pub const SCANNED: &[SkipReason] =
    &[SkipReason::Minified, SkipReason::NotUtf8, SkipReason::TooLarge, SkipReason::Generated];

/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Maximum size of all files together, in bytes.
const BYTES_MAX: u64 = 64 << 20;
/// The time limit for all files. The file that is being read when it expires is finished.
const TIME_MAX: Duration = Duration::from_millis(500);
/// Bytes at the beginning of a file that show whether it is binary.
const EXAMINED_BYTES: usize = 8 << 10;

/// The remaining limits for one answer.
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

/// The result of searching a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookedInto {
    /// This text occurs in this line, 1-based.
    Occurs(String, u32),
    /// None of the texts occurs, or the file no longer exists.
    Absent,
    /// The file was not read, because it is too large or the limits are used up.
    NotRead,
}

/// Searches the file at a path below the root; if `redacts`, secrets are redacted before a text counts as found. Blocks.
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
        // Redacts only after a match, because redaction takes longer than the search.
        if let Some((what, line)) = sought.first_in(&redact_file(path, &text).text) {
            return LookedInto::Occurs(what, line);
        }
    }
    LookedInto::Absent
}

/// Returns the readings of a file whose encoding is not known; in each of them, ASCII is right. A binary file has none, and a text that is
/// not UTF-8 is also read as Latin-1.
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
    fn files_beyond_the_limits_are_not_read() {
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
