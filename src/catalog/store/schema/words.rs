//! The words that columns may hold. Both the CHECK constraints of the schema
//! and the rules of `verify` come from this list: `repair` deletes rows with
//! unknown words, and must not delete what this program writes.

use std::collections::BTreeSet;

use crate::model::{Algorithm, FaultClass, Mode, ScanCounters, ScanState, Stage, Step};

/// A column that holds a word of an enum.
pub(crate) struct WordColumn {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    words: Vec<&'static str>,
}

impl WordColumn {
    fn new(
        table: &'static str,
        column: &'static str,
        words: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self {
            table,
            column,
            words: words.into_iter().collect(),
        }
    }

    /// The words as SQL, separated by commas.
    pub(crate) fn list(&self) -> String {
        let quoted: Vec<_> = self.words.iter().map(|word| format!("'{word}'")).collect();
        quoted.join(", ")
    }
}

/// All columns that hold a word of an enum.
pub(crate) fn word_columns() -> Vec<WordColumn> {
    let algorithms = || Algorithm::ALL.iter().map(|algorithm| algorithm.name());
    let modes = Mode::ALL.iter().map(|mode| mode.name());
    vec![
        WordColumn::new("catalog", "algorithm", algorithms()),
        WordColumn::new("scans", "state", ScanState::ALL.iter().map(|s| s.name())),
        WordColumn::new("scans", "stage", Stage::ALL.iter().map(|s| s.name())),
        WordColumn::new("scans", "mode", modes.chain([Mode::RETRY])),
        WordColumn::new("scans", "algorithm", algorithms()),
        WordColumn::new("hash_states", "algorithm", algorithms()),
        WordColumn::new("faults", "step", Step::ALL.iter().map(|s| s.name())),
        WordColumn::new("faults", "class", FaultClass::ALL.iter().map(|c| c.name())),
    ]
}

/// True of a row of `table` that holds a word of no enum.
pub(crate) fn has_unknown_word(table: &str) -> String {
    let columns = word_columns().into_iter();
    let conditions: Vec<_> = columns
        .filter(|column| column.table == table)
        .map(|column| format!("{} NOT IN ({})", column.column, column.list()))
        .collect();
    conditions.join(" OR ")
}

/// The columns of the counters of a scan.
pub(crate) fn scan_counters() -> String {
    let columns = ScanCounters::NAMES.iter();
    let columns: Vec<_> = columns
        .map(|name| format!("{name} INTEGER NOT NULL DEFAULT 0"))
        .collect();
    columns.join(",\n    ")
}

/// The lengths that digests have, as SQL.
pub(crate) fn digest_lengths() -> String {
    let lengths: BTreeSet<_> = Algorithm::ALL.iter().map(|a| a.digest_len()).collect();
    let lengths: Vec<_> = lengths.iter().map(ToString::to_string).collect();
    lengths.join(", ")
}

/// The length that digests of the algorithm in `column` have, as SQL.
pub(crate) fn digest_length_of(column: &str) -> String {
    let cases = Algorithm::ALL
        .iter()
        .map(|algorithm| format!("WHEN '{algorithm}' THEN {}", algorithm.digest_len()));
    format!("CASE {column} {} END", cases.collect::<Vec<_>>().join(" "))
}
