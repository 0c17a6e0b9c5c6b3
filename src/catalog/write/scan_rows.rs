//! What the writer changes in a row of `scans`: its counters, state and stage.

use std::sync::LazyLock;

use rusqlite::{Connection, params, params_from_iter};

use crate::catalog::store::{signed, sql};
use crate::model::{ScanCounters, ScanId, ScanState, Stage, Timestamp};

impl ScanCounters {
    /// Adds them to the row of a scan.
    pub(crate) fn add_to(mut self, connection: &Connection, scan: ScanId) -> rusqlite::Result<()> {
        let counts = self.each().map(|count| signed(*count));
        let values = [scan.0, Timestamp::now().0].into_iter().chain(counts);
        sql::run(connection, &ADD, params_from_iter(values)).map(drop)
    }
}

static ADD: LazyLock<String> = LazyLock::new(|| {
    let sums = (3..).zip(ScanCounters::NAMES);
    let sums: String = sums
        .map(|(at, name)| format!(", {name} = min({name} + ?{at}, {})", i64::MAX))
        .collect();
    format!("UPDATE scans SET updated_at = ?2{sums} WHERE id = ?1")
});

/// Moves a scan to another state and stage.
pub(crate) fn set_state(
    connection: &Connection,
    scan: ScanId,
    state: ScanState,
    stage: Stage,
) -> rusqlite::Result<()> {
    let now = Timestamp::now();
    let finished = (state == ScanState::Complete).then_some(now);
    let set = "UPDATE scans SET state = ?2, stage = ?3, updated_at = ?4, finished_at = ?5
         WHERE id = ?1";
    let values = params![scan, state.name(), stage.name(), now, finished];
    sql::run(connection, set, values).map(drop)
}
