//! What must be true of single rows, as data: `verify` counts the rows that
//! break a rule, and `repair` repairs the same rows.

use rusqlite::Connection;

use crate::catalog::store::schema::words;
use crate::catalog::store::terms::{self, FORGET_DIGEST, UNREAD};
use crate::model::sampling::{SHORT, most_zeros};

/// A rule about the rows of one table.
pub(crate) struct Rule {
    table: &'static str,
    /// The rows that break it, in words.
    pub(crate) broken: &'static str,
    /// The rows that break it, in SQL.
    condition: String,
    /// How they are repaired; `None` if that would be a guess.
    pub(crate) mend: Option<Mend>,
}

/// How rows that break a rule are repaired.
pub(crate) struct Mend {
    /// In words, after their number.
    pub(crate) words: &'static str,
    /// The statement.
    pub(crate) sql: String,
}

impl Rule {
    fn new(table: &'static str, broken: &'static str, condition: impl Into<String>) -> Self {
        Self {
            table,
            broken,
            condition: condition.into(),
            mend: None,
        }
    }

    fn mended(mut self, words: &'static str, sql: String) -> Self {
        self.mend = Some(Mend { words, sql });
        self
    }

    /// Repaired by deleting the rows.
    fn deleted(self) -> Self {
        let sql = format!("DELETE FROM {} WHERE {}", self.table, self.condition);
        self.mended("deleted", sql)
    }

    /// Repaired by changing columns of the rows.
    fn set(self, words: &'static str, columns: &str) -> Self {
        let sql = format!(
            "UPDATE {} SET {columns} WHERE {}",
            self.table, self.condition
        );
        self.mended(words, sql)
    }

    /// What the rows are called, and the column with their number.
    fn unit(&self) -> (&'static str, &'static str) {
        match self.table {
            "faults" => ("error", "id"),
            "folders" => ("folder", "id"),
            "scans" => ("scan", "id"),
            "volumes" => ("volume", "id"),
            "actions" => ("entry", "id"),
            "runs" => ("run", "id"),
            "plans" => ("plan", "id"),
            "plan_files" => ("plan", "plan"),
            _ => ("folder", "folder"),
        }
    }

    /// The rows that break the rule in one line, if there are any.
    pub(crate) fn problem(&self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        let Self {
            table,
            broken,
            condition,
            ..
        } = self;
        let (unit, number) = self.unit();
        let sql = format!("SELECT count(*), min({number}) FROM {table} WHERE {condition}");
        connection.query_row(&sql, [], |row| {
            let (count, first): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(first.map(|first| format!("{broken}: {count} (first: {unit} {first})")))
        })
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
/// SQLite's integrity check skips them.
fn range_rules() -> Vec<Rule> {
    let faults = format!("attempts < 1 OR {}", words::has_unknown_word("faults"));
    let digests = format!(
        "length(digest) / 2 NOT IN ({})",
        words::half_digest_lengths()
    );
    vec![
        Rule::new(
            "files",
            "files with a value out of range",
            "size < 0 OR allocated < 0 OR racy NOT IN (0, 1) OR length(name) = 0",
        )
        .deleted(),
        Rule::new("faults", "errors with a value out of range", faults).deleted(),
        Rule::new(
            "absences",
            "files restored before they were deleted",
            "returned_in <= removed_in",
        )
        .deleted(),
        Rule::new("corrupted", "corrupted files with an invalid hash", digests).deleted(),
        Rule::new(
            "folders",
            "folders with a value out of range",
            "(parent IS NULL) <> (length(name) = 0) OR mount_point NOT IN (0, 1)",
        ),
        Rule::new(
            "scans",
            "scans with a value out of range",
            words::has_unknown_word("scans"),
        ),
        // The journal is never repaired: it says what became of people's files.
        Rule::new(
            "actions",
            "journal entries with a value out of range",
            words::has_unknown_word("actions"),
        ),
        Rule::new(
            "runs",
            "runs with a value out of range",
            words::has_unknown_word("runs"),
        ),
        Rule::new(
            "plans",
            "plans with a value out of range",
            words::has_unknown_word("plans"),
        ),
        Rule::new(
            "plan_files",
            "planned files with a value out of range",
            words::has_unknown_word("plan_files"),
        ),
        Rule::new(
            "volumes",
            "volumes with a value out of range",
            "stable_inodes NOT IN (0, 1)",
        ),
    ]
}

fn name_rules() -> Vec<Rule> {
    const BAD: &str = "(instr(name, x'2f') OR instr(name, x'00') OR name IN (x'2e', x'2e2e'))";
    vec![
        Rule::new("folders", "folders with an invalid name", BAD),
        Rule::new("files", "files with an invalid name", BAD).deleted(),
    ]
}

/// What a repair says of rows that a scan will find again if they exist.
const UNTIL_SCAN: &str = "marked as deleted until the next scan";

fn tree_rules() -> Vec<Rule> {
    vec![
        Rule::new(
            "folders",
            "folders outside all roots",
            "id NOT IN (
                 WITH RECURSIVE reached (id) AS (
                     SELECT id FROM folders WHERE parent IS NULL
                     UNION
                     SELECT folders.id FROM reached JOIN folders ON folders.parent = reached.id)
                 SELECT id FROM reached)",
        ),
        Rule::new(
            "folders",
            "folders in another root than their parent folder",
            "root <> (SELECT above.root FROM folders AS above WHERE above.id = folders.parent)",
        ),
        Rule::new(
            "folders",
            "live folders inside a deleted one",
            "removed_in IS NULL
             AND parent IN (SELECT id FROM folders WHERE removed_in IS NOT NULL)",
        )
        .mended(
            UNTIL_SCAN,
            "WITH RECURSIVE below (id, scan) AS (
                 SELECT id, removed_in FROM folders WHERE removed_in IS NOT NULL
                 UNION
                 SELECT folders.id, below.scan FROM below JOIN folders ON folders.parent = below.id)
             UPDATE folders SET removed_in = gone.scan
               FROM (SELECT id, max(scan) AS scan FROM below GROUP BY id) AS gone
              WHERE folders.id = gone.id AND folders.removed_in IS NULL"
                .to_owned(),
        ),
        Rule::new(
            "files",
            "live files inside a deleted folder",
            "removed_in IS NULL
             AND folder IN (SELECT id FROM folders WHERE folders.removed_in IS NOT NULL)",
        )
        .set(
            UNTIL_SCAN,
            "removed_in = (SELECT above.removed_in FROM folders AS above
                            WHERE above.id = files.folder)",
        ),
    ]
}

