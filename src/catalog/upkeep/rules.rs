//! What must be true of single rows, as data: `verify` counts the rows that
//! break a rule, and `repair` repairs the same rows.

use rusqlite::Connection;

use crate::catalog::store::schema::words;
use crate::catalog::store::terms::{self, FORGET_DIGEST, UNREAD};
use crate::model::sampling::SHORT;

/// A rule about the rows of one table.
pub(crate) struct Rule {
    /// The rows that break it, in words.
    pub(crate) broken: &'static str,
    /// How they are repaired; `None` if that would be a guess.
    pub(crate) mend: Option<Mend>,
    /// What the rows are called, before the number of the first.
    unit: &'static str,
    /// Counts the rows and finds the first.
    sql: String,
}

/// How rows that break a rule are repaired.
pub(crate) struct Mend {
    /// In words, after their number.
    pub(crate) words: &'static str,
    /// The statement.
    pub(crate) sql: String,
}

/// The rows that break a rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrokenRows {
    count: i64,
    first: i64,
}

impl Rule {
    /// The rows of `files` where `condition` holds.
    fn files(broken: &'static str, condition: &str) -> Self {
        Self {
            broken,
            mend: None,
            unit: "folder",
            sql: format!("SELECT count(*), min(folder) FROM files WHERE {condition}"),
        }
    }

    /// The rows of a table about files where `condition` holds.
    fn notes(broken: &'static str, table: &str, condition: &str) -> Self {
        Self {
            broken,
            mend: None,
            unit: "folder",
            sql: format!("SELECT count(*), min(folder) FROM {table} WHERE {condition}"),
        }
        .mended("deleted", format!("DELETE FROM {table} WHERE {condition}"))
    }

    /// The rows of another table where `condition` holds.
    fn rows(broken: &'static str, table: &str, unit: &'static str, condition: &str) -> Self {
        Self {
            broken,
            mend: None,
            unit,
            sql: format!("SELECT count(*), min(id) FROM {table} WHERE {condition}"),
        }
    }

    fn mended(mut self, words: &'static str, sql: impl Into<String>) -> Self {
        self.mend = Some(Mend {
            words,
            sql: sql.into(),
        });
        self
    }

    /// The rows that break the rule, if any.
    pub(crate) fn broken_rows(
        &self,
        connection: &Connection,
    ) -> rusqlite::Result<Option<BrokenRows>> {
        connection.query_row(&self.sql, [], |row| {
            let (count, first): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(first.map(|first| BrokenRows { count, first }))
        })
    }

    /// The problem in one line.
    pub(crate) fn sentence(&self, rows: BrokenRows) -> String {
        let BrokenRows { count, first } = rows;
        format!("{}: {count} (first: {} {first})", self.broken, self.unit)
    }
}

/// All rules, in the order of repair: what is live first.
pub(crate) fn rules() -> Vec<Rule> {
    let mut rules = range_rules();
    rules.extend(name_rules());
    rules.extend(tree_rules());
    rules.extend(inode_rules());
    rules.extend(digest_rules());
    rules.extend(scan_rules());
    rules
}

/// The CHECK constraints of the schema once more: on a read-only connection
/// SQLite's integrity check leaves them out.
fn range_rules() -> Vec<Rule> {
    const FILES: &str = "size < 0 OR allocated < 0 OR racy NOT IN (0, 1) OR length(name) = 0";
    let faults = format!("attempts < 1 OR {}", words::has_unknown_word("faults"));
    let digests = format!("length(digest) NOT IN ({})", words::digest_lengths());
    vec![
        Rule::files("files with a value out of range", FILES)
            .mended("deleted", format!("DELETE FROM files WHERE {FILES}")),
        Rule::rows(
            "errors with a value out of range",
            "faults",
            "error",
            &faults,
        )
        .mended("deleted", format!("DELETE FROM faults WHERE {faults}")),
        Rule::notes(
            "files restored before they were deleted",
            "absences",
            "returned_in <= removed_in",
        ),
        Rule::notes(
            "corrupted files with an invalid hash",
            "corrupted",
            &digests,
        ),
        Rule::rows(
            "folders with a value out of range",
            "folders",
            "folder",
            "(parent IS NULL) <> (length(name) = 0) OR mount_point NOT IN (0, 1)",
        ),
        Rule::rows(
            "scans with a value out of range",
            "scans",
            "scan",
            &words::has_unknown_word("scans"),
        ),
        Rule::rows(
            "volumes with a value out of range",
            "volumes",
            "volume",
            "stable_inodes NOT IN (0, 1)",
        ),
    ]
}

fn name_rules() -> Vec<Rule> {
    const BAD: &str = "(instr(name, x'2f') OR instr(name, x'00') OR name IN (x'2e', x'2e2e'))";
    vec![
        Rule::rows("folders with an invalid name", "folders", "folder", BAD),
        Rule::files("files with an invalid name", BAD)
            .mended("deleted", format!("DELETE FROM files WHERE {BAD}")),
    ]
}

