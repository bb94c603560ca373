//! Reads `postmaster.pid`, in which a running server describes itself.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The lines of `postmaster.pid` that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Postmaster {
    pub(super) pid: i32,
    pub(super) port: u16,
    pub(super) socket_directory: PathBuf,
    /// `true` if its status is `ready`: it accepts connections.
    pub(super) ready: bool,
}

impl Postmaster {
    /// Reads the file; `None` if it is missing or incomplete.
    pub(super) fn read(data: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    /// Lines: pid, data directory, start time, port, socket directory, listen address, shared memory key, status.
    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Some(Self {
            pid: lines.first()?.parse().ok()?,
            port: lines.get(3)?.parse().ok()?,
            socket_directory: PathBuf::from(lines.get(4)?),
            ready: lines.get(7) == Some(&"ready"),
        })
    }

    /// Returns `true` if the server accepts connections now. The file alone does not prove it, because a crash leaves it behind.
    pub(super) fn accepts_connections(&self) -> bool {
        self.ready && UnixStream::connect(socket(&self.socket_directory, self.port)).is_ok()
    }
}

/// The path of the server's socket in `directory`.
pub(super) fn socket(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_file_of_a_ready_server() {
        let text = "4711\n/data\n1769258096\n5432\n/run/x\n\n  123 456\nready   \n";
        let ready = Postmaster::parse(text).unwrap();
        assert_eq!(
            ready,
            Postmaster { pid: 4711, port: 5432, socket_directory: "/run/x".into(), ready: true }
        );
        assert!(!Postmaster::parse(&text.replace("ready", "starting")).unwrap().ready);
        assert_eq!(Postmaster::parse("4711\n/data\n"), None);
    }
}
