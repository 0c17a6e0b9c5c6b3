//! Files that are known to be corrupted (bit rot): an audit found that their
//! content does not match their digest, although their times have not changed.
//! Such a file is not a copy of anything until an audit finds it OK or a scan
//! finds it changed.

use std::collections::HashSet;
use std::ffi::OsString;

use rusqlite::{Connection, Transaction, params};

use crate::catalog::store::terms::{COPY, CORRUPTED, CopyColumns};
use crate::catalog::store::{CatalogError, ReadOnly, blob, forget_summary, rows};
use crate::catalog::write::{WorkName, WriterHandle};
use crate::model::{Digest, FileState, FolderId, Timestamp};

/// Marks a name as corrupted.
pub(crate) fn mark(
    transaction: &Transaction<'_>,
    now: Timestamp,
    (folder, name): &WorkName,
    state: &FileState,
    digest: &Digest,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO corrupted (folder, name, found_at, mtime_ns, ctime_ns, digest)
             SELECT folder, name, ?3, ?4, ?5, ?6 FROM files WHERE folder = ?1 AND name = ?2
             ON CONFLICT (folder, name) DO UPDATE SET
                 found_at = excluded.found_at, mtime_ns = excluded.mtime_ns,
                 ctime_ns = excluded.ctime_ns, digest = excluded.digest",
        )?
        .execute(params![
            folder.0,
            blob(name),
            now.0,
            state.mtime_ns,
            state.ctime_ns,
            digest.as_bytes()
        ])?;
    forget_summary(transaction)
}

/// Removes the mark from a name that was found OK, and from the other names of
/// its copy.
pub(crate) fn heal(
    transaction: &Transaction<'_>,
    (folder, name): &WorkName,
) -> rusqlite::Result<()> {
    let healed = transaction
        .prepare_cached("DELETE FROM corrupted WHERE folder = ?1 AND name = ?2")?
        .execute(params![folder.0, blob(name)])?;
    if healed == 0 {
        return Ok(());
    }
    const SOUND: CopyColumns<'_> = CopyColumns {
        volume: "its.volume",
        ino: "sound.ino",
    };
    transaction.execute(
        &format!(
            "DELETE FROM corrupted WHERE (folder, name) IN (
             SELECT corrupted.folder, corrupted.name
               FROM corrupted JOIN files ON files.folder = corrupted.folder AND files.name = corrupted.name
               JOIN folders ON folders.id = files.folder
               JOIN files AS sound ON sound.folder = ?1 AND sound.name = ?2
               JOIN folders AS its ON its.id = sound.folder
              WHERE {})",
            COPY.is(&SOUND)
        ),
        params![folder.0, blob(name)],
    )?;
    forget_summary(transaction)
}

/// Removes the marks of all files in a folder, which will be read again; returns
/// how many there were.
pub(crate) fn forget(connection: &Connection, folder: FolderId) -> rusqlite::Result<usize> {
    connection
        .prepare_cached("DELETE FROM corrupted WHERE folder = ?1")?
        .execute([folder.0])
}

/// Deletes marks that no longer count, since the file has changed.
pub(crate) fn forget_stale(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        &format!(
            "DELETE FROM corrupted WHERE NOT EXISTS (
                 SELECT 1 FROM files
                  WHERE files.folder = corrupted.folder AND files.name = corrupted.name AND {CORRUPTED})"
        ),
        [],
    )?;
    Ok(())
}

/// Marks the other names of corrupted copies: hard links, and names under another
/// mount point.
pub(crate) fn spread(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let any: bool =
        transaction.query_row("SELECT EXISTS (SELECT 1 FROM corrupted)", [], |row| {
            row.get(0)
        })?;
    if !any {
        return Ok(());
    }
    const MARKED: CopyColumns<'_> = CopyColumns {
        volume: "marked.volume",
        ino: "marked.ino",
    };
    transaction.execute(
        &format!(
            "INSERT INTO corrupted (folder, name, found_at, mtime_ns, ctime_ns, digest)
             WITH marked AS MATERIALIZED (
                 SELECT folders.volume AS volume, files.ino AS ino, corrupted.mtime_ns AS mtime_ns,
                        corrupted.ctime_ns AS ctime_ns, corrupted.digest AS digest,
                        max(corrupted.found_at) AS found_at
                   FROM corrupted JOIN files ON files.folder = corrupted.folder AND files.name = corrupted.name
                   JOIN folders ON folders.id = files.folder
                  WHERE files.ino IS NOT NULL AND {CORRUPTED}
                  GROUP BY 1, 2, 3, 4, 5)
             SELECT files.folder, files.name, marked.found_at, files.mtime_ns, files.ctime_ns,
                    files.digest
               FROM files JOIN folders ON folders.id = files.folder
               JOIN marked ON {same_copy} AND marked.mtime_ns = files.mtime_ns AND marked.ctime_ns = files.ctime_ns
                    AND marked.digest = files.digest
              WHERE true
                 ON CONFLICT (folder, name) DO UPDATE SET
                    found_at = excluded.found_at, mtime_ns = excluded.mtime_ns,
                    ctime_ns = excluded.ctime_ns, digest = excluded.digest",
            same_copy = MARKED.is(&COPY)
        ),
        [],
    )?;
    Ok(())
}

