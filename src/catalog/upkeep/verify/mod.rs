//! Checks the catalog: SQLite's own checks, then what must be true of its rows.
//! Nothing here writes.

#[cfg(test)]
mod tests;

use std::path::{Component, Path, PathBuf};

use rusqlite::Connection;

use crate::catalog::query::count_unchecked;
use crate::catalog::store::schema::SCHEMA;
use crate::catalog::store::{CatalogError, ReadOnly, integrity, is_damage, rows, sql, terms};
use crate::catalog::upkeep::rules::rules;
use crate::catalog::write::signature;
use crate::model::RootId;
use crate::model::sampling::PROBE_VERSION;

/// Something that is wrong with the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub sentence: String,
    /// Whether [`Exclusive::repair`](crate::catalog::store::Exclusive::repair) mends it.
    pub mendable: bool,
}

impl Problem {
    fn mendable(sentence: String) -> Self {
        Self {
            sentence,
            mendable: true,
        }
    }

    fn beyond_repair(sentence: String) -> Self {
        Self {
            sentence,
            mendable: false,
        }
    }
}

impl ReadOnly {
    /// Checks the whole catalog as of one moment; nothing found means it is
    /// sound. Damage that SQLite meets on the way is a problem, not an error.
    pub fn verify(&self) -> Result<Vec<Problem>, CatalogError> {
        // A scan may be writing: counters and rows must come from one snapshot.
        let snapshot = self.connection.unchecked_transaction()?;
        match self.examine(&snapshot) {
            Err(CatalogError::Sqlite(error)) if is_damage(&error) => {
                Ok(vec![Problem::beyond_repair(format!(
                    "SQLite cannot read all of it: {error}"
                ))])
            }
            other => other,
        }
    }

    fn examine(&self, snapshot: &Connection) -> Result<Vec<Problem>, CatalogError> {
        let broken = integrity(snapshot)?;
        if !broken.is_empty() {
            // Rows read from a damaged file would only raise false alarms.
            return Ok(broken.into_iter().map(Problem::beyond_repair).collect());
        }
        self.refuse_older(&SCHEMA)?;
        examine_rows(snapshot)
    }
}

fn examine_rows(connection: &Connection) -> Result<Vec<Problem>, CatalogError> {
    let mut problems = header(connection)?;
    if !problems.is_empty() {
        return Ok(problems);
    }
    problems.extend(references(connection)?.into_iter().map(Problem::mendable));
    problems.extend(roots(connection)?);
    for rule in rules() {
        problems.extend(rule.problem(connection)?.map(|sentence| Problem {
            sentence,
            mendable: rule.mend.is_some(),
        }));
    }
    problems.extend(signature::wrong(connection)?.map(Problem::mendable));
    problems.extend(unsettled(connection)?.map(Problem::mendable));
    let wrong = miscounted(connection)?.into_iter();
    problems.extend(wrong.map(|root| Problem::mendable(root.sentence())));
    Ok(problems)
}

/// The one row about the whole catalog.
fn header(connection: &Connection) -> rusqlite::Result<Vec<Problem>> {
    let (rows, version): (i64, Option<i64>) = connection.query_row(
        "SELECT count(*), max(probe_version) FROM catalog",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut problems = Vec::new();
    if rows != 1 {
        problems.push(format!("the table `catalog` has {rows} rows instead of 1"));
    } else if version != Some(PROBE_VERSION) {
        problems.push(format!(
            "probes have version {}, but this dupescan supports version {PROBE_VERSION}",
            version.unwrap_or(0)
        ));
    }
    Ok(problems.into_iter().map(Problem::beyond_repair).collect())
}

/// Rows that point to rows which do not exist, by table.
pub(crate) fn references(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let broken = "SELECT 'rows of `' || \"table\" || '` that point to a missing row of `'
                || \"parent\" || '`: ' || count(*)
           FROM pragma_foreign_key_check GROUP BY \"table\", \"parent\" ORDER BY 1";
    sql::all(connection, broken, [], |row| row.get(0))
}

/// Where the roots lie, and whether each has its top folder.
fn roots(connection: &Connection) -> rusqlite::Result<Vec<Problem>> {
    let roots =
        "SELECT path, (SELECT count(*) FROM folders WHERE root = roots.id AND parent IS NULL)
           FROM roots ORDER BY path";
    let found: Vec<(PathBuf, i64)> = sql::all(connection, roots, [], |row| {
        Ok((rows::path(row, 0)?, row.get(1)?))
    })?;
    let mut problems = Vec::new();
    for (at, (path, tops)) in found.iter().enumerate() {
        let name = path.display();
        let mut is_wrong = |what| problems.push(Problem::beyond_repair(what));
        if *tops > 1 {
            is_wrong(format!(
                "the root {name} has {tops} top folders instead of 1"
            ));
        }
        if !is_plain(path) {
            is_wrong(format!("the root {name} is not a plain absolute path"));
        }
        let inside = found[at + 1..].iter();
        for (inner, _) in inside.filter(|(inner, _)| inner.starts_with(path)) {
            let inner = inner.display();
            is_wrong(format!("the root {inner} is inside the root {name}"));
        }
        if *tops == 0 {
            let sentence = format!("the root {name} has no top folder");
            problems.push(Problem::mendable(sentence));
        }
    }
    Ok(problems)
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// A shortcut that says everything is known when it is not.
pub(crate) fn unsettled(connection: &Connection) -> Result<Option<String>, CatalogError> {
    if !sql::value(connection, "SELECT NOT unsettled FROM catalog", [])? {
        return Ok(None);
    }
    let open = count_unchecked(connection)?;
    Ok(
        (open > 0)
            .then(|| format!("unchecked files in a catalog that claims to have none: {open}")),
    )
}

/// A root whose counters are not what its rows add up to.
pub(crate) struct Miscount {
    pub(crate) root: RootId,
    path: PathBuf,
    said: [i64; 3],
    pub(crate) counted: [i64; 3],
}

impl Miscount {
    fn sentence(&self) -> String {
        let [folders, files, bytes] = self.said;
        let [true_folders, true_files, true_bytes] = self.counted;
        format!(
            "the root {} claims {folders} folders, {files} files and {bytes} bytes, \
             but has {true_folders}, {true_files} and {true_bytes}",
            self.path.display()
        )
    }
}

/// The roots whose counters are wrong.
pub(crate) fn miscounted(connection: &Connection) -> rusqlite::Result<Vec<Miscount>> {
    let counts = format!(
        "SELECT id, path, folders, files, bytes,
                (SELECT count(*) FROM folders WHERE root = roots.id AND removed_in IS NULL),
                (SELECT count(*) FROM folders JOIN files ON files.folder = folders.id
                  WHERE folders.root = roots.id AND files.removed_in IS NULL),
                (SELECT {} FROM folders JOIN files ON files.folder = folders.id
                  WHERE folders.root = roots.id AND files.removed_in IS NULL)
           FROM roots ORDER BY path",
        terms::sum_of_sizes("size")
    );
    let mut found: Vec<_> = sql::all(connection, &counts, [], |row| {
        Ok(Miscount {
            root: row.get(0)?,
            path: rows::path(row, 1)?,
            said: [row.get(2)?, row.get(3)?, row.get(4)?],
            counted: [row.get(5)?, row.get(6)?, row.get(7)?],
        })
    })?;
    found.retain(|root| root.said != root.counted);
    Ok(found)
}
