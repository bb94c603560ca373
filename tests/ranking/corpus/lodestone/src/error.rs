//! What can go wrong.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that the store can fail with.
#[derive(Debug)]
pub enum Error {
    /// The operating system refused.
    Io(io::Error),
    /// A checksum does not fit its data, or a structure makes no sense.
    Corrupt { file: PathBuf, offset: u64, what: &'static str },
    /// Another process holds the lock file.
    Locked(PathBuf),
    /// A key or a value is longer than the format allows.
    TooLarge { bytes: usize, max: usize },
    /// An earlier write failed, so that log and memory may differ; the store must be opened anew.
    Poisoned,
}

impl Error {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Io(error) => matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock),
            Self::Locked(_) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "input or output failed: {error}"),
            Self::Corrupt { file, offset, what } => {
                write!(f, "{} is corrupt at byte {offset}: {what}", file.display())
            }
            Self::Locked(file) => write!(f, "{} is locked by another process", file.display()),
            Self::TooLarge { bytes, max } => write!(f, "{bytes} bytes are more than {max}"),
            Self::Poisoned => write!(f, "an earlier write failed; open the store again"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
