//! The file of an archive: opened beneath its folder, recognised by its first bytes, and compared with its earlier state.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;

use super::faults;
use super::meter::{Meter, Watched};
use super::zstd_file::ZstdReader;
use contract::Fault;
use platform::safe_open::{Folder, ReadError};

/// Version of the reader. Changing it causes all archives to be read again.
const READER_VERSION: u32 = 1;

/// Bytes of an archive that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Longest time after a change during which a file may change again without a new modification time.
const TIME_STEP: Duration = Duration::from_secs(2);

/// An open archive.
pub(super) struct Source {
    file: File,
    /// Its size in bytes.
    pub(super) bytes: u64,
    /// Properties that change with its content, as they were when the file was opened.
    identity: String,
    /// `true` if it was written long enough ago that another change would be noticed.
    is_settled: bool,
}

/// The format of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Tar,
    TarGzip,
    TarZstd,
    Zip,
}

/// A reader of an archive.
pub(super) enum Opened<'a> {
    /// Of the tar file in it.
    Tar(Box<dyn Read + 'a>),
    /// Of the zip file.
    Zip(Watched<'a, &'a File>),
}

impl Source {
    /// Opens the archive at a canonical path that the caller has checked to be allowed. Follows no link, because one could have been
    /// created after the check.
    ///
    /// # Errors
    /// `NOT_FOUND`, `FORBIDDEN` if it may not be read, `ARCHIVE_TOO_LARGE`.
    pub(super) fn open(path: &Path, bytes_max: u64) -> Result<Self, Fault> {
        let opened = open_beneath(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(faults::not_opened)?;
        if metadata.len() > bytes_max {
            return Err(faults::too_large(bytes_max));
        }
        // A time in the future, by another clock, is as reliable as any other.
        let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
        let is_settled = age.is_none_or(|age| age >= TIME_STEP);
        Ok(Self { file, bytes: metadata.len(), identity: identity(&metadata), is_settled })
    }

    /// Returns properties that change with its content; `None` if it was written a moment ago, and so may change again unnoticed.
    pub(super) fn identity(&self) -> Option<String> {
        self.is_settled.then(|| self.identity.clone())
    }

    /// Returns the hash of its content, with the version of the reader.
    ///
    /// # Errors
    /// Those of reading it; the meter knows the fault.
    pub(super) fn hash(&self, meter: &Meter<'_>) -> io::Result<String> {
        (&self.file).rewind()?;
        let mut hasher = blake3::Hasher::new();
        // A growing file would have no end.
        hasher.update_reader(Watched::new((&self.file).take(self.bytes), meter))?;
        Ok(format!("{READER_VERSION}:{}", hasher.finalize().to_hex()))
    }

    /// Opens its content for reading, from the beginning.
    ///
    /// # Errors
    /// Those of reading it; the meter knows the fault.
    pub(super) fn unpack<'a>(&'a self, path: &Path, meter: &'a Meter<'a>) -> io::Result<Opened<'a>> {
        let format = self.format(path)?;
        (&self.file).rewind()?;
        let zip = || Watched::new(&self.file, meter);
        let packed = || {
            let bytes = Watched::new((&self.file).take(self.bytes), meter);
            BufReader::with_capacity(BUFFER_BYTES, bytes)
        };
        Ok(match format {
            Format::Zip => Opened::Zip(zip()),
            Format::Tar => Opened::Tar(Box::new(packed())),
            Format::TarGzip => Opened::Tar(Box::new(MultiGzDecoder::new(packed()))),
            Format::TarZstd => Opened::Tar(Box::new(ZstdReader::new(packed()))),
        })
    }

    /// Returns `true` if the file is unchanged since it was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|now| identity(&now) == self.identity)
    }

    /// Determines the format by the first bytes, whatever the name says: programs that download files unpack some and keep the name.
    fn format(&self, path: &Path) -> io::Result<Format> {
        let mut start = Vec::new();
        (&self.file).rewind()?;
        (&self.file).take(4).read_to_end(&mut start)?;
        let is_named_zip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
        Ok(match start.as_slice() {
            [0x1f, 0x8b, ..] => Format::TarGzip,
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Format::TarZstd,
            [b'P', b'K', 3, 4] | [b'P', b'K', 5, 6] => Format::Zip,
            // Other data may precede the files of a zip file.
            _ if is_named_zip => Format::Zip,
            _ => Format::Tar,
        })
    }
}

fn open_beneath(path: &Path) -> Result<File, ReadError> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(ReadError::NotFound)?;
    Folder::open(path.parent().ok_or(ReadError::NotFound)?)?.open_file(name)
}

/// Returns properties that change with the content of a file.
fn identity(file: &Metadata) -> String {
    format!(
        "{READER_VERSION}:{} {}.{} {}.{} {}:{}",
        file.len(),
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec(),
        file.dev(),
        file.ino()
    )
}
