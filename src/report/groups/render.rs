//! The contract of everything that writes duplicate groups.

use std::io;

use crate::model::{Group, Totals};
use crate::report::style::Header;

/// Writes one report: `begin`, then every group, then `end`.
///
/// Nothing is kept from one group to the next, so memory does not grow with
/// the report. Output is buffered; a write error comes back with its kind from
/// the call that meets it, at the latest from `end`, which flushes.
pub trait Render {
    /// Writes what comes before the first group.
    fn begin(&mut self, header: &Header) -> io::Result<()>;
    /// Writes the next group; order is the caller's.
    fn group(&mut self, group: &Group) -> io::Result<()>;
    /// Writes what comes after the last group and flushes.
    fn end(&mut self, totals: &Totals) -> io::Result<()>;
}
