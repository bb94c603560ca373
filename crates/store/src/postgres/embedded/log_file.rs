//! The log files of the server and the supervisor: bounded in size, and quoted in errors.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A log longer than this is rotated, so a log and its predecessor take at most about twice as much.
const BYTES_MAX: u64 = 8 * 1024 * 1024;
const TAIL_BYTES: u64 = 16 * 1024;
const TAIL_LINES: usize = 20;

/// Rotates a log that is too long: copies it to `<name>.1` and truncates it.
///
/// It is not renamed because its writer keeps the file descriptor open; the writer appends, so it continues at the
/// new end. Lines written between the two steps are lost, which is acceptable for a log of last resort.
pub(super) fn rotate_if_long(path: &Path) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > BYTES_MAX) {
        // Truncate even if the copy fails, because that frees a full disk.
        let _ = fs::copy(path, previous(path));
        let _ = File::options().write(true).open(path).and_then(|file| file.set_len(0));
    }
}

fn previous(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Length of the log in bytes: the offset where the lines of a new run begin.
pub(super) fn end(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The last lines after the offset `start`, oldest first: at most 20 lines from the last 16 KiB.
pub(super) fn tail(path: &Path, start: u64) -> Vec<String> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let from = start.max(end(path).saturating_sub(TAIL_BYTES));
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(from)).and_then(|_| file.take(TAIL_BYTES).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    last_lines(&bytes)
}

/// The last 20 lines that are not blank, oldest first.
pub(super) fn last_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn quotes_only_what_this_run_wrote() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.log");
        fs::write(&path, "old\n").unwrap();
        let start = end(&path);
        File::options().append(true).open(&path).unwrap().write_all(b"new 1\n\nnew 2\n").unwrap();
        assert_eq!(tail(&path, start), ["new 1", "new 2"]);
    }

    #[test]
    fn a_long_log_is_rotated_while_it_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.log");
        let mut writer = File::options().create(true).append(true).open(&path).unwrap();
        let block = vec![b'x'; 1024 * 1024];
        for _ in 0..=8 {
            writer.write_all(&block).unwrap();
        }
        rotate_if_long(&path);
        writer.write_all(b"after\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after\n");
        assert_eq!(end(&previous(&path)), 9 * 1024 * 1024);
    }
}
