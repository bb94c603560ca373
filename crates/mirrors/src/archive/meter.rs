//! Limits the cost of reading an archive: reading ends at a limit, when it is cancelled, and before the disk is full.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use super::faults;
use contract::{ErrorCode, Fault};

/// Time between two checks whether the output may grow.
const GROWTH_CHECK: Duration = Duration::from_secs(1);

/// Maximum number of bytes of headers before one entry, such as long names and attributes, which are in memory at once.
const HEADER_BYTES_MAX: u64 = 4 << 20;

/// Watches the readers of one archive.
pub(super) struct Meter<'a> {
    must_stop: &'a dyn Fn() -> bool,
    may_grow: &'a dyn Fn() -> Result<(), Fault>,
    unpacked_bytes_max: u64,
    unpacked_bytes: Cell<u64>,
    /// Bytes that may be read until the next entry begins; `None` while the content of one is read.
    until_entry: Cell<Option<u64>>,
    growth_checked: Cell<Instant>,
    fault: RefCell<Option<Fault>>,
}

impl<'a> Meter<'a> {
    /// Limits the unpacked bytes to `unpacked_bytes_max`; `may_grow` checks that there is room for the output.
    pub(super) fn new(
        unpacked_bytes_max: u64,
        may_grow: &'a dyn Fn() -> Result<(), Fault>,
        must_stop: &'a dyn Fn() -> bool,
    ) -> Self {
        Self {
            must_stop,
            may_grow,
            unpacked_bytes_max,
            unpacked_bytes: Cell::new(0),
            until_entry: Cell::new(None),
            growth_checked: Cell::new(Instant::now()),
            fault: RefCell::new(None),
        }
    }

    /// Stops reading with a fault. The error passes through the readers of libraries, which cannot carry faults.
    pub(super) fn stop(&self, fault: Fault) -> io::Error {
        self.fault.borrow_mut().get_or_insert(fault);
        io::Error::other("the reading of the archive was stopped")
    }

    /// Returns the fault behind an error of a reader: the one that stopped reading, or else that the archive is damaged.
    pub(super) fn explain(&self, error: io::Error) -> Fault {
        self.fault.take().unwrap_or_else(|| faults::damaged(error))
    }

    /// Counts the bytes before the next entry, besides `unread` bytes of the last one. That many must really follow: if there are fewer,
    /// the header may use the rest.
    pub(super) fn expect_entry(&self, unread: u64) {
        self.until_entry.set(Some(unread.saturating_add(HEADER_BYTES_MAX)));
    }

    /// An entry began.
    pub(super) fn begin_entry(&self) {
        self.until_entry.set(None);
    }

    /// Checks whether to continue: called for each read of the archive, and each folder that is written.
    ///
    /// # Errors
    /// If reading stops here.
    pub(super) fn check(&self) -> io::Result<()> {
        if (self.must_stop)() {
            let message = "Reading the archive was cancelled.";
            return Err(self.stop(Fault::new(ErrorCode::Cancelled, message)));
        }
        if self.growth_checked.get().elapsed() >= GROWTH_CHECK {
            self.growth_checked.set(Instant::now());
            (self.may_grow)().map_err(|fault| self.stop(fault))?;
        }
        Ok(())
    }

    fn count_unpacked(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        self.unpacked_bytes.set(self.unpacked_bytes.get().saturating_add(bytes));
        if self.unpacked_bytes.get() > self.unpacked_bytes_max {
            return Err(self.stop(faults::unpacks_to_too_much(self.unpacked_bytes_max)));
        }
        if let Some(left) = self.until_entry.get() {
            let left = left.checked_sub(bytes).ok_or_else(|| self.stop(faults::header_too_long()))?;
            self.until_entry.set(Some(left));
        }
        Ok(())
    }
}

/// The bytes of the archive itself.
pub(super) struct Watched<'a, R> {
    inner: R,
    meter: &'a Meter<'a>,
}

