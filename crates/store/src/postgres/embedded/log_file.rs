//! The server's log: bounded, and quoted when something fails.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A log longer than this is put aside; so a log and its predecessor take at most twice as much.
const BYTES_MAX: u64 = 8 * 1024 * 1024;
const TAIL_BYTES: u64 = 16 * 1024;
const TAIL_LINES: usize = 20;

/// Puts a log that grew too long aside as `<name>.1`.
///
/// The writer keeps its descriptor, so the file is copied and emptied instead of renamed; it appends, so it goes on at the
/// new end. Lines written between the two steps are lost, which a log of last resort can bear.
pub(super) fn bound(path: &Path) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > BYTES_MAX) {
        // A full disk must not keep the log from being emptied.
        let _ = fs::copy(path, previous(path));
        let _ = File::options().write(true).open(path).and_then(|file| file.set_len(0));
    }
}

fn previous(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// How long the log is now: where a new run's lines begin.
pub(super) fn end(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The last lines after `start`, oldest first.
pub(super) fn tail(path: &Path, start: u64) -> Vec<String> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let from = start.max(end(path).saturating_sub(TAIL_BYTES));
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(from)).and_then(|_| file.take(TAIL_BYTES).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    last_lines(&bytes)
}

/// The last lines of what a program wrote.
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
    fn a_long_log_is_put_aside_under_its_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.log");
        let mut writer = File::options().create(true).append(true).open(&path).unwrap();
        let block = vec![b'x'; 1024 * 1024];
        for _ in 0..=8 {
            writer.write_all(&block).unwrap();
        }
        bound(&path);
        writer.write_all(b"after\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after\n");
        assert_eq!(end(&previous(&path)), 9 * 1024 * 1024);
    }
}
