//! What a scan tells while it runs: counters, events, notices, timing.

pub(super) mod counters;
pub(crate) mod events;
mod notice;
mod timing;

pub use counters::{ItemKind, Metrics, MetricsSnapshot};
pub(crate) use events::LogPath;
pub use notice::Notice;
pub use timing::Timing;