impl<'a, R> Watched<'a, R> {
    pub(super) fn new(inner: R, meter: &'a Meter<'a>) -> Self {
        Self { inner, meter }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.meter.check()?;
        self.inner.read(into)
    }
}

impl<R: Seek> Seek for Watched<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Bytes that were unpacked.
pub(super) struct Unpacked<'a, R> {
    inner: R,
    meter: &'a Meter<'a>,
}

impl<'a, R> Unpacked<'a, R> {
    pub(super) fn new(inner: R, meter: &'a Meter<'a>) -> Self {
        Self { inner, meter }
    }
}

impl<R: Read> Read for Unpacked<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.meter.count_unpacked(read)?;
        Ok(read)
    }
}

/// The content of an entry, which must have exactly the size that its header gives.
pub(super) struct Content<R> {
    inner: R,
    left: u64,
    /// The error of reading, separate from errors of writing the content elsewhere.
    pub(super) failure: Option<io::Error>,
}

impl<R: Read> Content<R> {
    pub(super) fn new(inner: R, bytes: u64) -> Self {
        Self { inner, left: bytes, failure: None }
    }

    fn read_some(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            // Readers with a checksum compare it at the end.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "an entry is longer than its header says"))
                }
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        match self.inner.read(into.get_mut(..most).unwrap_or_default())? {
            0 => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "an entry is shorter than its header says"))
            }
            read => {
                self.left = self.left.saturating_sub(read as u64);
                Ok(read)
            }
        }
    }
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read_some(into).map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure = Some(error);
            }
            kind.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAY_GROW: &dyn Fn() -> Result<(), Fault> = &|| Ok(());

    #[test]
    fn a_content_has_the_size_that_it_says() {
        let read = |text: &str, bytes: u64| {
            let mut content = Content::new(text.as_bytes(), bytes);
            let mut found = Vec::new();
            let read = content.read_to_end(&mut found).map(|_| found);
            assert_eq!(read.is_err(), content.failure.is_some());
            read.ok()
        };
        assert_eq!(read("four", 4), Some(b"four".to_vec()));
        assert_eq!(read("", 0), Some(Vec::new()));
        assert_eq!((read("four", 3), read("four", 5), read("", u64::MAX)), (None, None, None));
    }

    #[test]
    fn reading_ends_at_the_limits_with_their_fault() {
        let stopped = Cell::new(false);
        let must_stop = || stopped.get();
        let meter = Meter::new(10, MAY_GROW, &must_stop);
        let copy = |bytes: &[u8]| io::copy(&mut Unpacked::new(bytes, &meter), &mut io::sink());
        copy(&[0; 10]).unwrap();
        let fault = meter.explain(copy(&[0]).unwrap_err());
        assert_eq!(fault.code, ErrorCode::ArchiveTooLarge, "{fault}");
        assert!(fault.message.contains("archive_unpacked_bytes_max"), "{fault}");

        stopped.set(true);
        let error = Watched::new(&b"x"[..], &meter).read(&mut [0]).unwrap_err();
        assert_eq!(meter.explain(error).code, ErrorCode::Cancelled);
        assert_eq!(meter.explain(io::Error::other("x")).code, ErrorCode::InvalidRequest);
    }

    #[test]
    fn a_header_is_bounded_beside_the_content_before_it() {
        const GO_ON: &dyn Fn() -> bool = &|| false;
        let meter = Meter::new(u64::MAX, MAY_GROW, GO_ON);
        let read =
            |bytes: u64| io::copy(&mut Unpacked::new(io::repeat(0).take(bytes), &meter), &mut io::sink());
        meter.expect_entry(1000);
        read(HEADER_BYTES_MAX + 1000).unwrap();
        let fault = meter.explain(read(1).unwrap_err());
        assert_eq!(fault.code, ErrorCode::ArchiveTooLarge, "{fault}");
        meter.begin_entry();
        read(2 * HEADER_BYTES_MAX).unwrap();
    }
}
