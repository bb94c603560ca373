//! Limits of the disk space that the server uses on its own: for WAL between two checkpoints and for the temporary files of
//! each process. Each takes at most half of the free space above the configured minimum, or about a quarter of the minimum if
//! little is free, so that neither can fill the disk. They are written to a configuration file, which the server reads again
//! on SIGHUP.

use std::fmt;
use std::io;

use super::access;
use super::place::Place;
use platform::disk_space;

const MIB: u64 = 1024 * 1024;
/// Free MiB above the minimum, and the MiB that WAL and the temporary files of a process may take then. More WAL means
/// fewer checkpoints and fewer full-page writes.
const LEVELS: [(u64, u64); 3] = [(4096, 2048), (1024, 512), (256, 128)];
/// Range in MiB of the WAL limit below all levels: Postgres itself requires two segments of 16 MB, and the spare file has
/// room for four.
const WAL_MIB_RANGE: (u64, u64) = (48, 64);
/// Smallest limit, in MiB, of the temporary files of a process.
const TEMPORARY_MIB_MIN: u64 = 16;

/// The limits in the server's configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    wal_mib: u64,
    temporary_mib: u64,
}

impl Limits {
    /// The limits for the disk space that is free now. `reserve` is the number of bytes to keep free, `current` the limits
    /// in force.
    pub(super) fn for_free_space(place: &Place, reserve: u64, current: Option<&Self>) -> Self {
        // If the file system cannot be queried, it is not treated as full.
        let free = disk_space::free_bytes(&place.root).unwrap_or(u64::MAX);
        Self::new(free, reserve, current)
    }

    fn new(free: u64, reserve: u64, current: Option<&Self>) -> Self {
        let above = free.saturating_sub(reserve) / MIB;
        // Hysteresis: rising to a level needs a quarter more space than staying on it, so that the limits do not oscillate.
        let fits = |(needed, mib): &&(u64, u64)| {
            let rises = current.is_some_and(|current| current.wal_mib < *mib);
            above >= if rises { needed * 5 / 4 } else { *needed }
        };
        let (wal_mib, temporary_mib) = match LEVELS.iter().find(fits) {
            Some((_, mib)) => (*mib, *mib),
            None => {
                let quarter = reserve / 4 / MIB;
                (
                    quarter.clamp(WAL_MIB_RANGE.0, WAL_MIB_RANGE.1),
                    quarter.clamp(TEMPORARY_MIB_MIN, LEVELS[2].1),
                )
            }
        };
        Self { wal_mib, temporary_mib }
    }

    /// Writes the configuration file; the server must be signalled to reload it.
    pub(super) fn write(&self, place: &Place) -> io::Result<()> {
        let Self { wal_mib, temporary_mib } = self;
        // WAL segments kept for reuse; 80 MB is the default of Postgres.
        let kept_mib = if *wal_mib < LEVELS[1].1 { 32 } else { 80 };
        let text = format!(
            "# Written by the supervisor, by how much room there is on the disk.\n\
             max_wal_size = {wal_mib}MB\nmin_wal_size = {kept_mib}MB\ntemp_file_limit = {temporary_mib}MB\n"
        );
        access::replace_file(&place.limits_file(), &text)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WAL up to {} MB, temporary files up to {} MB a process", self.wal_mib, self.temporary_mib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_free_space_means_little_wal() {
        let reserve = 256 * MIB;
        let limits =
            |above: u64, current: Option<&Limits>| Limits::new(reserve + above * MIB, reserve, current);
        let ample = limits(5000, None);
        assert_eq!((ample.wal_mib, ample.temporary_mib), (2048, 2048));
        let less = limits(4000, Some(&ample));
        assert_eq!(less.wal_mib, 512);
        assert_eq!(limits(4100, Some(&less)), less, "the limits do not oscillate");
        assert_eq!(limits(5200, Some(&less)), ample);
        for above in [300, 1100, 4100, 1 << 20] {
            assert!(limits(above, None).wal_mib <= above / 2, "{above}");
        }
        assert_eq!((limits(0, None).wal_mib, limits(0, None).temporary_mib), (64, 64));
        assert_eq!((Limits::new(0, 0, None).wal_mib, Limits::new(0, 0, None).temporary_mib), (48, 16));
        assert!(Limits::new(u64::MAX, u64::MAX, None).temporary_mib <= 128);
    }
}
