//! The tables of the catalog and the ordered steps that bring an older catalog
//! up to date. `docs/CATALOG.md` explains every column.

#[cfg(test)]
mod tests;
pub(crate) mod words;

use std::collections::HashSet;

use rusqlite::{Connection, Transaction};
use sha2::Digest as _;

use super::error::CatalogError;
use super::sql;

/// Marks a SQLite file as a dupescan catalog ("dups").
pub(crate) const APPLICATION_ID: i32 = 0x6475_7073;
/// What catalogs had before the first release ("dupe"). Their nine versions
/// count differently, so a new mark tells the two apart.
const UNRELEASED_ID: i32 = 0x6475_7065;

/// Changes the tables of one version into those of the next.
pub(crate) type Step = fn(&Connection) -> rusqlite::Result<()>;

/// The tables as this program knows them. Step `n` turns version `n` into
/// version `n + 1`; a released step is never edited.
pub(crate) struct Schema {
    steps: &'static [Step],
    /// What [`sum`] gives after each step.
    sums: &'static [&'static str],
}

/// The schema of this program.
pub(crate) const SCHEMA: Schema = Schema {
    steps: &[first],
    sums: &[FIRST],
};

/// Adding a word to an enum changes the CHECK constraints of step 1, and every
/// catalog made before would count as damaged. Until the first release this sum
/// may change; after it, a new word needs a step that rebuilds the table, and
/// step 1 keeps its old words.
const FIRST: &str = "f7de13084246e6d37453e03c58b582827448b1f9e1c0784aa652e78b3e2af71a";

impl Schema {
    /// The version that it writes.
    pub(crate) fn version(&self) -> i32 {
        i32::try_from(self.steps.len()).expect("there is a handful of steps")
    }

    /// The version of a catalog; an error when the file is not a catalog or
    /// newer than this program. 0 means: an empty file.
    pub(crate) fn version_of(&self, connection: &Connection) -> Result<i32, CatalogError> {
        let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
        let (found, application): (i32, i32) = (number("user_version")?, number("application_id")?);
        let is_empty: bool = sql::value(connection, "SELECT count(*) = 0 FROM sqlite_schema", [])?;
        if is_empty && found == 0 {
            return Ok(0);
        }
        let known = self.version();
        match application {
            UNRELEASED_ID => Err(CatalogError::Unreleased),
            APPLICATION_ID if found > known => Err(CatalogError::Newer { found, known }),
            APPLICATION_ID if found < 1 => Err(CatalogError::Damaged),
            APPLICATION_ID => Ok(found),
            _ => Err(CatalogError::Foreign),
        }
    }

    /// Creates the tables in a new file, or runs the steps an older one lacks.
    pub(crate) fn migrate(&self, transaction: &Transaction<'_>) -> Result<(), CatalogError> {
        let found = usize::try_from(self.version_of(transaction)?).unwrap_or(0);
        if found == self.steps.len() {
            return Ok(());
        }
        for step in &self.steps[found..] {
            step(transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", self.version())?;
        Ok(())
    }

    /// Whether everything that the steps up to `version` made is still there,
    /// word for word. A damaged definition can be valid SQL, and would be
    /// noticed only by a statement that misses a column, after others have
    /// changed the file.
    pub(crate) fn is_intact(
        &self,
        connection: &Connection,
        version: i32,
    ) -> rusqlite::Result<bool> {
        let steps = usize::try_from(version).unwrap_or(0);
        // Mostly nothing was added, and the tables need not be made to compare them.
        let known = steps.checked_sub(1).and_then(|last| self.sums.get(last));
        if known.is_some_and(|known| sum(connection).is_ok_and(|sum| sum == *known)) {
            return Ok(true);
        }
        let made = Connection::open_in_memory()?;
        self.steps
            .iter()
            .take(steps)
            .try_for_each(|run| run(&made))?;
        Ok(definitions(&made)?.is_subset(&definitions(connection)?))
    }
}

fn definitions(connection: &Connection) -> rusqlite::Result<HashSet<(String, Option<String>)>> {
    sql::all(
        connection,
        "SELECT name, sql FROM sqlite_schema",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// The SHA-256 of all definitions.
fn sum(connection: &Connection) -> rusqlite::Result<String> {
    let all = "SELECT group_concat(sql, char(10)) FROM (
                 SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name)";
    let all: String = sql::value(connection, all, [])?;
    let sum = sha2::Sha256::digest(all.as_bytes());
    Ok(sum.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn first(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&first_sql())
}

fn first_sql() -> String {
    let mut sql = include_str!("first.sql")
        .replace("{half_digest_lengths}", &words::half_digest_lengths())
        .replace("{scans.counters}", &words::scan_counters())
        .replace("{open_actions}", &words::open_actions());
    for (table, column, words) in words::word_columns() {
        sql = sql.replace(&format!("{{{table}.{column}}}"), &words);
    }
    sql
}
