//! Repairs what `verify` finds: rows that contradict each other are reduced to
//! what is certain, and the next scan finds out the rest.

use rusqlite::{Connection, params};

use super::rules::rules;
use super::verify::{miscounted, references, unsettled};
use crate::catalog::store::{CatalogError, Exclusive, integrity, refuse_damage};
use crate::catalog::write::{forget_summary, signature, unsettle};

/// Rows whose parent is missing; deleting one can orphan others.
const ORPHANS: [&str; 6] = [
    "DELETE FROM scans WHERE root NOT IN (SELECT id FROM roots)",
    "DELETE FROM folders WHERE root NOT IN (SELECT id FROM roots)",
    "DELETE FROM folders WHERE parent NOT IN (SELECT id FROM folders)",
    "DELETE FROM files WHERE folder NOT IN (SELECT id FROM folders)",
    "DELETE FROM faults WHERE root NOT IN (SELECT id FROM roots)",
    "DELETE FROM faults WHERE folder NOT IN (SELECT id FROM folders)",
];

/// Tables with notes about files. Foreign keys are off during a repair, so
/// deleting a file leaves its notes behind.
const NOTES: [&str; 4] = ["hash_states", "audits", "corrupted", "absences"];

/// A root or folder is worth more than its volume, which the next scan finds out.
const LOST_VOLUMES: &str = "
    INSERT INTO volumes (id, identity, fstype, stable_inodes, last_seen)
    SELECT volume, 'lost:' || volume, 'unknown',
           EXISTS (SELECT 1 FROM folders JOIN files ON files.folder = folders.id
                    WHERE folders.volume = lost.volume AND files.ino IS NOT NULL), 0
      FROM (SELECT volume FROM roots UNION SELECT volume FROM folders) AS lost
     WHERE volume IS NOT NULL AND volume NOT IN (SELECT id FROM volumes)";

const MISSING_TOPS: &str = "
    INSERT INTO folders (root, parent, name, first_scan)
    SELECT id, NULL, x'', 1 FROM roots
     WHERE id NOT IN (SELECT root FROM folders WHERE parent IS NULL)";

impl Exclusive {
    /// Repairs what it can, in one transaction; returns what was done. A file that
    /// SQLite itself finds damaged is refused.
    pub fn repair(&mut self) -> Result<Vec<String>, CatalogError> {
        refuse_damage(integrity(&self.connection))?;
        // Off while orphans are deleted: they already break the rules.
        self.connection.pragma_update(None, "foreign_keys", false)?;
        let done = self.mend();
        self.connection.pragma_update(None, "foreign_keys", true)?;
        done
    }

    fn mend(&mut self) -> Result<Vec<String>, CatalogError> {
        let transaction = self.connection.transaction()?;
        let mut done = mend_references(&transaction)?;
        let tops = transaction.execute(MISSING_TOPS, [])?;
        if tops > 0 {
            done.push(format!("roots without a top folder: {tops} repaired"));
        }
        done.extend(mend_rows(&transaction)?);
        drop_notes(&transaction)?;
        if let Some(sentence) = unsettled(&transaction)? {
            unsettle(&transaction)?;
            done.push(format!("{sentence}, left to the next scan"));
        }
        done.extend(recount(&transaction)?);
        forget_summary(&transaction)?;
        if let Some(sentence) = signature::wrong(&transaction)? {
            signature::forget_all(&transaction)?;
            done.push(format!("{sentence}, forgotten"));
        }
        transaction.commit()?;
        Ok(done)
    }
}

fn mend_references(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let broken = references(connection)?;
    if broken.is_empty() {
        return Ok(Vec::new());
    }
    let volumes = connection.execute(LOST_VOLUMES, [])?;
    let mut deleted = 0;
    loop {
        let mut round = 0;
        for orphans in ORPHANS {
            round += connection.execute(orphans, [])?;
        }
        if round == 0 {
            break;
        }
        deleted += round;
    }
    deleted += drop_notes(connection)?;
    Ok(vec![format!(
        "rows that pointed to missing rows: {deleted} deleted, {volumes} volumes added"
    )])
}

/// Deletes the notes about files that do not exist; returns how many.
fn drop_notes(connection: &Connection) -> rusqlite::Result<usize> {
    let mut dropped = 0;
    for table in NOTES {
        let sql = format!(
            "DELETE FROM {table} WHERE NOT EXISTS (
                 SELECT 1 FROM files WHERE files.folder = {table}.folder
                    AND files.name = {table}.name)"
        );
        dropped += connection.execute(&sql, [])?;
    }
    Ok(dropped)
}

fn mend_rows(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut done = Vec::new();
    for rule in rules() {
        if let Some(mend) = &rule.mend {
            let mended = connection.execute(&mend.sql, [])?;
            if mended > 0 {
                done.push(format!("{}: {mended} {}", rule.broken, mend.words));
            }
        }
    }
    Ok(done)
}

fn recount(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let wrong = miscounted(connection)?;
    for root in &wrong {
        let [folders, files, bytes] = root.counted;
        connection.execute(
            "UPDATE roots SET folders = ?2, files = ?3, bytes = ?4 WHERE id = ?1",
            params![root.root, folders, files, bytes],
        )?;
    }
    Ok(match wrong.len() {
        0 => Vec::new(),
        count => vec![format!("counters of roots: {count} recounted")],
    })
}