fn tree_rules() -> Vec<Rule> {
    const IN_REMOVED: &str = "removed_in IS NULL
        AND folder IN (SELECT id FROM folders WHERE folders.removed_in IS NOT NULL)";
    vec![
        Rule::rows(
            "folders outside all roots",
            "folders",
            "folder",
            "id NOT IN (
                 WITH RECURSIVE reached (id) AS (
                     SELECT id FROM folders WHERE parent IS NULL
                     UNION
                     SELECT folders.id FROM reached JOIN folders ON folders.parent = reached.id)
                 SELECT id FROM reached)",
        ),
        Rule::rows(
            "folders in another root than their parent folder",
            "folders",
            "folder",
            "root <> (SELECT above.root FROM folders AS above WHERE above.id = folders.parent)",
        ),
        Rule::rows(
            "live folders inside a deleted one",
            "folders",
            "folder",
            "removed_in IS NULL
             AND parent IN (SELECT id FROM folders WHERE removed_in IS NOT NULL)",
        )
        .mended(
            "marked as deleted until the next scan",
            "WITH RECURSIVE below (id, scan) AS (
                 SELECT id, removed_in FROM folders WHERE removed_in IS NOT NULL
                 UNION
                 SELECT folders.id, below.scan FROM below JOIN folders ON folders.parent = below.id)
             UPDATE folders SET removed_in = gone.scan
               FROM (SELECT id, max(scan) AS scan FROM below GROUP BY id) AS gone
              WHERE folders.id = gone.id AND folders.removed_in IS NULL",
        ),
        Rule::files("live files inside a deleted folder", IN_REMOVED).mended(
            "marked as deleted until the next scan",
            format!(
                "UPDATE files
                    SET removed_in = (SELECT above.removed_in FROM folders AS above
                                       WHERE above.id = files.folder)
                  WHERE {IN_REMOVED}"
            ),
        ),
    ]
}

/// About live rows only: which volume a folder was on when a file in it was
/// deleted is not known.
fn inode_rules() -> Vec<Rule> {
    const MEANINGLESS: &str = "removed_in IS NULL AND ino IS NOT NULL
        AND folder IN (SELECT folders.id FROM folders JOIN volumes ON volumes.id = folders.volume
                        WHERE NOT stable_inodes)";
    const UNPLACED: &str = "removed_in IS NULL
        AND folder IN (SELECT folders.id FROM folders
                         LEFT JOIN volumes ON volumes.id = folders.volume
                        WHERE volumes.id IS NULL)";
    vec![
        Rule::files(
            "inode numbers on volumes without stable inodes",
            MEANINGLESS,
        )
        .mended(
            "forgotten",
            format!("UPDATE files SET ino = NULL WHERE {MEANINGLESS}"),
        ),
        Rule::files("live files without a volume", UNPLACED).mended(
            "marked as deleted until the next scan",
            format!(
                "UPDATE files SET removed_in = (SELECT coalesce(max(id), 0) FROM scans)
                  WHERE {UNPLACED}"
            ),
        ),
    ]
}

fn digest_rules() -> Vec<Rule> {
    let length = format!(
        "length(digest) <> (SELECT {} FROM catalog)",
        words::digest_length_of("algorithm")
    );
    let empty = format!("size = 0 AND NOT {UNREAD}");
    const SETTLED: &str = "settled_in IS NOT NULL AND (digest IS NOT NULL OR probe IS NULL)";
    let short = format!("size BETWEEN 1 AND {SHORT} AND probe IS NOT NULL");
    let lone = format!("size > {SHORT} AND digest IS NOT NULL AND probe IS NULL");
    let forget =
        |columns: &str, condition: &str| format!("UPDATE files SET {columns} WHERE {condition}");
    vec![
        Rule::files(
            "hashes of the wrong length for the catalog's algorithm",
            &length,
        )
        .mended("forgotten", forget(FORGET_DIGEST, &length)),
        Rule::files("empty files with a probe or a hash", &empty)
            .mended("forgotten", forget(&terms::forget_content(), &empty)),
        Rule::files("probes of files too small to have one", &short)
            .mended("forgotten", forget("probe = NULL", &short)),
        Rule::files("hashes without the probe that comes first", &lone)
            .mended("forgotten", forget(FORGET_DIGEST, &lone)),
        Rule::files(
            "files marked as compared without a probe or with a hash",
            SETTLED,
        )
        .mended("to be compared again", forget("settled_in = NULL", SETTLED)),
    ]
}

fn scan_rules() -> Vec<Rule> {
    const MISPLACED: &str = "folder IN (
        SELECT id FROM folders WHERE removed_in IS NOT NULL OR folders.root <> faults.root)";
    const NOT_ENDED: &str = "state = 'complete' AND (stage <> 'settle' OR finished_at IS NULL)";
    vec![
        Rule::rows(
            "errors of folders that are deleted or in another root",
            "faults",
            "error",
            MISPLACED,
        )
        .mended("deleted", format!("DELETE FROM faults WHERE {MISPLACED}")),
        Rule::rows(
            "scans marked complete that did not finish",
            "scans",
            "scan",
            NOT_ENDED,
        )
        .mended(
            "marked as interrupted",
            format!("UPDATE scans SET state = 'interrupted', finished_at = NULL WHERE {NOT_ENDED}"),
        ),
    ]
}
