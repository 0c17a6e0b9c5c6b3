//! What goes wrong around a scan, and what is left when it is over.

mod breaker;
mod during_scan;
mod limits;
mod offline;
mod planted;
mod signals;
mod wal;
