//! What a scan tells while it runs: counters, events, notices.

mod counters;
pub(crate) mod events;
mod notice;

pub use counters::Metrics;
pub(crate) use events::LogPath;
pub use notice::Notice;
