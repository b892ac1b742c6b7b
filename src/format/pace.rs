//! Long work in short bursts.

use std::cell::Cell;
use std::time::Duration;

/// Bytes read and checked between two rests: 0.05 to 0.2 ms of work, a share of what one search takes. A
/// thread that has just rested comes before one that has not on most systems, so a burst may hold up a
/// search for as long as it lasts, on a machine without a free core.
const BURST_BYTES: usize = 256 * 1024;

/// How long a rest is: several times a burst, so that most of the memory's speed is left to searches, and
/// a hundred megabytes are checked in well under a second.
const REST: Duration = Duration::from_micros(500);

/// How hard somebody works who reads all of an index: at full speed, or with rests, because searches are
/// answered beside it.
#[derive(Debug, Default)]
pub struct Pace {
    rests: bool,
    spent: Cell<usize>,
}

impl Pace {
    /// At full speed.
    pub fn full() -> Self {
        Self::default()
    }

    /// In bursts of 256 KiB, with rests of half a millisecond.
    pub fn gentle() -> Self {
        Self { rests: true, spent: Cell::new(0) }
    }

    /// Notes that as much was done as reading `bytes` takes; rests when it is time to.
    pub fn spend(&self, bytes: usize) {
        let spent = self.spent.get().saturating_add(bytes);
        let is_due = spent >= BURST_BYTES;
        self.spent.set(if is_due { 0 } else { spent });
        if is_due && self.rests {
            std::thread::sleep(REST);
        }
    }
}
