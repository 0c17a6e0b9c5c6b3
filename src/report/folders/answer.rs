//! What `dupescan folders` found, ready to be written.

use crate::folders::FolderAnswer;
use crate::report::style::Header;

/// A whole answer.
#[derive(Debug)]
pub struct FolderReport {
    /// When it was asked for, what about, and which scan it reflects.
    pub header: Header,
    /// What was found.
    pub answer: FolderAnswer,
}

/// A share in tenths of a percent, never rounded to 0 or 100 %.
pub(crate) fn per_mille(part: u64, whole: u64) -> u64 {
    if part == whole {
        return 1000;
    }
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let rounded = (part * 2000 + whole) / (whole * 2);
    let rounded = u64::try_from(rounded).unwrap_or(1000);
    rounded.clamp(u64::from(part > 0), 999)
}