/// About live rows only: which volume a folder was on when a file in it was
/// deleted is not known.
fn inode_rules() -> Vec<Rule> {
    vec![
        Rule::new(
            "files",
            "inode numbers on volumes without stable inodes",
            "removed_in IS NULL AND ino IS NOT NULL
             AND folder IN (SELECT folders.id FROM folders
                              JOIN volumes ON volumes.id = folders.volume
                             WHERE NOT stable_inodes)",
        )
        .set("forgotten", "ino = NULL"),
        Rule::new(
            "files",
            "live files without a volume",
            "removed_in IS NULL
             AND folder IN (SELECT folders.id FROM folders
                              LEFT JOIN volumes ON volumes.id = folders.volume
                             WHERE volumes.id IS NULL)",
        )
        .set(
            UNTIL_SCAN,
            "removed_in = (SELECT coalesce(max(id), 0) FROM scans)",
        ),
    ]
}

/// True of a sparse digest, which has one byte more than others.
const SPARSE: &str = "(length(digest) % 2)";

fn digest_rules() -> Vec<Rule> {
    let length = format!(
        "length(digest) - {SPARSE} <> (SELECT {} FROM catalog)",
        words::digest_length_of("algorithm")
    );
    let dense = format!("{SPARSE} AND size <= {}", most_zeros());
    let empty = format!("size = 0 AND NOT {UNREAD}");
    let short = format!("size BETWEEN 1 AND {SHORT} AND probe IS NOT NULL");
    let lone = format!("size > {SHORT} AND digest IS NOT NULL AND probe IS NULL");
    vec![
        Rule::new(
            "files",
            "hashes of the wrong length for the catalog's algorithm",
            length,
        )
        .set("forgotten", FORGET_DIGEST),
        Rule::new(
            "files",
            "sparse hashes of files too small to have one",
            dense,
        )
        .set("forgotten", FORGET_DIGEST),
        Rule::new("files", "empty files with a probe or a hash", empty)
            .set("forgotten", &terms::forget_content()),
        Rule::new("files", "probes of files too small to have one", short)
            .set("forgotten", "probe = NULL"),
        Rule::new("files", "hashes without the probe that comes first", lone)
            .set("forgotten", FORGET_DIGEST),
        Rule::new(
            "files",
            "files marked as compared without a probe or with a hash",
            "settled_in IS NOT NULL AND (digest IS NOT NULL OR probe IS NULL)",
        )
        .set("to be compared again", "settled_in = NULL"),
    ]
}

fn scan_rules() -> Vec<Rule> {
    vec![
        Rule::new(
            "faults",
            "errors of folders that are deleted or in another root",
            "folder IN (
                 SELECT id FROM folders WHERE removed_in IS NOT NULL OR folders.root <> faults.root)",
        )
        .deleted(),
        Rule::new(
            "scans",
            "scans marked complete that did not finish",
            "state = 'complete' AND (stage <> 'settle' OR finished_at IS NULL)",
        )
        .set(
            "marked as interrupted",
            "state = 'interrupted', finished_at = NULL",
        ),
    ]
}
