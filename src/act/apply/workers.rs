//! The threads that act on groups.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded};

use super::protocol::GroupItem;
use super::request::BATCH;
use crate::act::ActError;
use crate::model::ActionOutcome;
use crate::pool::{Done, Pool, PoolMetrics, PoolOptions, Shutdown};

/// The worker pool of a run. It is not stopped by the user's request: each item
/// looks at that itself, so that what became of it is always reported.
pub(crate) struct Workers {
    pool: Pool<GroupItem>,
    done: Receiver<Done<GroupItem>>,
}

impl Workers {
    pub(crate) fn start(threads: usize) -> Result<Self, ActError> {
        let (sender, done) = bounded(BATCH + threads);
        let options = PoolOptions {
            workers: threads,
            reserve: 0,
            queue: BATCH,
        };
        let (token, metrics) = (Shutdown::token(), Arc::new(PoolMetrics::default()));
        let pool = Pool::start(options, &token, metrics, sender, || ())?;
        Ok(Self { pool, done })
    }

    /// Begins items; returns how many.
    pub(crate) fn begin(&self, items: impl Iterator<Item = GroupItem>) -> Result<usize, ActError> {
        let mut begun = 0;
        for item in items {
            self.pool.submit(item).map_err(|_| ActError::Stopped)?;
            begun += 1;
        }
        Ok(begun)
    }

    /// Waits for that many items. Nothing is reported of an item that panicked.
    pub(crate) fn wait(&self, begun: usize) -> Result<Vec<ActionOutcome>, ActError> {
        let mut outcomes = Vec::new();
        for _ in 0..begun {
            let done = self.done.recv().map_err(|_| ActError::Stopped)?;
            outcomes.extend(done.result.unwrap_or_default());
        }
        Ok(outcomes)
    }

    pub(crate) fn end(self) {
        self.pool.wait(Instant::now() + Duration::from_secs(5));
    }
}
