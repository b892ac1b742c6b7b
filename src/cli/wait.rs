//! Waiting for another builder.

use std::time::{Duration, Instant};

use atlas::error::{Error, Result};
use atlas::format::Store;
use clap::Args;

use super::output::note;

/// How often it is looked whether the other is done.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What to do while another process builds.
#[derive(Debug, Clone, Args)]
pub struct Wait {
    /// Wait while another process builds, at most so many seconds [default: for ever; without it, fail]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "4294967295")]
    wait: Option<u32>,
}

impl Wait {
    /// Does `work`, which needs the right to build in `store`, again whenever another had it, as long as
    /// the time allows.
    pub fn run<T>(&self, store: &Store, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let most = Duration::from_secs(u64::from(self.wait.unwrap_or(0)));
        let began = Instant::now();
        let mut said = false;
        loop {
            let fault = match work() {
                Err(fault @ Error::Busy { .. }) => fault,
                done => return done,
            };
            if began.elapsed() >= most {
                return Err(fault);
            }
            if let (false, Error::Busy { holder, .. }) = (said, &fault) {
                note(&format!("process {holder} is building it; waiting"));
                said = true;
            }
            while matches!(store.lock(), Err(Error::Busy { .. })) && began.elapsed() < most {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }
}
