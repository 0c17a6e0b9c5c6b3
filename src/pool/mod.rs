//! A fixed number of worker threads behind a bounded queue. The pool runs any
//! kind of [`WorkItem`], isolates panics, says which worker is stuck, and can
//! abandon one. What items mean, what is retried and when a run has failed is
//! its owner's business: nothing here knows of files or catalogs.
//!
//! The contract, which the tests check:
//! - at least one worker, or an error that says so;
//! - the queue is bounded: [`Pool::submit`] waits for room,
//!   [`Pool::submit_timeout`] gives the item back, and both fail once stopped;
//! - [`Pool::stop`] may be repeated and does not wait;
//! - [`Pool::wait`] returns by its deadline, with the errors and the number of
//!   workers that were abandoned;
//! - a panic fails its item only; it is caught, counted and logged;
//! - [`PoolMetrics`] can be read at any time.

mod context;
mod current_path;
mod errand;
mod gate;
mod item;
mod metrics;
mod panics;
#[expect(clippy::module_inception, reason = "the room is named after its type")]
mod pool;
mod refill_signal;
mod slot;
mod stop;
#[cfg(test)]
mod tests;
mod worker;

pub use context::WorkerContext;
pub use errand::Errand;
pub use item::{Abandoned, Done, Job, Stalled, WorkItem};
pub use metrics::{Counter, Durations, PoolMetrics, PoolSnapshot};
pub use panics::Panicked;
pub use pool::{Ended, Pool, PoolError, PoolOptions, Refused};

pub use stop::Shutdown;
