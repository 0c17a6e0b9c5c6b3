//! The words that columns may hold. Both the CHECK constraints of the schema
//! and the rules of `verify` come from this list: `repair` deletes rows with
//! unknown words, and must not delete what this program writes.

use std::collections::BTreeSet;

use crate::model::{
    Action, ActionState, Algorithm, FaultClass, Mode, Role, ScanCounters, ScanState, Stage, Step,
};

/// All columns that hold a word of an enum: the table, the column, and its words
/// as SQL.
pub(crate) fn word_columns() -> [(&'static str, &'static str, String); 12] {
    let algorithms = || quoted(Algorithm::ALL.iter().map(|algorithm| algorithm.name()));
    let actions = || quoted(Action::ALL.iter().map(|action| action.name()));
    let modes = Mode::ALL.iter().map(|mode| mode.name());
    let states = ScanState::ALL.iter().map(|state| state.name());
    [
        ("catalog", "algorithm", algorithms()),
        ("scans", "state", quoted(states)),
        (
            "scans",
            "stage",
            quoted(Stage::ALL.iter().map(|s| s.name())),
        ),
        ("scans", "mode", quoted(modes.chain([Mode::RETRY]))),
        ("scans", "algorithm", algorithms()),
        ("hash_states", "algorithm", algorithms()),
        ("faults", "step", quoted(Step::ALL.iter().map(|s| s.name()))),
        (
            "faults",
            "class",
            quoted(FaultClass::ALL.iter().map(|c| c.name())),
        ),
        ("plans", "action", actions()),
        ("runs", "action", actions()),
        (
            "plan_files",
            "role",
            quoted(Role::ALL.iter().map(|r| r.name())),
        ),
        (
            "actions",
            "state",
            quoted(ActionState::ALL.iter().map(|s| s.name())),
        ),
    ]
}

fn quoted(words: impl Iterator<Item = &'static str>) -> String {
    let quoted: Vec<_> = words.map(|word| format!("'{word}'")).collect();
    quoted.join(", ")
}

/// True of a row of `table` that holds a word of no enum.
pub(crate) fn has_unknown_word(table: &str) -> String {
    let columns = word_columns().into_iter().filter(|(of, ..)| *of == table);
    let conditions: Vec<_> = columns
        .map(|(_, column, words)| format!("{column} NOT IN ({words})"))
        .collect();
    conditions.join(" OR ")
}

/// The states of actions that a crash can leave, as SQL.
pub(crate) fn open_actions() -> String {
    let states = ActionState::ALL.iter().filter(|state| state.is_open());
    quoted(states.map(|state| state.name()))
}

/// The columns of the counters of a scan.
pub(crate) fn scan_counters() -> String {
    let columns = ScanCounters::NAMES.iter();
    let columns: Vec<_> = columns
        .map(|name| format!("{name} INTEGER NOT NULL DEFAULT 0"))
        .collect();
    columns.join(",\n    ")
}

/// Half the lengths that digests have, as SQL: rounded down, those of both kinds have
/// the same. SQLite looks a value up in a list of two, but builds a table of more of
/// them for every row that it checks.
pub(crate) fn half_digest_lengths() -> String {
    let lengths: BTreeSet<_> = Algorithm::ALL.iter().map(|a| a.digest_len() / 2).collect();
    let lengths: Vec<_> = lengths.iter().map(ToString::to_string).collect();
    lengths.join(", ")
}

/// The length that ordinary digests of the algorithm in `column` have, as SQL; sparse
/// ones are a byte longer.
pub(crate) fn digest_length_of(column: &str) -> String {
    let cases = Algorithm::ALL
        .iter()
        .map(|algorithm| format!("WHEN '{algorithm}' THEN {}", algorithm.digest_len()));
    format!("CASE {column} {} END", cases.collect::<Vec<_>>().join(" "))
}
