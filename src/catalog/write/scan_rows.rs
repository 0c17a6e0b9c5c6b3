//! What the writer changes in a row of `scans`: its counters, state and stage.

use rusqlite::{Connection, params};

use super::records::ListingCounts;
use crate::catalog::store::signed;
use crate::model::{ScanCounters, ScanId, ScanState, Stage, Timestamp};

impl ScanCounters {
    /// Adds the figures of one folder.
    pub(crate) fn add_listing(&mut self, counts: &ListingCounts) {
        self.files += counts.files;
        self.bytes += counts.bytes;
        self.added += counts.added;
        self.changed += counts.changed;
        self.ctime_only += counts.ctime_only;
        self.restored += counts.restored;
    }

    pub(crate) fn add_to(&self, connection: &Connection, scan: ScanId) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "UPDATE scans SET folders = folders + ?2, files = files + ?3, bytes = bytes + ?4,
                        added = added + ?5, changed = changed + ?6, ctime_only = ctime_only + ?7,
                        restored = restored + ?8, removed = removed + ?9, probed = probed + ?10,
                        hashed = hashed + ?11, bytes_read = bytes_read + ?12,
                        faults = faults + ?13, updated_at = ?14
                 WHERE id = ?1",
            )?
            .execute(params![
                scan.0,
                signed(self.folders),
                signed(self.files),
                signed(self.bytes),
                signed(self.added),
                signed(self.changed),
                signed(self.ctime_only),
                signed(self.restored),
                signed(self.removed),
                signed(self.probed),
                signed(self.hashed),
                signed(self.bytes_read),
                signed(self.faults),
                Timestamp::now().0,
            ])?;
        Ok(())
    }
}

/// Moves a scan to another state and stage.
pub(crate) fn set_state(
    connection: &Connection,
    scan: ScanId,
    state: ScanState,
    stage: Stage,
) -> rusqlite::Result<()> {
    let now = Timestamp::now().0;
    let finished = (state == ScanState::Complete).then_some(now);
    connection.execute(
        "UPDATE scans SET state = ?2, stage = ?3, updated_at = ?4, finished_at = ?5 WHERE id = ?1",
        params![scan.0, state.name(), stage.name(), now, finished],
    )?;
    Ok(())
}