impl WriterHandle {
    /// Marks all names of corrupted copies.
    pub fn spread_corruption(&self) -> Result<(), CatalogError> {
        self.run(|transaction| Ok(spread(transaction)?))
    }
}

impl ReadOnly {
    /// The live names that are known to be corrupted.
    pub fn corrupted(&self) -> Result<HashSet<(FolderId, OsString)>, CatalogError> {
        let mut statement = self.connection.prepare(&format!(
            // CROSS: look the few marks up among the files, not all files among the
            // marks.
            "SELECT files.folder, files.name
               FROM corrupted CROSS JOIN files ON files.folder = corrupted.folder AND files.name = corrupted.name
              WHERE files.removed_in IS NULL AND {CORRUPTED}"
        ))?;
        let rows =
            statement.query_map([], |row| Ok((FolderId(row.get(0)?), rows::name(row, 1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::catalog::runs::audits::{AuditFinding, AuditNote};
    use crate::catalog::testing::{Bed, file};
    use crate::catalog::write::Writer;

    fn digest(byte: u8) -> Digest {
        Digest::from_bytes(&[byte; 32]).unwrap()
    }

    /// Tells the catalog what an audit found of a file.
    fn find(bed: &Bed, name: &str, ino: u64, finding: AuditFinding) {
        let run = bed.open().begin_audit(Path::new("")).unwrap().id;
        let folder = bed.reader().folder_at(Path::new("/r")).unwrap().unwrap();
        let writer = Writer::start(bed.open(), 1_000, Duration::from_millis(250)).unwrap();
        let note = AuditNote {
            names: vec![(folder, name.into())],
            state: file(name, 10, ino).state(),
            finding,
        };
        writer.handle().note_audits(run, vec![note]).unwrap();
        writer.handle().spread_corruption().unwrap();
        writer.finish().unwrap();
    }

    fn rotten(bed: &Bed) -> Vec<String> {
        let names = bed.reader().corrupted().unwrap().into_iter();
        let mut names: Vec<_> = names
            .map(|(folder, name)| format!("{folder} {}", name.display()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_mark_holds_for_all_names_until_one_is_sound() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[file("a", 10, 1).content(1), file("b", 10, 2).content(1)],
        );
        bed.scan("/s", &[file("link", 10, 1).content(1)]);
        find(&bed, "a", 1, AuditFinding::Corrupted(digest(1)));
        assert_eq!(rotten(&bed).len(), 2, "{:?}", rotten(&bed));
        assert_eq!(bed.reader().verify().unwrap(), []);
        find(&bed, "b", 2, AuditFinding::Sound);
        assert_eq!(rotten(&bed).len(), 2);
        find(&bed, "a", 1, AuditFinding::Sound);
        assert_eq!(rotten(&bed), [""; 0]);
        assert_eq!(bed.count("corrupted"), 0);
    }

    #[test]
    fn a_mark_is_about_one_state_and_one_digest() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1).content(1)]);
        find(&bed, "a", 1, AuditFinding::Corrupted(digest(1)));
        assert_eq!(rotten(&bed).len(), 1);
        bed.sql("UPDATE files SET ctime_ns = ctime_ns + 1");
        assert_eq!(rotten(&bed).len(), 0);
        bed.sql("UPDATE files SET ctime_ns = ctime_ns - 1, digest = zeroblob(32)");
        assert_eq!(rotten(&bed).len(), 0);
        // The next scan that completes sweeps it away.
        bed.scan("/r", &[]);
        assert_eq!(bed.count("corrupted"), 0);
    }

    #[test]
    fn what_will_be_read_again_is_not_known_to_be_corrupted() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1).content(1)]);
        find(&bed, "a", 1, AuditFinding::Corrupted(digest(1)));
        let top = bed.reader().folder_at(Path::new("/r")).unwrap().unwrap();
        assert_eq!(bed.open().distrust(top).unwrap(), 1);
        assert_eq!(bed.count("corrupted"), 0);
    }
}
