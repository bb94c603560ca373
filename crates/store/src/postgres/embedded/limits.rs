//! How much of the disk the server may take unasked: its log between two checkpoints, and the temporary files of each process.
//! Never more than half of what is free above the limit, as far as that goes, so that only what asks for room can reach it.
//! The file is read again on SIGHUP.

use std::fmt;
use std::io;

use super::access;
use super::place::Place;
use platform::room;

const MIB: u64 = 1024 * 1024;
/// MiB that are free above the limit, and what the log and the temporary files of a process may take then. With more log there
/// are fewer checkpoints, and fewer pages that are written whole.
const LEVELS: [(u64, u64); 3] = [(4096, 2048), (1024, 512), (256, 128)];
/// The log below all levels: two segments of 16 MB are the server's own minimum, and the spare file has room for four.
const LOG_MIB: (u64, u64) = (48, 64);
/// The least that the temporary files of a process may take.
const TEMPORARY_MIB_MIN: u64 = 16;

/// What the server's configuration file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    log_mib: u64,
    temporary_mib: u64,
}

impl Limits {
    /// The limits for the room that there is now; `before` are those in force.
    pub(super) fn now(place: &Place, least: u64, before: Option<&Self>) -> Self {
        // A file system that cannot be asked is not taken for a full one.
        let free = room::free(&place.root).unwrap_or(u64::MAX);
        Self::of(free, least, before)
    }

    fn of(free: u64, least: u64, before: Option<&Self>) -> Self {
        let above = free.saturating_sub(least) / MIB;
        // A level is left later than it is reached, so that the limits do not go to and fro.
        let fits = |(needed, mib): &&(u64, u64)| {
            let rises = before.is_some_and(|before| before.log_mib < *mib);
            above >= if rises { needed * 5 / 4 } else { *needed }
        };
        let (log_mib, temporary_mib) = match LEVELS.iter().find(fits) {
            Some((_, mib)) => (*mib, *mib),
            None => {
                let quarter = least / 4 / MIB;
                (quarter.clamp(LOG_MIB.0, LOG_MIB.1), quarter.clamp(TEMPORARY_MIB_MIN, LEVELS[2].1))
            }
        };
        Self { log_mib, temporary_mib }
    }

    /// Writes the file.
    pub(super) fn write(&self, place: &Place) -> io::Result<()> {
        let Self { log_mib, temporary_mib } = self;
        // What is kept for reuse of the log that is not needed any more; 80 is the server's default.
        let kept_mib = if *log_mib < LEVELS[1].1 { 32 } else { 80 };
        let text = format!(
            "# Written by the supervisor, by how much room there is on the disk.\n\
             max_wal_size = {log_mib}MB\nmin_wal_size = {kept_mib}MB\ntemp_file_limit = {temporary_mib}MB\n"
        );
        access::publish(&place.limits_file(), &text)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log up to {} MB, temporary files up to {} MB a process", self.log_mib, self.temporary_mib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_means_little_log() {
        let least = 256 * MIB;
        let of = |above: u64, before: Option<&Limits>| Limits::of(least + above * MIB, least, before);
        let ample = of(5000, None);
        assert_eq!((ample.log_mib, ample.temporary_mib), (2048, 2048));
        let less = of(4000, Some(&ample));
        assert_eq!(less.log_mib, 512);
        assert_eq!(of(4100, Some(&less)), less, "not to and fro");
        assert_eq!(of(5200, Some(&less)), ample);
        for above in [300, 1100, 4100, 1 << 20] {
            assert!(of(above, None).log_mib <= above / 2, "{above}");
        }
        assert_eq!((of(0, None).log_mib, of(0, None).temporary_mib), (64, 64));
        assert_eq!((Limits::of(0, 0, None).log_mib, Limits::of(0, 0, None).temporary_mib), (48, 16));
        assert!(Limits::of(u64::MAX, u64::MAX, None).temporary_mib <= 128);
    }
}
